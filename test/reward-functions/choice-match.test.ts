import t from 'tap'
import choiceMatch from '../../reward-functions/choice-match.ts'
import { row, ruleContract, scored } from '../../src/contract/testing.ts'
import { nearLinear } from '../support/hostile.ts'

ruleContract(t, choiceMatch, {
  options: { choices: 4 },
  full: { response: 'The light bends, so the answer is (B).', groundTruth: 'B' },
  zero: { response: 'The answer is C.', groundTruth: 'B' },
  malformed: { response: 'I cannot tell.', groundTruth: 'B' },
  hacks: {
    'every choice in turn': {
      response: 'The answer is A. The answer is B. The answer is C. The answer is D.',
      groundTruth: 'B',
    },
    'two boxes': { response: '\\boxed{B} \\boxed{A}', groundTruth: 'B' },
    'two letters in one box': { response: '\\boxed{A, B}', groundTruth: 'B' },
    'a list of all': { response: 'B) yes\nA) yes', groundTruth: 'B' },
    'right only while thinking': { response: '<think>The answer is B</think> I pass', groundTruth: 'B' },
    'a denial': { response: 'It is certainly not (B).', groundTruth: 'B' },
    'a choice of two': { response: 'It must be (A) or (B)', groundTruth: 'B' },
    'two at the end': { response: 'So (A), (B)', groundTruth: 'B' },
    'an article is no choice': { response: 'The answer is a dog.', groundTruth: 'A' },
  },
})

const value = (response: string, groundTruth = 'B', choices = 4): number | undefined =>
  scored(choiceMatch, { response, groundTruth, options: { choices } })?.value

t.test('a choice is read in the usual forms', async (t) => {
  const forms = [
    'B',
    '(b)',
    '**B**',
    'B.',
    'B) Paris',
    'B: Paris, where\nthe river is',
    '\\boxed{B}',
    '\\boxed{\\text{B}}',
    '\\boxed{b}',
    '<answer>B</answer>',
    '<answer>B. Paris</answer>',
    'Answer: B',
    'ANSWER: **B**',
    'So the light bends (B)',
    'The light bends.\nTherefore **B**.',
    'It must be B.',
    'The correct option is B because A is wrong.',
    '答案是B',
    '选Ｂ',
    '答案：（B）',
    'The answer is B.\nFinal answer: B',
    '<think>Perhaps A.</think>The answer is {B}',
  ]
  for (const form of forms) t.equal(value(form), 1, form)
  t.equal(value('Between you and me'), 0)
  t.equal(value('E', 'E', 5), 1)
})

t.test('a score says why it is low', async (t) => {
  const reason = (response: string): unknown =>
    scored(choiceMatch, { response, groundTruth: 'B', options: { choices: 4 } })?.details?.reason
  t.equal(reason('A'), 'unequal')
  t.equal(reason('E'), 'no_choice')
  t.equal(reason(''), 'no_choice')
  t.equal(reason('A) x\nB) y'), 'several_choices')
  t.equal(reason('answer A, answer B'), 'contradiction')
  t.equal(reason('\\boxed{}'), 'no_answer')
  t.equal(reason('<think>B'), 'thinking_unclosed')
  for (const truth of ['E', '', 'AB', '2']) {
    t.throws(() => row(choiceMatch, { groundTruth: truth, options: { choices: 4 } }), truth)
  }
  t.equal(scored(choiceMatch, { response: 'B', groundTruth: ' (b) ' })?.value, 1)
})

t.test('hostile text costs little', async (t) => {
  nearLinear(t, (text) => [value(text), value(`answer${text}`), value(`B${text}`)])
})
