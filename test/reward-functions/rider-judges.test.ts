import t from 'tap'
import consistencyJudge from '../../reward-functions/consistency-judge.ts'
import riderJudge from '../../reward-functions/rider-judge.ts'
import type { Prompt, Verdict } from '../../src/contract/index.ts'
import { row } from '../../src/contract/testing.ts'
import { riderSolutions } from '../../src/grading/index.ts'
import { nearLinear } from '../support/hostile.ts'

const response = JSON.stringify({
  Thought: '餐已送回。',
  RelevantConstraintRuleNumber: [],
  RelevantKnowledgeNumber: [],
  Response: '客服:申诉通过。',
  ResponseSolution: '申诉通过；执行补款-5元',
  DialogueAgreeSolution: '是',
})

type Judge = typeof riderJudge | typeof consistencyJudge

const verdict = (judge: Judge, text: string, mode = 'strict'): Verdict => {
  const options = judge.options.parse({ mode })
  const built = row(judge, { options: { mode } })
  const score = judge.rm_postprocess?.({ text, finishReason: 'stop' }, built as never) ?? null
  if (score === null) return null
  const { value, parts = {} } = typeof score === 'number' ? { value: score } : score
  const [low, high] = judge.range(options as never)
  t.ok(
    value >= low &&
      value <= high &&
      Object.keys(parts).every((part) => judge.parts(options as never).includes(part)),
  )
  return value
}

const flat = (question: unknown): string => {
  const { literals, values } = question as Prompt
  return literals.map((literal, i) => literal + (values[i] ?? '')).join('')
}

t.test(
  "a verdict is the only object at the end of the judge's reply, outside its thinking (M17)",
  async (t) => {
    const rider: [string, number | null][] = [
      ['{"维度一": 1, "维度二": 0}', 0.5],
      ['<think>{"维度一": 0}</think>\n```json\n{"维度一": 1}\n```', 1],
      ['{“维度一”：1，‘维度二’：1，}', 1],
      ["{'维度一': 1, 维度二: 0}", 0.5],
      ['\\{\\"维度一\\": 1\\}', 1],
      ['评审如下：{"维度一": 1}。', 1],
      ['{"维度一": 0} 改为 {"维度一": 1}', null],
      ['{"维度一": 1}\n{"维度一": 1}', null],
      ['{"维度一": 1} 因此{结束}', null],
      ['{"维度一": 1} 更正：维度一应为 0', null],
      ['{"维度一": 1}\nOn reflection, 0.', null],
      ['{"旧": {"维度一": 1}}', null],
      ['{"维度一": 1', null],
      ['{"有害性": 1, "维度一": 1}', -1],
      ['{"有害性": 0, "信息准确性": 1, "方案/信息错误": 0}', 1],
      ['{"维度一": 1, "信息准确性": 0}', 0],
      ['{"维度一": 1, "方案/信息错误": 1}', 0],
    ]
    for (const [text, wanted] of rider) t.equal(verdict(riderJudge, text), wanted, text)
    const both = '{"Thought与Response一致性": 1, "Response与ResponseSolution一致性": 0}'
    t.equal(verdict(consistencyJudge, `<think>好</think>${both}`), 0.5)
  },
)

t.test('a text without a readable verdict holds none', async (t) => {
  const texts = [
    '',
    '1',
    '{}',
    '{"维度一": 2}',
    '{"维度一": true}',
    '{"维度一": "1"}',
    '{"维度一": 1, "维度一": 1}',
    '{"维度六": 1}',
    '{"无有害性": 1}',
    '{"__proto__": 1}',
    '<think>{"维度一": 1}',
    '<think>{"维度一": 1}</think>没有',
    '{"维度一": 1/0}',
    '{"理由": "a"} {b, c}',
  ]
  for (const text of texts) {
    t.equal(verdict(riderJudge, text), null, text)
    t.equal(verdict(consistencyJudge, text), null, text)
  }
  t.equal(verdict(consistencyJudge, '{"Thought与Response一致性": 1}'), null, 'one of two')
})

