import { readFileSync } from 'node:fs'
import { GatewayError, type Problem } from '../../core/errors.ts'
import { didYouMean } from '../../core/nearest-name.ts'
import { reasonOf } from '../../core/system-error.ts'
import {
  type FaultKind,
  faultKinds,
  type InjectedFault,
  type PolicyName,
  policyNames,
  type Restart,
  readFaults,
  type SglangFlags,
} from '../../simulator/index.ts'
import type { SimulatedServerOptions } from '../../simulator/options.ts'
import { flag, parsed, text, textOr, texts, textsOf } from '../arguments.ts'

/** Option -> field and the least and most that it may be. */
const numbers = {
  port: ['port', 0, 65_535],
  'control-port': ['controlPort', 1, 65_535],
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
  'prefill-tokens-per-s': ['prefillTokensPerS', 1e-3, 1e9],
  'decode-ms-per-token': ['decodeMsPerToken', 0, 1e6],
  'sleep-ms': ['sleepMs', 0, 1e9],
  dimensions: ['dimensions', 1, 1e5],
} as const satisfies Record<string, readonly [keyof SimulatedServerOptions, number, number]>

const config = {
  ...textsOf(numbers),
  host: text,
  count: textOr('1'),
  model: text,
  runner: text,
  engine: text,
  'without-memory-saver': flag,
  'enable-weights-cpu-backup': flag,
  'without-health-generation': flag,
  policy: text,
  answers: text,
  constant: text,
  seed: text,
  thinking: flag,
  'reasoning-parser': flag,
  fault: texts,
  restart: texts,
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
  const { host, model, seed, policy, runner, engine, constant, answers } = values
  const count = number('count', values.count, 1, 1000)
  const sglang: SglangFlags = {
    enableMemorySaver: !values['without-memory-saver'],
    enableWeightsCpuBackup: values['enable-weights-cpu-backup'],
    healthGeneration: !values['without-health-generation'],
  }
  const options: SimulatedServerOptions = {
    ...fields,
    ...(host !== undefined && { host }),
    ...(model !== undefined && { model }),
    ...(seed !== undefined && { seed }),
    ...(policy !== undefined && { policy: oneOf<PolicyName>('policy', policy, policyNames) }),
    ...(runner !== undefined && { runner: oneOf('runner', runner, ['generate', 'pooling']) }),
    ...(engine !== undefined && { engine: oneOf('engine', engine, ['vllm', 'sglang']) }),
    ...(constant !== undefined && { constant: readConstant(constant) }),
    ...(answers !== undefined && { answers: readAnswers(answers, wrong) }),
    ...(values.thinking && { thinking: true }),
    ...(values['reasoning-parser'] && { reasoningParser: true }),
    control: values.control,
    sglang,
    faults: values.fault.map((given) => readFault(given, number, oneOf, wrong)),
    restarts: values.restart.map((given) => readRestart(given, number)),
  }
  if (problems.length > 0) throw new GatewayError('RG_COMMAND_INVALID', 'simulate cannot start', { problems })
  return { count, options }
}

/** `KIND`, `KIND:RATE`, `KIND@/path`, `KIND:RATE@/path`, or a fault as POST /simulate/faults takes it. */
function readFault(
  given: string,
  number: (name: string, given: string, low: number, high: number) => number,
  oneOf: (name: string, given: string, known: readonly FaultKind[]) => FaultKind,
  wrong: (name: string, message: string) => void,
): InjectedFault {
  if (given.startsWith('{')) {
    try {
      const [fault] = readFaults([JSON.parse(given)])
      if (fault) return fault
    } catch (error) {
      wrong('fault', reasonOf(error))
    }
    return { kind: '500' }
  }
  const at = given.indexOf('@')
  const [kind = '', rate] = (at < 0 ? given : given.slice(0, at)).split(':')
  return {
    kind: oneOf('fault', kind, faultKinds),
    ...(rate !== undefined && { rate: number('fault', rate, 0, 1) }),
    ...(at >= 0 && { path: given.slice(at + 1) }),
  }
}

/** `AFTER:DOWN:LOADING` in seconds. */
function readRestart(
  given: string,
  number: (name: string, given: string, low: number, high: number) => number,
): Restart & { readonly afterMs: number } {
  const [after = '', down = '0', loading = '0'] = given.split(':')
  const ms = (part: string): number => 1000 * number('restart', part, 0, 1e6)
  return { afterMs: ms(after), downMs: ms(down), loadingMs: ms(loading) }
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
