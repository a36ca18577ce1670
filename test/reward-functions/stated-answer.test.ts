import { readFileSync } from 'node:fs'
import t from 'tap'
import choiceMatch from '../../reward-functions/choice-match.ts'
import gsm8k from '../../reward-functions/gsm8k.ts'
import mathVerify from '../../reward-functions/math-verify.ts'
import numericMatch from '../../reward-functions/numeric-match.ts'
import qaF1 from '../../reward-functions/qa-f1.ts'
import searchEm from '../../reward-functions/search-em.ts'
import searchSubem from '../../reward-functions/search-subem.ts'
import type { Json, Rule } from '../../src/contract/index.ts'
import { type RowParts, row, ruleContract, scored } from '../../src/contract/testing.ts'
import { eachNearLinear } from '../support/hostile.ts'
import { valueBy } from '../support/rules.ts'

const numeric = valueBy(numericMatch)
const choice = (response: string, groundTruth = 'B', choices = 4) =>
  valueBy(choiceMatch, { choices })(response, groundTruth)

t.test('numeric-match keeps its contract', async (t) => {
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
      'an answer in an answer': {
        response: '<answer><answer>0.75</answer>0.5</answer>',
        groundTruth: '0.75',
      },
      'a near miss': { response: '0.7500001', groundTruth: '0.75' },
      'the end of a range': { response: 'so 9-0.75', groundTruth: '0.75' },
      'another number behind the tag': { response: '<answer>0.75</answer> 6', groundTruth: '0.75' },
    },
  })
})

t.test('numeric-match: equal values are equal however they are written', async (t) => {
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
  for (const form of forms) t.equal(numeric(form, 1234.5), 1, form)
  const others: [string, Json][] = [
    ['-.5', '-\\dfrac{1}{2}'],
    ['-$5', -5],
    ['\\boxed{\\frac{-1}{2}}', '-0.5'],
    ['-\\frac{-1}{2}', 0.5],
    ['٤٢', 42],
    ['４２', 42],
    ['x = −42', -42],
  ]
  for (const [form, truth] of others) t.equal(numeric(form, truth), 1, form)
})

t.test('numeric-match: the answer is found among other text, and digits of it are no number', async (t) => {
  t.equal(numeric('#### 5', 5), 1)
  t.equal(numeric('I answer in <answer> tags: <answer>5</answer>', 5), 1)
  t.equal(numeric('x2 = 5', 5, { place: 'whole' }), 1, 'a digit inside a word is no number')
  t.equal(numeric('not 41 but 42', 42), 1)
  t.equal(numeric('2½', 21), 0)
  t.equal(numeric('1/0', 1), 0)
})

t.test('numeric-match: a tolerance is absolute or a share of the ground truth', async (t) => {
  t.equal(numeric('3.14', '3.14159', { absolute: 0.01 }), 1)
  t.equal(numeric('3.1', '3.14159', { absolute: 0.01 }), 0)
  t.equal(numeric('101', 100, { relative: 0.01 }), 1)
  t.equal(numeric('102', 100, { relative: 0.01 }), 0)
})

t.test('numeric-match: a score says why it is low', async (t) => {
  for (const [response, wanted, options] of [
    ['5', undefined],
    ['6', 'unequal'],
    ['none', 'no_number'],
    ['1/0', 'no_number'],
    ['1,5', 'several_answers'],
    ['\\boxed{5 6}', 'several_answers'],
    ['<think>5', 'thinking_unclosed'],
    ['', 'no_answer', { place: 'tag' }],
  ] as const)
    t.equal(
      scored(numericMatch, { response, groundTruth: '5', ...(options && { options }) })?.details?.reason,
      wanted,
      response,
    )
})

t.test('numeric-match: a row without one number is rejected, not scored', async (t) => {
  for (const truth of ['none', '1 or 2', '1/0', null])
    t.throws(() => row(numericMatch, { groundTruth: truth }), `${truth}`)
})

t.test('choice-match keeps its contract', async (t) => {
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
})

t.test('choice-match: a choice is read in the usual forms', async (t) => {
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
  for (const form of forms) t.equal(choice(form), 1, form)
  t.equal(choice('Between you and me'), 0)
  t.equal(choice('E', 'E', 5), 1)
})

t.test('choice-match: a choice is read from prose, and not where the prose takes it back', async (t) => {
  for (const right of [
    'My pick: B. The heart has four chambers.',
    'A is out, C is out. We are left with B.',
    'La respuesta correcta es la B, porque es un metal.',
    "The answer's B: it was signed then.",
    'b) Photosynthesis',
    'B - because heat flows that way.',
    'D fails, so B is therefore the answer.',
    'Statement I is false. This matches B.',
  ])
    t.equal(choice(right), 1, right)
  for (const wrong of [
    'My pick: B or C',
    'C, though B has equal merit.',
    '不选B。',
    'This matches B, but so does C.',
    'B - not this one',
    'La respuesta no es la B',
    'a) first\nb) second',
  ])
    t.equal(choice(wrong), 0, wrong)
})

