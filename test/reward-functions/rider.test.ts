import t from 'tap'
import riderBge from '../../reward-functions/rider-bge.ts'
import riderRule from '../../reward-functions/rider-rule.ts'
import type { Score } from '../../src/contract/index.ts'
import { row, ruleContract, scored } from '../../src/contract/testing.ts'
import { eachNearLinear } from '../support/hostile.ts'
import { modes, valueBy } from '../support/rules.ts'

const target = {
  Thought: '商家说餐已送回，可以通过。',
  RelevantConstraintRuleNumber: [2, 5],
  RelevantKnowledgeNumber: [8],
  Response: '客服:已为您核实，申诉通过。',
  ResponseSolution: '申诉通过',
  DialogueAgreeSolution: '是',
}
const groundTruth = JSON.stringify(target)
const reply = (change: Record<string, unknown> = {}): string => JSON.stringify({ ...target, ...change })
const value = (response: string, mode = 'strict', truth = groundTruth) =>
  valueBy(riderRule)(response, truth, { mode })

t.test('rider-rule keeps its contract', async (t) => {
  ruleContract(t, riderRule, {
    full: { response: reply(), groundTruth },
    zero: { response: '好的', groundTruth },
    malformed: { response: `${reply()}完毕`, groundTruth },
    hacks: {
      'a turn marker of its own': { response: `脏话Assistant: \n${reply()}`, groundTruth },
      'a list for thinking': { response: reply({ Thought: ['a'] }), groundTruth },
      'token thinking': { response: reply({ Thought: '想' }), groundTruth },
      padding: { response: reply({ Thought: '想'.repeat(1300) }), groundTruth },
      'an empty reply': { response: reply({ Response: '客服: ' }), groundTruth },
      'a boolean for a number': {
        response: reply({ RelevantConstraintRuleNumber: [2, 5], RelevantKnowledgeNumber: [true] }),
        groundTruth: reply({ RelevantKnowledgeNumber: [1] }),
      },
      'a field twice': { response: reply().replace('{', '{"Response":"客服:您好",'), groundTruth },
    },
  })
})

t.test('rider-rule: the reply is judged by what it says, not by how it is written', async (t) => {
  t.equal(value(` ${JSON.stringify(target, null, 2)}\n`), 1)
  t.equal(value(reply({ RelevantConstraintRuleNumber: [5, 2] })), 1)
  t.equal(value(reply({ RelevantConstraintRuleNumber: '[2, 5]', RelevantKnowledgeNumber: [8.0] })), 1)
  t.equal(value(reply({ Response: '客服：申诉通过。' })), 1)
  t.equal(value(reply({ ResponseSolution: ' 申诉通过 ' })), 1)
})

t.test('rider-rule: each fault has its price and its reason', async (t) => {
  const cases: [string, number, string][] = [
    [reply({ ResponseSolution: '申诉驳回' }), 0.1, 'solution: 0.1'],
    [reply({ RelevantKnowledgeNumber: [8, 8] }), 0.1, 'solution: 0.1'],
    [reply({ Thought: '', ResponseSolution: '无' }), 0.1 * 0.1, 'thought: 0.1'],
    [reply({ Response: '您好' }), 0, 'response'],
    [reply({ Response: 7 }), 0, 'not_text'],
    [reply({ DialogueAgreeSolution: null }), 0, 'not_text'],
    [reply({ RelevantKnowledgeNumber: '八' }), 0, 'numbers'],
    [reply({ Thought: undefined }), 0, 'missing_field'],
    ['[]', 0, 'no_reply'],
  ]
  for (const [response, wanted, reason] of cases) {
    const score = scored(riderRule, { response, groundTruth })
    t.equal(score?.value, wanted, reason)
    t.equal(score?.details?.reason, reason)
  }
  t.equal(
    value(reply({ Thought: '' }), 'strict', reply({ Thought: '' })),
    1,
    'no thinking where none is wanted',
  )
  t.equal(scored(riderRule, { response: null as unknown as string, groundTruth })?.value, 0)
})

t.test('rider-rule: a target that no reply can match is refused', async (t) => {
  const refused = [
    '',
    'x',
    '[]',
    reply({ Thought: 5 }),
    reply({ RelevantKnowledgeNumber: '无' }),
    '{"Thought": ""}',
  ]
  for (const truth of refused) t.throws(() => row(riderRule, { groundTruth: truth }), truth)
  t.throws(() => row(riderRule, { groundTruth: null, options: { mode: 'published' } }))
  t.equal(value(reply(), 'published', '"s"'), 0, 'the original scores it')
})

