import { readFileSync } from 'node:fs'
import { GatewayError, type Problem } from '../errors.ts'
import { didYouMean } from '../nearest-name.ts'
import { type Fault, type FaultKind, faultKinds, type PolicyName, policyNames } from '../simulate/index.ts'
import type { SimulatedServerOptions } from '../simulate/options.ts'
import { reasonOf } from '../system-error.ts'
import { flag, parsed, text, textOr, texts, textsOf } from './arguments.ts'

/** Option -> field and the least and most that it may be. */
const numbers = {
  port: ['port', 0, 65_535],
  'success-rate': ['successRate', 0, 1],
  'wrong-rate': ['wrongRate', 0, 1],
  undecided: ['undecided', 0, 1],
  'latency-median-ms': ['latencyMedianMs', 0, 1e9],
  'latency-sigma': ['latencySigma', 0, 10],
  speed: ['speed', 1e-6, 1e6],
  'max-num-seqs': ['maxNumSeqs', 1, 1e6],
  'max-model-len': ['maxModelLen', 1, 1e9],
  'prefix-cache-blocks': ['prefixCacheBlocks', 0, 1e7],
  'prefill-ms-per-token': ['prefillMsPerToken', 0, 1e6],
  dimensions: ['dimensions', 1, 1e5],
} as const satisfies Record<string, readonly [keyof SimulatedServerOptions, number, number]>

const config = {
  ...textsOf(numbers),
  host: text,
  count: textOr('1'),
  model: text,
  runner: text,
  policy: text,
  answers: text,
  constant: text,
  seed: text,
  thinking: flag,
  'reasoning-parser': flag,
  fault: texts,
  control: flag,
} as const

/** How many servers, and what each is; throws RG_COMMAND_INVALID with a problem for every mistake. */
export function readSimulateArguments(argv: readonly string[]): {
  readonly count: number
  readonly options: SimulatedServerOptions
} {
  const { values } = parsed(argv, config)
  const problems: Problem[] = []
  const number = (name: string, given: string, low: number, high: number): number => {
    const value = given.trim() === '' ? Number.NaN : Number(given)
    if (!(value >= low && value <= high)) wrong(name, `'${given}' is no number from ${low} to ${high}`)
    return value
  }
  const wrong = (name: string, message: string): void => {
    problems.push({ path: `--${name}`, message })
  }
  const oneOf = <T extends string>(name: string, given: string, known: readonly T[]): T => {
    if (known.includes(given as T)) return given as T
    wrong(name, `'${given}' is none of ${known.join(', ')}${didYouMean(given, known)}`)
    return given as T
  }
  const fields: Record<string, unknown> = {}
  for (const [name, [field, low, high]] of Object.entries(numbers)) {
    const given = values[name as keyof typeof numbers]
    if (given !== undefined) fields[field] = number(name, given, low, high)
  }
  const { host, model, seed, policy, runner, constant, answers } = values
  const count = number('count', values.count, 1, 1000)
  const options: SimulatedServerOptions = {
    ...fields,
    ...(host !== undefined && { host }),
    ...(model !== undefined && { model }),
    ...(seed !== undefined && { seed }),
    ...(policy !== undefined && { policy: oneOf<PolicyName>('policy', policy, policyNames) }),
    ...(runner !== undefined && { runner: oneOf('runner', runner, ['generate', 'pooling']) }),
    ...(constant !== undefined && { constant: readConstant(constant) }),
    ...(answers !== undefined && { answers: readAnswers(answers, wrong) }),
    ...(values.thinking && { thinking: true }),
    ...(values['reasoning-parser'] && { reasoningParser: true }),
    control: values.control,
    faults: values.fault.map((given) => readFault(given, number, oneOf)),
  }
  if (problems.length > 0) throw new GatewayError('RG_COMMAND_INVALID', 'simulate cannot start', { problems })
  return { count, options }
}

/** `KIND`, `KIND:RATE`, `KIND@/path` or `KIND:RATE@/path`. */
function readFault(
  given: string,
  number: (name: string, given: string, low: number, high: number) => number,
  oneOf: (name: string, given: string, known: readonly FaultKind[]) => FaultKind,
): Fault {
  const at = given.indexOf('@')
  const [kind = '', rate] = (at < 0 ? given : given.slice(0, at)).split(':')
  return {
    kind: oneOf('fault', kind, faultKinds),
    ...(rate !== undefined && { rate: number('fault', rate, 0, 1) }),
    ...(at >= 0 && { path: given.slice(at + 1) }),
  }
}

/** A number is a verdict, any other text the whole reply. */
function readConstant(given: string): number | string {
  const value = given.trim() === '' ? Number.NaN : Number(given)
  return value >= 0 && value <= 1 ? value : given
}

type Row = Readonly<Record<string, unknown>>

function readAnswers(
  file: string,
  wrong: (name: string, message: string) => void,
): Record<string, string | number> {
  try {
    const content = readFileSync(file, 'utf8')
    const entries = file.endsWith('.jsonl')
      ? content
          .split('\n')
          .filter((line) => line.trim() !== '')
          .map((line) => answerOf(JSON.parse(line) as Row))
      : Object.entries(JSON.parse(content) as Row)
    return Object.fromEntries(entries.map(([question, answer]) => [question, String(answer)]))
  } catch (error) {
    wrong('answers', `${file}: ${reasonOf(error)}`)
    return {}
  }
}

/** The question (its last turn of the user) and the ground truth of a sample, or of a row in verl's form. */
function answerOf({ prompt, ground_truth, reward_model }: Row): readonly [string, unknown] {
  const truth = ground_truth ?? (reward_model as Row | undefined)?.ground_truth
  if (!Array.isArray(prompt)) return [String(prompt), truth]
  const user = (prompt as readonly Row[]).findLast(({ role }) => role === 'user')
  return [String(user?.content ?? ''), truth]
}
