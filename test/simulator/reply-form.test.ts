import t from 'tap'
import consistencyJudge from '../../reward-functions/consistency-judge.ts'
import listwiseJudge from '../../reward-functions/listwise-judge.ts'
import pairwiseJudge from '../../reward-functions/pairwise-judge.ts'
import riderJudge from '../../reward-functions/rider-judge.ts'
import yesNoJudge from '../../reward-functions/yes-no-judge.ts'
import type { Prompt } from '../../src/contract/index.ts'
import type { Sample } from '../../src/core/sample/sample.ts'
import { chat, judgement, post, simulated } from '../support/simulated.ts'

const answers = { 'apples has Ann': 42 }
const server = await simulated(t, { answers })
const right = (wish: string) => judgement('How many apples has Ann?', '#### 42', wish)
const wrong = (wish: string) => judgement('How many apples has Ann?', '#### 41', wish)

t.test('the verdict is said in the form that the prompt asks for', async (t) => {
  const forms: readonly (readonly [wish: string, good: RegExp, bad: RegExp])[] = [
    ['Reply with 1 or 0 only.', /^1$/, /^0$/],
    ['Reply with 1 (yes) or 0 (no) only.', /^1$/, /^0$/],
    ['Answer YES or NO.', /^YES$/, /^NO$/],
    ['Say Yes or No.', /^Yes$/, /^No$/],
    ['Give a score from 0 to 10.', /\nScore: 10$/, /\nScore: 0$/],
    ['Give a score from 1 to 5.', /\nScore: 5$/, /\nScore: 1$/],
    ['End with "Rating: [[n]]".', /\[\[10\]\]$/, /\[\[1\]\]$/],
    [
      'Reply as {"score": 0 to 1, "reason": "..."}.',
      /^\{"score":1,"reason":"The answer is right\."\}$/,
      /^\{"score":0/,
    ],
    ['Only JSON: {"Thought与Response一致性": 1/0}', /^\{"Thought与Response一致性":1\}$/, /:0\}$/],
    [
      'JSON: {"信息错误": 1/0, "有害性": 0, "礼貌": 1}',
      /^\{"信息错误":0,"有害性":0,"礼貌":1\}$/,
      /^\{"信息错误":1,"有害性":0,"礼貌":0\}$/,
    ],
  ]
  for (const [wish, good, bad] of forms) {
    t.match(await chat(server, right(wish)), good, wish)
    t.match(await chat(server, wrong(wish)), bad, wish)
  }
})

t.test('it thinks when asked to, and apart from its reply with a reasoning parser', async (t) => {
  const wish = 'Think in <think></think>, then reply with 1 or 0.'
  t.match(await chat(server, right(wish)), /^<think>\n.+\n<\/think>\n\n1$/)
  t.equal(await chat(server, right(wish), { chat_template_kwargs: { enable_thinking: false } }), '1')
  t.match(
    await chat(server, right('1 or 0.'), { chat_template_kwargs: { enable_thinking: true } }),
    /^<think>/,
  )
  t.equal(await chat(server, right(wish), { structured_outputs: { choice: ['1', '0'] } }), '1')
  const apart = await simulated(t, { answers, thinking: true, reasoningParser: true })
  t.equal(await chat(apart, right('1 or 0.')), '1')
})

t.test('structured outputs bind the reply: choice', async (t) => {
  const choices: readonly (readonly [labels: string[], good: string, bad: string])[] = [
    [['0', '1'], '1', '0'],
    [['incorrect', 'correct'], 'correct', 'incorrect'],
    [['1', '2', '3', '4', '5'], '5', '1'],
    [['excellent', 'so so', 'poor'], 'excellent', 'poor'],
  ]
  for (const [choice, good, bad] of choices) {
    t.equal(await chat(server, right(''), { structured_outputs: { choice } }), good)
    t.equal(await chat(server, wrong(''), { guided_choice: choice }), bad)
  }
})

t.test('structured outputs bind the reply: regex', async (t) => {
  const patterns: readonly (readonly [regex: string, good: string, bad: string])[] = [
    ['[01]', '1', '0'],
    ['Score: (10|[0-9])', 'Score: 10', 'Score: 0'],
    ['\\[\\[([1-9]|10)\\]\\]', '[[10]]', '[[1]]'],
    ['(?:PASS|FAIL) because .{3,}', 'PASS because aaa', 'FAIL because aaa'],
    ['^v\\d{2}-(?<end>x|y)\\s?$', 'v00-x', 'v00-y'],
    ['[^0-9a]+\\.\\w\\n*\\t?', ' .a', ' .a'],
    ['a*b+c?d{2}', 'bdd', 'bdd'],
    ['Score\\: [01]', 'Score: 1', 'Score: 0'],
  ]
  for (const [regex, good, bad] of patterns) {
    t.equal(await chat(server, right(''), { structured_outputs: { regex } }), good, regex)
    t.equal(await chat(server, wrong(''), { guided_regex: regex }), bad, regex)
  }
})