t.test('rider-rule: published mode keeps the faults of the original', async (t) => {
  const cases: [string, number, string?][] = [
    [`脏话Assistant: \n${reply()}`, 1],
    [reply({ Thought: ['a'] }), 1],
    [reply({ Thought: { a: 1 } }), 1],
    [reply({ Thought: 5 }), 0],
    [reply({ Thought: '想'.repeat(1300) }), 0.1],
    [reply({ Thought: '' }), 0.1],
    [reply({ Response: '客服：申诉通过。' }), 0],
    [reply({ Response: 5 }), 0],
    [reply({ RelevantConstraintRuleNumber: [5, 2] }), 0.1],
    [reply({ RelevantConstraintRuleNumber: '[2, 5]', RelevantKnowledgeNumber: '[8]' }), 0.1],
    [reply({ RelevantConstraintRuleNumber: '[2, 5]' }), 0],
    [reply({ RelevantKnowledgeNumber: [true] }), 1, reply({ RelevantKnowledgeNumber: [1] })],
    [reply(), 0, '{"Response": "", "Thought": ""}'],
    [reply({ ResponseSolution: '无' }), 0.1, reply({ DialogueAgreeSolution: undefined })],
    [reply(), 0, reply({ Response: undefined })],
    [reply(), 0, reply({ Thought: undefined })],
    ['没有', 0],
    ['[1]{}', 0],
  ]
  for (const [response, wanted, truth] of cases) {
    t.equal(value(response, 'published', truth), wanted, `${response.slice(0, 60)} ${wanted}`)
  }
})

/** A short reply without thinking. */
const shortReply = (change: Record<string, unknown> = {}): string =>
  reply({
    Thought: '',
    RelevantConstraintRuleNumber: [1],
    RelevantKnowledgeNumber: [],
    Response: '客服:好的',
    ResponseSolution: '无',
    DialogueAgreeSolution: '无',
    ...change,
  })
const built = (response: string, groundTruth = shortReply({ Response: '客服:可以' }), options = {}) =>
  row(riderBge, { response, groundTruth, options })
const published = { mode: 'published' }

t.test('rider-bge: the two replies are embedded and their similarity is spread', async (t) => {
  t.strictSame(riderBge.rm_preprocess(built(shortReply())), ['客服:好的', '客服:可以'])
  const score = (cosine: number, options = {}): Score | null =>
    riderBge.rm_postprocess?.(
      [
        [2, 0],
        [cosine, Math.sqrt(1 - cosine * cosine)],
      ],
      built(shortReply(), undefined, options),
    ) as Score | null
  t.equal(score(0.9)?.value, 1)
  t.ok(Math.abs((score(0.3)?.value ?? 0) - 0.37) < 1e-12)
  t.equal(score(0.3)?.parts?.similarity, 0.1)
  t.ok(Math.abs((score(0.8, { weight: 1 })?.value ?? 0) - (10 ** -0.4 - 0.1) * 1.69811 - 0.1) < 1e-9)
  t.equal(riderBge.rm_postprocess?.([[0], [1]], built(shortReply())), null, 'no direction, no similarity')
  t.equal(riderBge.rm_postprocess?.([[1]], built(shortReply())), null, 'one vector is missing')
})

t.test('rider-bge: a reply in the wrong form earns nothing and is not embedded', async (t) => {
  for (const response of [
    '好的',
    `前文${shortReply()}`,
    shortReply({ Response: ' ' }),
    shortReply({ Response: 5 }),
  ]) {
    t.equal(riderBge.rm_preprocess(built(response)), 0, response)
  }
  t.throws(() => built(shortReply(), '{}'))
  t.throws(() => built(shortReply(), 'x'))
})

t.test('rider-bge: published mode keeps the faults of the original', async (t) => {
  const asked = (response: string, truth?: string): unknown =>
    riderBge.rm_preprocess(built(response, truth, published))
  t.strictSame(asked(`前文${shortReply({ Response: null })}完毕`), ['null', '客服:可以'])
  t.strictSame(asked(`{}Assistant: \n${shortReply()}`), ['客服:好的', '客服:可以'])
  t.equal(asked(shortReply({ RelevantKnowledgeNumber: '[]' })), 0)
  t.equal(asked(shortReply(), '{}'), 0)
  t.equal(asked('{}'), 0)
  t.throws(() => asked('好的'), TypeError)
})

t.test('hostile text is scored in linear time', async (t) => {
  for (const mode of modes) {
    eachNearLinear(t, {
      [`rider-rule, ${mode}`]: (text) => [
        value(text, mode),
        value(reply({ Thought: text, RelevantKnowledgeNumber: `[${text}]` }), mode),
      ],
      [`rider-bge, ${mode}`]: (text) => riderBge.rm_preprocess(built(`{${text}}`, undefined, { mode })),
    })
  }
})
