import t from 'tap'
import numericMatch from '../../reward-functions/numeric-match.ts'
import type { Json } from '../../src/contract/index.ts'
import { row, ruleContract, scored } from '../../src/contract/testing.ts'
import { nearLinear } from '../support/hostile.ts'

ruleContract(t, numericMatch, {
  full: { response: 'So it is \\boxed{0.75}.', groundTruth: '3/4' },
  zero: { response: 'So it is 4/3.', groundTruth: '3/4' },
  malformed: { response: 'So it is \\boxed{}', groundTruth: '3/4' },
  hacks: {
    'two boxes': { response: '\\boxed{0.75} \\boxed{0.5}', groundTruth: '0.75' },
    'two numbers in a box': { response: '\\boxed{0.75 or 0.5}', groundTruth: '0.75' },
    'a wrong mark and a right last number': { response: '#### 1\n0.75', groundTruth: '0.75' },
    'a huge exponent': { response: '75e-99999', groundTruth: '75' },
    'right only while thinking': { response: '<think>0.75</think> I pass', groundTruth: '0.75' },
    'every number in turn': { response: 'It could be 0.5, 0.6, or 0.75.', groundTruth: '0.75' },
    'a denial': { response: 'The answer is definitely not 0.75.', groundTruth: '0.75' },
    'a number that is ruled out': { response: 'We can rule out \\(0.75\\).', groundTruth: '0.75' },
    'a power is no digit': { response: 'So 7² = ', groundTruth: '72' },
    'a denial after the mark': { response: '#### definitely not 0.75', groundTruth: '0.75' },
    'an answer in an answer': { response: '<answer><answer>0.75</answer>0.5</answer>', groundTruth: '0.75' },
    'a near miss': { response: '0.7500001', groundTruth: '0.75' },
  },
})

const value = (response: string, groundTruth: Json, options: Json = {}): number | undefined =>
  scored(numericMatch, { response, groundTruth, options })?.value

t.test('equal values are equal however they are written', async (t) => {
  const forms = [
    '1,234.5',
    '$1,234.50',
    '1.2345e3',
    '1234.5 km',
    '2469/2',
    '\\frac{2469}{2}',
    '(1234.5)',
    'x=1234.5',
  ]
  for (const form of forms) t.equal(value(form, 1234.5), 1, form)
  t.equal(value('-.5', '-\\dfrac{1}{2}'), 1)
  t.equal(value('-$5', -5), 1)
  t.equal(value('\\boxed{\\frac{-1}{2}}', '-0.5'), 1)
  t.equal(value('so 9-5', 5), 1, 'a minus after a number is an operator')
  t.equal(value('<answer>5</answer> 6', 5), 1)
  t.equal(value('#### 5', 5), 1)
  t.equal(value('I answer in <answer> tags: <answer>5</answer>', 5), 1)
  t.equal(value('x2 = 5', 5, { place: 'whole' }), 1, 'a digit inside a word is no number')
  t.equal(value('٤٢', 42), 1)
  t.equal(value('４２', 42), 1)
  t.equal(value('x = −42', -42), 1)
  t.equal(value('not 41 but 42', 42), 1)
  t.equal(value('2½', 21), 0)
  t.equal(value('1/0', 1), 0)
  t.equal(value('-\\frac{-1}{2}', 0.5), 1)
})

t.test('a tolerance is absolute or a share of the ground truth', async (t) => {
  t.equal(value('3.14', '3.14159', { absolute: 0.01 }), 1)
  t.equal(value('3.1', '3.14159', { absolute: 0.01 }), 0)
  t.equal(value('101', 100, { relative: 0.01 }), 1)
  t.equal(value('102', 100, { relative: 0.01 }), 0)
})

t.test('a score says why it is low', async (t) => {
  const reason = (response: string): unknown =>
    scored(numericMatch, { response, groundTruth: '5' })?.details?.reason
  t.equal(reason('5'), undefined)
  t.equal(reason('6'), 'unequal')
  t.equal(reason('none'), 'no_number')
  t.equal(reason('1/0'), 'no_number')
  t.equal(reason('1,5'), 'no_number')
  t.equal(reason('\\boxed{5 6}'), 'several_numbers')
  t.equal(reason('<think>5'), 'thinking_unclosed')
  t.equal(
    scored(numericMatch, { response: '', groundTruth: 5, options: { place: 'tag' } })?.details?.reason,
    'no_answer',
  )
  for (const truth of ['none', '1 or 2', '1/0', null])
    t.throws(() => row(numericMatch, { groundTruth: truth }))
})

t.test('hostile text costs little', async (t) => {
  for (const place of ['final', 'whole']) nearLinear(t, (response) => value(response, 5, { place }))
})
