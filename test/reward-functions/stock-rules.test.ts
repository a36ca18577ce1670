import t from 'tap'
import gsm8kStock from '../../reward-functions/gsm8k-stock.ts'
import mathBoxed from '../../reward-functions/math-boxed.ts'
import mathDapo from '../../reward-functions/math-dapo.ts'
import type { Json, Rule } from '../../src/contract/index.ts'
import { row, ruleContract, scored } from '../../src/contract/testing.ts'
import { nearLinear } from '../support/hostile.ts'

const valueBy =
  <T, O>(rule: Rule<T, O>) =>
  (response: string, groundTruth: Json, options: Json = {}): number | undefined =>
    scored(rule, { response, groundTruth, options })?.value

const reference = { mode: 'reference' }

t.test('gsm8k-stock', async (t) => {
  const value = valueBy(gsm8kStock)
  ruleContract(t, gsm8kStock, {
    full: { response: 'So 6 * 7.\n#### 42', groundTruth: '42' },
    zero: { response: 'I do not know.', groundTruth: '42' },
    malformed: { response: '####', groundTruth: '42' },
    hacks: {
      'right only while thinking': { response: '<think>#### 42</think> I pass', groundTruth: '42' },
      'several answers': { response: '#### 42\n#### 43', groundTruth: '42' },
      'thinking without an end': { response: '<think>#### 42', groundTruth: '42' },
    },
  })
  t.equal(value('#### $1,042.00', 1042), 1, 'equal values are equal')
  t.equal(value('The answer is 42.', '42'), 0)
  t.equal(value('The answer is 42.', '42', { method: 'flexible' }), 1)
  t.equal(value('No number', '42', { method: 'flexible' }), 0)
  t.equal(value('#### 41', '42', { format_score: 0.1, score: 2 }), 0.1)
  t.equal(value('#### 42', '42', { format_score: 0.1, score: 2 }), 2)
  t.equal(value('#### 42\n#### 41', '42', reference), 1, 'the original takes the first')
  t.equal(value('#### 42.', '42', reference), 0, 'and the text as it stands')
  t.equal(value('so 42 .', '42', { ...reference, method: 'flexible' }), 1)
  t.equal(value('...', '42', { ...reference, method: 'flexible' }), 0)
  t.throws(() => row(gsm8kStock, { groundTruth: 'none' }))
  for (const mode of ['sound', 'reference']) {
    for (const method of ['strict', 'flexible']) nearLinear(t, (text) => value(text, '42', { mode, method }))
  }
})

t.test('math-boxed', async (t) => {
  const value = valueBy(mathBoxed)
  ruleContract(t, mathBoxed, {
    full: { response: 'So \\boxed{\\frac12}.', groundTruth: '\\frac{1}{2}' },
    zero: { response: 'So 1/2.', groundTruth: '\\frac{1}{2}' },
    malformed: { response: '\\boxed{\\frac{1}{2}', groundTruth: '\\frac{1}{2}' },
    hacks: {
      'right only while thinking': { response: '<think>\\boxed{7}</think>I pass', groundTruth: '7' },
      'thinking without an end': { response: '<think>\\boxed{7}', groundTruth: '7' },
      'two guesses': { response: '\\boxed{7} or \\boxed{8}', groundTruth: '7' },
      'a second guess as a unit': { response: '\\boxed{7\\text{ or 8}}', groundTruth: '7' },
      'a frame that is no box': { response: '\\fbox{7}', groundTruth: '7' },
      'texts that cannot be normalised': { response: '\\boxed{\\sqrt}', groundTruth: '7' },
    },
  })
  t.equal(value('\\boxed{\\$5}', 5), 1)
  t.equal(value('\\boxed{0.5}', '1/2'), 1)
  t.equal(value('\\boxed{x=5}', '5'), 1)
  t.equal(value('\\boxed 5$', '5'), 1)
  t.equal(value('\\boxed{\\sqrt}', '\\sqrt', reference), 1)
  t.equal(value('\\boxed{}', '', reference), 1)
  t.equal(value('\\boxed{5}', 5, reference), 0)
  t.equal(value('\\boxed{5 \\boxed{6}}', '5', reference), 0)
  for (const truth of ['', null, '\\sqrt']) t.throws(() => row(mathBoxed, { groundTruth: truth }))
  for (const mode of ['sound', 'reference']) {
    nearLinear(t, (text) => value(`\\boxed{${text.replaceAll(/[{}]/g, '')}}`, '5', { mode }))
    nearLinear(t, (text) => value(text, '5', { mode }))
  }
})

t.test('math-dapo', async (t) => {
  const value = valueBy(mathDapo)
  ruleContract(t, mathDapo, {
    full: { response: 'So it is.\nAnswer: $42$', groundTruth: '42' },
    zero: { response: 'So 42.', groundTruth: '42' },
    malformed: { response: 'Answer:', groundTruth: '42' },
    hacks: {
      'right only while thinking': { response: '<think>Answer: 42</think>I pass', groundTruth: '42' },
      'thinking without an end': { response: '<think>Answer: 42', groundTruth: '42' },
      'an answer that is not there': { response: '', groundTruth: '[INVALID]' },
      'a list for a number': { response: 'Answer: 4,2', groundTruth: '42' },
      'nothing but a unit': { response: 'Answer: points', groundTruth: '42 points' },
    },
  })
  t.equal(value('Answer: 1,042 dollars', 1042), 1)
  t.equal(value('Answer: 2, 3', '2,3'), 1)
  t.equal(value('Answer: 41\nanswer : x = 42', '42'), 1)
  t.equal(value(`Answer: 42${'.'.repeat(400)}`, '42'), -1, 'too early')
  const boxed = { strict_box_verify: true }
  t.equal(value('\\boxed{41} \\boxed{42}', '42', boxed), 1)
  t.equal(value('\\boxed{42', '42', boxed), -1)
  t.equal(value('Answer: 42', '42', boxed), -1)
  t.equal(value('\\boxed{ 42}', '42', { ...boxed, ...reference }), -1, 'the original wants the very text')
  t.equal(value('\\boxed{42}', '42', { ...boxed, ...reference, pause_tokens_index: [0, 0, 0, 100] }), 1)
  t.equal(value('\\boxed{42}', '42', { ...boxed, ...reference, pause_tokens_index: [0, 0, 0, 101] }), -1)
  t.equal(value('', '[INVALID]', reference), 1)
  t.equal(value('Answer: 4,2', '42', reference), 1)
  for (const truth of ['', null, 'points']) t.throws(() => row(mathDapo, { groundTruth: truth }))
  for (const mode of ['sound', 'reference']) {
    nearLinear(t, (text) => {
      value(`Answer: ${text}`, '42', { mode })
      value(text, '42', { mode, ...boxed })
    })
  }
})