t.test('published mode keeps the faults of the original', async (t) => {
  const rider: [string, number][] = [
    ['{"有害性": 0}', -1],
    ['{"信息准确性": 1}', 0],
    ['{"a": 1} {b}', -1],
    ['没有', 0],
    ['{}', 0],
    ['{"a": "１"}', 1],
    ['{"a": true, "b": null}', 0],
    ['<think>{"a": 1}', 1],
    ['</think>{"a": 0}</think>{"a": 1}', 1],
    ["{ 'a': 1}", 1],
    ['{a: 1, b : 0}', 0.5],
    ['{ : 1}', 1],
    ['{ , a: 1}', -1],
    ['{\\"a\\": 1}', 1],
  ]
  for (const [text, wanted] of rider) t.equal(verdict(riderJudge, text, 'published'), wanted, text)
  t.equal(verdict(consistencyJudge, '{\\"a\\": 1}', 'published'), 0)
  t.equal(verdict(consistencyJudge, '{"x": 1}', 'published'), 1)
})

t.test("the question holds the judge's text as literals and the sample's as values", async (t) => {
  const asked = riderJudge.rm_preprocess(row(riderJudge, { response, rmPrompt: '请评：{response}。{other}' }))
  t.strictSame(asked, { kind: 'prompt', literals: ['请评：', '。{other}'], values: ['客服:申诉通过。'] })
  t.match(flat(riderJudge.rm_preprocess(row(riderJudge, { response }))), '客服:申诉通过。')
  const consistency = consistencyJudge.rm_preprocess(row(consistencyJudge, { response })) as Prompt
  t.strictSame(consistency.values, ['餐已送回。', '客服:申诉通过。', '申诉通过；执行补款-5元'])
  t.match(consistency.literals.at(-1), '执行补款')
})

t.test('an unreadable reply is a verdict in strict mode and an error in published mode', async (t) => {
  const asked = (judge: Judge, text: string, mode: string): unknown =>
    judge.rm_preprocess(row(judge, { response: text, options: { mode } }) as never)
  for (const judge of [riderJudge, consistencyJudge]) {
    for (const text of ['', '{}', '{"Response": 5}', `前文${response}`]) {
      t.equal(asked(judge, text, 'strict'), 0, text)
    }
    t.throws(() => asked(judge, '{}', 'published'))
    t.ok(asked(judge, `前文${response}`, 'published'))
  }
})

t.test('placeholders in inserted text stay text, but are filled in published mode', async (t) => {
  const sly = JSON.stringify({
    ...JSON.parse(response),
    Response: '客服:{Thought}',
    Thought: '{ResponseSolutionName}',
  })
  const asked = (mode: string): string =>
    flat(
      consistencyJudge.rm_preprocess(
        row(consistencyJudge, {
          response: sly,
          options: { mode, template: '{Response}|{Thought}', catalog: [] },
        }),
      ),
    )
  t.equal(asked('strict'), '客服:{Thought}|{ResponseSolutionName}')
  t.equal(asked('published'), '客服:无\n无\n|无\n无\n')
})

t.test('a solution is explained by its own line of the catalogue', async (t) => {
  const meaning = (solution: string, mode: string): string => {
    const reply = JSON.stringify({ ...JSON.parse(response), ResponseSolution: solution })
    const options = { mode, template: '{ResponseSolutionName}', catalog: [...riderSolutions, 'no JSON', '5'] }
    return flat(consistencyJudge.rm_preprocess(row(consistencyJudge, { response: reply, options })))
  }
  const line = (name: string): string => riderSolutions.find((text) => text.includes(`"${name}"`)) ?? ''
  t.equal(riderSolutions.length, 14)
  for (const [solution, mode, wanted] of [
    ['申诉通过；无', 'strict', `${line('申诉通过')}\n无\n`],
    ['执行补款-5元', 'strict', `${line('执行补款')}\n`],
    ['跟进返餐进度', 'strict', `${line('跟进返餐')}\n`],
    ['稍后外呼商家', 'strict', `${line('稍后外呼……')}\n`],
    ['执行补款五元', 'strict', '无\n'],
    ['', 'strict', '无\n'],
    ['', 'published', `${riderSolutions[0]}\n`],
    ['外呼', 'published', `${riderSolutions[0]}\n`],
    ['无', 'published', '无\n'],
  ] as const)
    t.equal(meaning(solution, mode), wanted, `${solution}, ${mode}`)
})

t.test('hostile text is scored in linear time', async (t) => {
  for (const mode of ['strict', 'published']) {
    nearLinear(t, (text) => {
      for (const inner of [text, `{${text}`, `{${text}}`, `{ ${text} : 1}`]) {
        verdict(riderJudge, inner, mode)
        verdict(consistencyJudge, inner, mode)
      }
      const sly = JSON.stringify({ ...JSON.parse(response), ResponseSolution: text })
      consistencyJudge.rm_preprocess(row(consistencyJudge, { response: sly, options: { mode } }))
    })
  }
})