t.test('numeric-match: a calculation in prose with powers and choices holds or is refused', async (t) => {
  t.equal(numeric('Volume = 6³ = 216 cm³', 216), 1)
  t.equal(numeric('Volume = 6³ = 217 cm³', 217), 0)
  t.equal(numeric('The angles sum to (7 − 2) · 180° = 900°.', 900), 1)
  t.equal(numeric('We need C(9,2) = 36 handshakes.', 36), 1)
  t.equal(numeric('We need C(9,2) = 35 handshakes.', 35), 0)
})

t.test('choice-match: a score says why it is low', async (t) => {
  for (const [response, wanted] of [
    ['A', 'unequal'],
    ['E', 'no_choice'],
    ['', 'no_choice'],
    ['A) x\nB) y', 'several_choices'],
    ['The answer is A. The answer is B.', 'contradiction'],
    ['\\boxed{}', 'no_answer'],
    ['<think>B', 'thinking_unclosed'],
  ] as const)
    t.equal(
      scored(choiceMatch, { response, groundTruth: 'B', options: { choices: 4 } })?.details?.reason,
      wanted,
      response,
    )
})

t.test('choice-match: a ground truth is one letter of the choices, however it is written', async (t) => {
  for (const truth of ['E', '', 'AB', '2'])
    t.throws(() => row(choiceMatch, { groundTruth: truth, options: { choices: 4 } }), truth)
  t.equal(scored(choiceMatch, { response: 'B', groundTruth: ' (b) ' })?.value, 1)
})

/** Prose without marks, as models write it: `{ function, is_right, prompt, ground_truth, response }` a line. */
const natural = (name: string) =>
  readFileSync(`test/fixtures/natural-answers/${name}.jsonl`, 'utf8')
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line))
const reader =
  <T, O>(rule: Rule<T, O>) =>
  (parts: RowParts) =>
    scored(rule, parts)?.value
const readers = {
  'numeric-match': reader(numericMatch),
  'choice-match': reader(choiceMatch),
  'qa-f1': reader(qaF1),
  'search-subem': reader(searchSubem),
  'math-verify': reader(mathVerify),
  gsm8k: reader(gsm8k),
  'search-em': (parts: RowParts) =>
    scored(searchEm, { ...parts, groundTruth: { target: listed(parts.groundTruth) } })?.value,
}
/** Several spellings of one answer are a list in JSON. */
const listed = (truth: Json | undefined): Json =>
  `${truth}`.startsWith('[') ? JSON.parse(`${truth}`) : (truth ?? '')
/** What a right answer earns. */
const full = (rule: string): number => (rule === 'gsm8k' ? 1.1 : 1)

// What is refused is in docs/answers.md: these rows may get fewer, not more.
for (const [name, refused, paid] of [
  ['first', 6, 0],
  ['second', 4, 0],
  ['third', 1, 0],
  ['fourth', 0, 0],
  ['fifth', 21, 0],
  ['fifth-mathematics', 0, 0],
  ['sixth', 13, 0],
  ['seventh', 8, 0],
  ['eighth', 11, 3],
  // Variations of classes that the sets showed, and their mirror images.
  ['classes', 0, 0],
] as const)
  t.test(`natural prose: right answers are paid and hostile ones are not (${name} set)`, async (t) => {
    const faults = { refused: [] as string[], paid: [] as string[] }
    for (const { function: rule, is_right, prompt, ground_truth, response } of natural(name)) {
      const found = readers[rule as keyof typeof readers]({
        prompt,
        response,
        groundTruth: ground_truth,
        options: {},
      })
      if (is_right && found !== full(rule)) faults.refused.push(response)
      if (!is_right && (found === undefined || found >= 0.5)) faults.paid.push(response)
    }
    t.ok(faults.refused.length <= refused, faults.refused.join('\n'))
    t.ok(faults.paid.length <= paid, faults.paid.join('\n'))
  })

t.test('hostile text is scored in linear time', async (t) => {
  eachNearLinear(t, {
    'numeric-match, final': (text) => numeric(text, 5, { place: 'final' }),
    'numeric-match, whole': (text) => numeric(text, 5, { place: 'whole' }),
    'choice-match': (text) => [choice(text), choice(`answer${text}`), choice(`B${text}`)],
  })
})
