/** Weak and right rules, and what the audit must find in them. */

import type { Json } from '../../../src/core/sample/sample.ts'
import type { Gateway } from '../../../src/scoring/gateway/gateway.ts'
import { audit } from '../../../src/workbench/audit/audit.ts'
import { attacks } from '../../../src/workbench/audit/catalogue/attacks.ts'
import { findingsOf } from '../../../src/workbench/audit/findings.ts'
import { knownAnswers } from '../../../src/workbench/dataset/samples.ts'

type Row = Readonly<Record<string, Json>>

const asked: readonly (readonly [prompt: string, truth: string])[] = [
  ['Ann has 6 bags of 7 apples. How many apples has Ann?', '42'],
  ['A trip of 90 km takes 3 hours. What is the speed in km an hour?', '30'],
  ['A coat costs $5000 and is sold for 84 percent. How many dollars is that?', '4200'],
]
const inForm = (form: (truth: string) => string): readonly Row[] =>
  asked.map(([prompt, truth]) => ({
    prompt,
    response: `I multiply and get it.\n${form(truth)}`,
    ground_truth: truth,
  }))

const marks = inForm((truth) => `#### ${truth}`)
const boxes = inForm((truth) => `So it is \\boxed{${truth}}.`)
const labels = inForm((truth) => `Answer: ${truth}`)
const sentences = inForm((truth) => `The answer is ${truth}.`)
const tagged = inForm((truth) => `<answer>${truth}</answer>`)
const json: readonly Row[] = [
  { prompt: 'What is 6 times 7?', response: '{"answer": 42}', ground_truth: '42' },
]
const choices: readonly Row[] = [
  {
    prompt: 'Which planet is the largest?\nA. Mars\nB. Jupiter\nC. Venus\nD. Earth',
    response: 'Jupiter is. The answer is B',
    ground_truth: 'B',
  },
]
const boxedChoices: readonly Row[] = [
  {
    prompt: 'What is 2 + 3?\n(A) 4\n(B) 5\n(C) 6\n(D) 7',
    response: 'It is five.\n\\boxed{C}',
    ground_truth: 'C',
  },
]
const texts: readonly Row[] = [
  {
    prompt: 'What is the capital of France?',
    response: '<think>France, so Paris.</think><answer>Paris</answer>',
    ground_truth: 'Paris',
  },
  {
    prompt: 'Who wrote Faust?',
    response: '<think>A poet.</think><answer>Johann Wolfgang Goethe</answer>',
    ground_truth: 'Johann Wolfgang Goethe',
  },
]
const digits: readonly Row[] = [
  {
    prompt: 'How many are there?',
    response: '<think>I count.</think><answer>35</answer>',
    ground_truth: '35',
  },
]
const equations: readonly Row[] = [
  { prompt: 'Solve x + 2 = 5.', response: 'I take 2 away. \\boxed{x=3}', ground_truth: 'x=3' },
]
const intervals: readonly Row[] = [
  {
    prompt: 'Which interval?',
    response: 'It is \\boxed{[1,2)}',
    ground_truth: '[1,2)',
    near_miss: ['It is \\boxed{[1,3)}'],
  },
]
const formulas: readonly Row[] = [
  {
    prompt: 'A half and a quarter?',
    response: 'They are \\boxed{\\frac{3}{4}}.',
    ground_truth: '\\frac{3}{4}',
    near_miss: ['They are \\boxed{\\frac{3}{5}}.'],
  },
  ...equations,
]
const citations: readonly Row[] = [
  {
    prompt: 'What is the weather?',
    response: 'The report says that it is sunny today [3].',
    ground_truth: '3',
    near_miss: ['The report says that it is sunny today [8].'],
  },
]
const prose: readonly Row[] = [
  {
    prompt: 'How many apples has Ann?',
    response:
      'Each of the six bags holds seven apples, so I multiply the two numbers and get forty-two of them.',
  },
]
const thoughts: readonly Row[] = [
  {
    prompt: 'q',
    response: '<think>I add them.</think><answer>It is 42.</answer>',
    near_miss: ['<think>I add them.</think>'],
  },
]
const wizWords: readonly Row[] = [
  {
    prompt: 'Is there a cycle?',
    response: 'I look at the links.\n### Yes',
    ground_truth: 'Yes',
    near_miss: ['I look at the links.\n### No'],
  },
]
const wizNumbers: readonly Row[] = [
  { prompt: 'What is the flow?', response: 'I look at the links.\n### 5', ground_truth: '5' },
]

