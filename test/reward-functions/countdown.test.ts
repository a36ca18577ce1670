import t from 'tap'
import countdown from '../../reward-functions/countdown.ts'
import type { Json } from '../../src/contract/index.ts'
import { row, ruleContract, scored } from '../../src/contract/testing.ts'
import { nearLinear } from '../support/hostile.ts'

const groundTruth = { target: 24, numbers: [3, 3, 8, 8] }
const answered = (answer: string): string => `<think>I try some sums.</think>\n<answer>${answer}</answer>`

ruleContract(t, countdown, {
  full: { response: answered('8 / (3 - 8 / 3)'), groundTruth },
  zero: { response: '24', groundTruth },
  malformed: { response: answered('8 / (3 - 8 / 3'), groundTruth },
  hacks: {
    'numbers in a comment': { response: answered('24 # 3 3 8 8'), groundTruth },
    'True is no free one': {
      response: answered('5 + True'),
      groundTruth: { target: 6, numbers: [5] },
    },
    'neighbouring texts': { response: answered("'1' '2'"), groundTruth: { target: 12, numbers: [1, 2] } },
    'a hexadecimal numeral': { response: answered('0x10'), groundTruth: { target: 16, numbers: [0, 10] } },
    'no thinking': { response: '<answer>8 / (3 - 8 / 3)</answer>', groundTruth },
    'an empty thought': { response: '<think>\n</think><answer>8 / (3 - 8 / 3)</answer>', groundTruth },
    'two answers': { response: `${answered('8 / (3 - 8 / 3)')}<answer>1</answer>`, groundTruth },
    'two ends of thinking': { response: `so</think>${answered('8 / (3 - 8 / 3)')}`, groundTruth },
    'a near miss': {
      response: answered('1000000 / 3'),
      groundTruth: { target: 333333.333333, numbers: [3, 1000000] },
    },
    'the target as an equation': { response: answered('8 / (3 - 8 / 3) = 24'), groundTruth },
  },
})

const value = (answer: string, truth: Json, options = {}): number | undefined =>
  scored(countdown, { response: answered(answer), groundTruth: truth, options })?.value

t.test('an expression earns by what it uses and by its exact value', async (t) => {
  t.equal(value('3 + 3 + 8 + 8', groundTruth), 0.5)
  t.equal(value('3 + 8 + 8', groundTruth), 0.2)
  t.equal(value('8 / (8 - 8) + 3 + 3', { target: 1, numbers: [8, 8, 8, 3, 3] }), 0.5, 'a division by zero')
  t.equal(value('[2 × 5] × (8 ÷ 8) − −1', { target: '11.0', numbers: ['1', 2, 5, 8, 8] }), 1)
  t.equal(value('1 / 49 * 49', { target: 1, numbers: [1, 49, 49] }), 1, 'fractions are exact')
  t.equal(value('(2 + 8]', { target: 10, numbers: [2, 8] }), 0.2, 'brackets pair by kind')
  t.equal(value('02 + 8', { target: 10, numbers: [2, 8] }), 0.2)
  t.equal(value('1 / -2', { target: -0.5, numbers: [1, 2] }), 1)
  t.equal(value('100000000 * 10', { target: '1e9', numbers: [10, 100000000] }), 1)
})

t.test('a score names its parts and why it is low', async (t) => {
  t.strictSame(scored(countdown, { response: answered('3+3+8+8'), groundTruth }), {
    value: 0.5,
    parts: { format: 0.2, numbers: 0.3, value: 0 },
    details: { reason: 'other_value' },
  })
  const reason = (response: string): unknown => scored(countdown, { response, groundTruth })?.details?.reason
  t.equal(reason('x'), 'no_thinking')
  t.equal(reason('so</think>x'), 'no_answer')
  t.equal(reason(answered('x')), 'not_an_expression')
  t.equal(reason(answered('1')), 'other_numbers')
  t.equal(reason(answered('8 / (3 - 8 / 3)')), undefined)
})

t.test('reference mode keeps the faults of the original', async (t) => {
  const reference = { mode: 'reference' }
  t.equal(value('24 # 3 3 8 8', { target: 24, numbers: [24, 3, 3, 8, 8] }, reference), 1)
  t.equal(value("'1' '2'", { target: 12, numbers: [1, 2] }, reference), 1)
  t.equal(value("'a'", { target: 12, numbers: [] }, reference), 0.5)
  t.equal(value('2 * 5', { target: ' 1e1 ', numbers: '25' }, reference), 1)
  t.equal(value('2 * 5', { target: true, numbers: { 2: 0, 5: 0 } }, reference), 0.5)
  t.equal(value('1e308 * 10', { target: 1, numbers: [1, 308, 10] }, reference), 0.5)
  t.equal(value('2', { target: 2, numbers: [true] }, reference), 0.2)
  t.equal(value('7'.repeat(4301), { target: 2, numbers: [2] }, reference), 0.2)
  const faulty: Json[] = [
    null,
    [1],
    {},
    { target: 1 },
    { target: null, numbers: [] },
    { target: 'x', numbers: [] },
    { target: 1, numbers: 5 },
    { target: 1, numbers: ['x'] },
    { target: 1, numbers: [null] },
  ]
  for (const truth of faulty) t.equal(value('1', truth, reference), 0, JSON.stringify(truth))
  const bare = (response: string): unknown =>
    scored(countdown, { response, groundTruth, options: reference })?.value
  t.equal(bare('</think>'), 0.1)
  t.equal(bare('<answer>1</answer>'), 0.1)
  t.equal(bare('<answer>1'), 0)
})

t.test('a row without target and numbers is rejected, not scored', async (t) => {
  for (const truth of [null, { target: 1 }, { target: 'x', numbers: [1] }, { target: 1, numbers: [1.5] }]) {
    t.throws(() => row(countdown, { groundTruth: truth }), JSON.stringify(truth))
  }
})

t.test('hostile text costs little', async (t) => {
  for (const mode of ['sound', 'reference']) {
    nearLinear(t, (text) => value(text, { target: 7, numbers: [7] }, { mode }))
  }
})
