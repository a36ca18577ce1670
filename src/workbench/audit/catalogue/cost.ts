import { type Attack, family } from '../attack.ts'

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

/** Texts that are slow for careless readers; each must have a verdict in time. */
export const costAttacks: readonly Attack[] = family(
  'cost bomb',
  'cost',
  'time',
  Object.fromEntries(Object.entries(bombs).map(([name, text]) => [name, () => text])),
)