t.test('structured outputs bind the reply: JSON schema', async (t) => {
  const schema = {
    type: 'object',
    properties: {
      score: { type: 'integer', minimum: 1, maximum: 5 },
      half: { type: ['number', 'null'], minimum: -1, maximum: 1 },
      correct: { type: 'boolean' },
      verdict: { type: 'string' },
      label: { enum: ['fail', 'pass'] },
      level: { enum: [3, 1, 2] },
      kind: { const: 'judge' },
      steps: { type: 'array', items: { $ref: '#/$defs/step' }, minItems: 2 },
      short: { type: 'string', maxLength: 3 },
      long: { type: 'string', minLength: 30 },
      any: { anyOf: [{ type: 'boolean' }, { type: 'null' }] },
      nothing: { type: 'null' },
      loop: { $ref: '#/$defs/loop' },
    },
    $defs: { step: { type: 'number' }, loop: { type: 'object', properties: { x: { type: 'null' } } } },
  }
  const asked = { response_format: { type: 'json_schema', json_schema: { name: 'v', schema } } }
  const good = JSON.parse(await chat(server, right(''), asked))
  t.match(good, {
    score: 5,
    half: 1,
    correct: true,
    verdict: 'correct',
    label: 'pass',
    level: 3,
    kind: 'judge',
  })
  t.match(good, { steps: [1, 1], short: 'The', any: true, nothing: null, loop: { x: null } })
  t.equal(good.long.length, 30)
  const bad = JSON.parse(
    await chat(server, wrong(''), { structured_outputs: { json: JSON.stringify(schema) } }),
  )
  t.match(bad, {
    score: 1,
    half: -1,
    correct: false,
    verdict: 'incorrect',
    label: 'fail',
    level: 1,
    steps: [0, 0],
  })
  t.match(JSON.parse(await chat(server, right(''), { response_format: { type: 'json_object' } })), {
    score: 1,
  })
})

t.test('structured output that cannot be understood is refused', async (t) => {
  const server = await simulated(t)
  for (const outputs of [{ regex: '(' }, { json: '{' }]) {
    const body = { prompt: 'x', structured_outputs: outputs }
    t.match(await post(server, '/v1/completions', body), { status: 400 }, JSON.stringify(outputs))
  }
})

const sample = (response: string): Sample => ({
  id: '1',
  prompt: 'How many apples has Ann?',
  response,
  groundTruth: null,
  rmPrompts: {},
  extraInfo: {},
})

/** A prompt with each value between two lines that carry a nonce of its own. */
const rendered = ({ literals, values }: Prompt): string =>
  literals
    .map((literal, i) => `${literal}${i < values.length ? fenced(values[i] ?? '', `3f09ab12c${i}`) : ''}`)
    .join('')

const fenced = (value: string, nonce: string): string => `⟦${nonce}\n${value}\n${nonce}⟧`

const reply = JSON.stringify({ Response: '客服:好的', Thought: '安抚', ResponseSolution: '无' })
const truth = null
const earlier = {}
const generation = (text: string) => ({ text, finishReason: 'stop' })
const value = (verdict: unknown) =>
  typeof verdict === 'number' ? verdict : (verdict as { value: number })?.value

t.test('what it writes for the shipped judges is what they can read', async (t) => {
  for (const [undecided, rider] of [
    [1, 1],
    [0, 0],
  ] as const) {
    const unsure = await simulated(t, { answers, undecided })
    const options = { mode: 'strict', template: riderJudge.options.parse({}).template } as const
    const row = { sample: sample(reply), truth, options, earlier }
    const asked = riderJudge.rm_preprocess(row) as Prompt
    const text = await chat(unsure, rendered(asked))
    t.match(text, /^<think>/, 'the prompt asks for thoughts')
    t.equal(value(riderJudge.rm_postprocess?.(generation(text), row)), rider)

    const pair = { ...row, options: consistencyJudge.options.parse({}) }
    const agreed = await chat(unsure, rendered(consistencyJudge.rm_preprocess(pair) as Prompt))
    t.equal(value(consistencyJudge.rm_postprocess?.(generation(agreed), pair)), undecided)
  }
  for (const [answer, verdict] of [
    ['#### 42', 1],
    ['#### 41', 0],
  ] as const) {
    const row = { sample: sample(answer), truth, options: yesNoJudge.options.parse({}), earlier }
    const text = await chat(server, rendered(yesNoJudge.rm_preprocess(row) as Prompt))
    t.equal(value(yesNoJudge.rm_postprocess?.(generation(text), row)), verdict)
  }
})

t.test('the judges of groups can read it too, and it knows the right answer at any place', async (t) => {
  const rowsOf = <O>(options: O, ...answers: string[]) =>
    answers.map((answer) => ({ sample: sample(answer), truth, options, earlier }))
  const structured = (reply: object) => ({ structured_outputs: reply })
  for (const ties of [false, true]) {
    const options = pairwiseJudge.options.parse({ ties })
    for (const [a, b, verdict] of [
      ['#### 42', '#### 41', 1],
      ['#### 41', '#### 42', 0],
      ['#### 42', '42', ties ? 0.5 : 1],
    ] as const) {
      const [first, second] = rowsOf(options, a, b)
      if (!first || !second) throw new Error('two rows')
      const { choice } = (pairwiseJudge.reply as (given: typeof options) => { choice: string[] })(options)
      const prompt = rendered(pairwiseJudge.rm_preprocess(first, second) as Prompt)
      const text = await chat(server, prompt, structured({ choice }))
      t.equal(pairwiseJudge.rm_postprocess(generation(text), first, second), verdict, `${a} ${b} ${ties}`)
    }
  }
  const rows = rowsOf(listwiseJudge.options.parse({}), '#### 41', '#### 42', '#### 43', '42')
  const { schema } = listwiseJudge.reply as { schema: object }
  const text = await chat(
    server,
    rendered(listwiseJudge.rm_preprocess(rows) as Prompt),
    structured({ json: schema }),
  )
  t.strictSame(listwiseJudge.rm_postprocess(generation(text), rows), [0, 1, 0, 1])
})
