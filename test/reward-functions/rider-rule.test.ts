import t from 'tap'
import riderRule from '../../reward-functions/rider-rule.ts'
import { row, ruleContract, scored } from '../../src/contract/testing.ts'
import { nearLinear } from '../support/hostile.ts'

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
const value = (response: string, mode = 'sound', truth = groundTruth): number | undefined =>
  scored(riderRule, { response, groundTruth: truth, options: { mode } })?.value

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

t.test('the reply is judged by what it says, not by how it is written', async (t) => {
  t.equal(value(` ${JSON.stringify(target, null, 2)}\n`), 1)
  t.equal(value(reply({ RelevantConstraintRuleNumber: [5, 2] })), 1)
  t.equal(value(reply({ RelevantConstraintRuleNumber: '[2, 5]', RelevantKnowledgeNumber: [8.0] })), 1)
  t.equal(value(reply({ Response: '客服：申诉通过。' })), 1)
  t.equal(value(reply({ ResponseSolution: ' 申诉通过 ' })), 1)
})

t.test('each fault has its price and its reason', async (t) => {
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
    value(reply({ Thought: '' }), 'sound', reply({ Thought: '' })),
    1,
    'no thinking where none is wanted',
  )
  t.equal(scored(riderRule, { response: null as unknown as string, groundTruth })?.value, 0)
})

t.test('a target that no reply can match is refused', async (t) => {
  const refused = [
    '',
    'x',
    '[]',
    reply({ Thought: 5 }),
    reply({ RelevantKnowledgeNumber: '无' }),
    '{"Thought": ""}',
  ]
  for (const truth of refused) t.throws(() => row(riderRule, { groundTruth: truth }), truth)
  t.throws(() => row(riderRule, { groundTruth: null, options: { mode: 'reference' } }))
  t.equal(value(reply(), 'reference', '"s"'), 0, 'the original scores it')
})

t.test('reference mode keeps the faults of the original', async (t) => {
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
    t.equal(value(response, 'reference', truth), wanted, `${response.slice(0, 60)} ${wanted}`)
  }
})

t.test('hostile text costs little', async (t) => {
  for (const mode of ['sound', 'reference']) {
    nearLinear(t, (text) => {
      value(text, mode)
      value(reply({ Thought: text, RelevantKnowledgeNumber: `[${text}]` }), mode)
    })
  }
})