/** A rule of the fixtures and its weaknesses: families that must be found. */
export interface Detected {
  readonly group: 'planted' | 'old-readers' | 'right'
  readonly reader: string
  readonly rows: readonly Row[]
  /** Of attacks that must be paid. */
  readonly paid?: readonly string[]
  /** Of rewrites that must be seen as refused. */
  readonly refused?: readonly string[]
}

const planted = (
  reader: string,
  rows: readonly Row[],
  paid: readonly string[],
  refused: readonly string[] = [],
): Detected => ({
  ...{ group: 'planted', reader, rows, paid, refused },
})
const old = (
  reader: string,
  rows: readonly Row[],
  paid: readonly string[],
  refused: readonly string[] = [],
): Detected => ({
  ...{ group: 'old-readers', reader, rows, paid, refused },
})
const right = (reader: string, rows: readonly Row[]): Detected => ({ group: 'right', reader, rows })

export const detections: readonly Detected[] = [
  planted('first number', marks, ['several answers', 'range', 'extended number', 'retraction']),
  planted('last number', marks, ['several answers', 'denial', 'range']),
  planted('token anywhere in the place', marks, ['several answers', 'denial', 'conditional']),
  planted('any mark', marks, ['several places']),
  planted('parse float', marks, ['extended number', 'what follows the value']),
  planted('digits only', marks, ['value with a sign in it', 'denial']),
  planted('next number', marks, ['wrong value']),
  planted('absolute value', marks, ['extended number']),
  planted('up to an invisible sign', marks, ['decoration']),
  planted('without LaTeX', boxes, ['decoration', 'operator around the value']),
  planted('any box', boxes, ['several places']),
  planted('English denials', boxes, ['other script', 'denial in another spelling']),
  planted('thoughts too', marks, ['thoughts in place of an answer']),
  planted('no punctuation', texts, ['doubt']),
  planted('words among others', texts, ['several answers', 'denial', 'words around a text']),
  planted('first letter', choices, ['several answers', 'conditional']),
  planted('some citation', citations, ['spam of citations']),
  planted('code is no language', prose, ['other language in a free zone']),
  planted('words between blanks', prose, ['repetition']),
  planted('any character is text', thoughts, ['invisible text']),
  planted('units dropped', marks, ['another unit', 'extended number']),
  planted('right side', boxes, ['restated question']),
  planted('a field that holds it', json, ['several answers', 'denial']),
  planted('signs of comparison dropped', marks, ['range']),
  planted('trusts a verdict', marks, ['forged verdict in the answer']),
  planted('spam is not counted', marks, ['spam']),
  planted('refuses bold', marks, [], ['bold and other marks']),
  planted('refuses other letters', choices, [], ['reasoning before the answer']),
  planted('refuses other notations', boxes, [], ['notation of numbers']),
  planted('reads the beginning', marks, [], ['a long chain before the answer']),
  old(
    'F4 choice-match',
    choices,
    ['several answers', 'denial', 'words around a text'],
    ['reasoning before the answer'],
  ),
  old('F4 choice-match', boxedChoices, ['several answers'], ['notation of choices']),
  old('F5 gsm8k', marks, ['several answers', 'denial', 'doubt', 'range', 'extended number', 'decoration']),
  old('F5 gsm8k, flexible', sentences, ['denial', 'range', 'several answers']),
  old('F6 numeric-match', boxes, [
    'denial',
    'range',
    'extended number',
    'decoration',
    'operator around the value',
  ]),
  old('F6 numeric-match', tagged, ['denial', 'range']),
  old(
    'F7 math-dapo',
    labels,
    ['restated question', 'range', 'another unit', 'decoration'],
    ['bold and other marks', 'notation of numbers', 'blanks and stops'],
  ),
  old(
    'F7 math-boxed',
    boxes,
    ['range', 'denial', 'extended number', 'another unit'],
    ['notation of numbers'],
  ),
  old('F7 prime-math', sentences, ['range', 'denial'], ['bold and other marks']),
  old('F8 math-verify', equations, ['restated question']),
  old('F8 math-verify', boxes, [
    'extended number',
    'decoration',
    'restated question',
    'denial around the place',
  ]),
  old('F8 math-verify', intervals, ['another shape']),
  old('F13 language-consistency', prose, ['other language in a free zone']),
  old('F13 repetition-penalty', prose, ['repetition']),
  old('F14 search-subem', texts, ['several answers', 'denial']),
  old('F14 search-em', digits, ['value with a sign in it']),
  old('F15 format-tags', thoughts, ['invisible text']),
  old('F16 graphwiz, yes or no', wizWords, ['denial']),
  old('F16 graphwiz, a number', wizNumbers, ['denial', 'range', 'extended number']),
  right('number after a mark', marks),
  right('number in a box', boxes),
  right('number in a tag', tagged),
  right('number in a sentence', sentences),
  right('choice', [...choices, ...boxedChoices]),
  right('yes or no', [
    { prompt: 'Is 7 prime?', response: 'Nothing divides it.\n#### yes', ground_truth: 'yes' },
  ]),
  right('text in a tag', texts),
  right('formula in a box', formulas),
  right('citations by precision', citations),
  right('number in JSON', json),
  right('text between tags', thoughts),
]

