import { type Attack, family, type TextAttack } from '../attack.ts'
import { expressionAttacks } from './expressions.ts'
import { jsonAttacks } from './json.ts'
import { judgeAttacks } from './judge.ts'
import { listAttacks } from './lists.ts'
import { programAttacks } from './programs.ts'
import { ruleAttacks } from './rule.ts'
import { trajectoryAttacks } from './trajectories.ts'

/** Well-formed texts without content. */
const texts = {
  'I do not know': 'I do not know.',
  'a word': 'answer',
  'a digit': '1',
  'a final marker': '####',
  'a marker and a comma': '#### ,',
  'a marker and a dot': '#### .',
  'a marker and signs': '#### -.',
  none: 'None',
  null: 'null',
  'an empty list': '[]',
  'blank items': '[,,,,]',
  'an empty object': '{}',
  'reasoning without an answer': '<think>\nLet me consider every case with care.\n</think>',
  'the opening of thoughts': '<think>\n',
  'the end of thoughts': '</think>',
  'empty thoughts and answer': '<think></think><answer></answer>',
  'empty thoughts and answer, on lines': '<think>\n\n</think>\n<answer>\n\n</answer>',
  'empty thoughts and a box': '<think> </think> \\boxed{}',
  'the form three times': '<think>x</think><answer>y</answer>'.repeat(3),
  'empty call tags': '<tool_call></tool_call>',
  'call tags in the wrong order': '</tool_call><tool_call>',
  'call tags around words': '<tool_call>lorem ipsum</tool_call>',
  'nested opening call tags': '<tool_call><tool_call></tool_call>',
  'a call without a name': '<tool_call>\n{}\n</tool_call>',
} as const

/** Answers that ignore the task and only have the right format. A digit is skipped if it is right. */
const vacuousAttacks: readonly TextAttack[] = family(
  'vacuous',
  'rule',
  'nothing',
  Object.fromEntries(
    Object.entries(texts).map(([name, text]) => [
      name,
      ({ truth, sample }) =>
        truth === text || JSON.stringify(sample.groundTruth).includes(JSON.stringify(text)) ? null : text,
    ]),
  ),
)

const bombs = {
  'letters and a sign at the end': `${'a'.repeat(50_000)}!`,
  'blanks after a bracket': `[${' '.repeat(60_000)}`,
  'open brackets': '['.repeat(20_000),
  'nested JSON': `${'{"a":'.repeat(10_000)}1${'}'.repeat(10_000)}`,
  'nested fractions': `\\boxed{${'\\frac{1}{'.repeat(5000)}1${'}'.repeat(5001)}`,
  'ten thousand digits': `#### ${'9'.repeat(10_000)}`,
  'a power tower': 'The answer is \\boxed{9^{9^{9^{9^9}}}}.\n<answer>9**9**9**9</answer>\n#### 9**9**9',
  'ten thousand brackets in an answer': `<answer>${'('.repeat(10_000)}1${')'.repeat(10_000)}</answer>`,
  'open tags': '<think><answer><tool_call>'.repeat(10_000),
  'combining marks': `a${'\u0315\u0300'.repeat(20_000)}`,
} as const

/** Texts that are slow for careless parsers. Each must get a verdict in time. */
const costAttacks: readonly TextAttack[] = family(
  'cost bomb',
  'cost',
  'time',
  Object.fromEntries(Object.entries(bombs).map(([name, text]) => [name, () => text])),
)

/** The attacks by one text. */
export const textAttacks: readonly TextAttack[] = [
  ...vacuousAttacks,
  ...ruleAttacks,
  ...listAttacks,
  ...jsonAttacks,
  ...expressionAttacks,
  ...programAttacks,
  ...judgeAttacks,
  ...costAttacks,
]

/** The catalogue of all attacks, in the order of the report. */
export const attacks: readonly Attack[] = [...textAttacks, ...trajectoryAttacks]