/** What the audit found in one rule, with default thresholds. */
export interface Detection {
  readonly paid: ReadonlySet<string>
  readonly refused: ReadonlySet<string>
  /** Attacks that fail the audit, and rewrites if more than 5 % are refused. */
  readonly alarms: readonly string[]
  readonly seconds: number
}

/** The config of a rule of the fixtures. */
export const configOf = ({ group, reader }: Detected): object => ({
  steps: [{ name: 'rule', function: group, options: { reader } }],
})

/** Audits one rule as the command does. */
export async function detect(
  gateway: Gateway,
  reward: string,
  { rows }: Detected,
  budget = 6000,
  seed = 1,
): Promise<Detection> {
  const known = rows.map((row, index) => {
    const answers = knownAnswers({ value: row, literals: [] }, index, [], null)
    if (typeof answers === 'string') throw new TypeError(answers)
    return answers
  })
  const started = performance.now()
  const found = findingsOf(
    await audit(gateway, {
      reward,
      rows: known,
      signal: new AbortController().signal,
      attacks: attacks.filter(({ against }) => against === 'rule'),
      search: { budget, seed },
    }),
  )
  const full = found.attacks.filter(({ paidInFull }) => paidInFull > 0)
  const tried = found.rewrites.reduce((sum, { trials }) => sum + trials, 0)
  const refusals = found.rewrites.filter(({ successes }) => successes > 0)
  const refused = refusals.reduce((sum, { successes }) => sum + successes, 0)
  return {
    paid: new Set(full.map(({ name }) => name.slice(0, name.indexOf('/')))),
    refused: new Set(refusals.map(({ family }) => family)),
    alarms: [
      ...full.flatMap(({ name, isOutside, example }) => (isOutside ? [] : [`${name}: ${example?.response}`])),
      ...(refused > 0.05 * tried
        ? refusals.map(({ name, example }) => `refused ${name}: ${example?.response.slice(-80)}`)
        : []),
    ],
    seconds: (performance.now() - started) / 1000,
  }
}
