import { once } from 'node:events'
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
  startSimulatedServers,
} from '../../simulator/index.ts'
import type { SimulatedServerOptions } from '../../simulator/options.ts'
import { flag, parsed, text, textOr, texts, textsOf } from '../arguments.ts'
import { cannotListen } from './listening.ts'

const usage = `reward-gateway simulate [options]

Starts simulated model servers that speak vLLM's and SGLang's API, prints a line \`MODEL URL\` for each, and serves until
it is stopped. They need no GPU and no weights: a scripted policy judges.

  --host HOST               where to listen (127.0.0.1)
  --port PORT               first of consecutive ports; 0, the default, takes free ones
  --count N                 how many servers (1)
  --model NAME              name of the served model (simulated-judge)
  --runner generate|pooling only these endpoints; all by default
  --engine vllm|sglang      only this server's endpoints, metrics and ways; both by default
  --policy NAME             reference (default), arithmetic, gullible, constant or solver
  --answers FILE            right answers: JSON {"piece of the question": answer}, or JSONL of samples
  --constant VALUE          the constant policy's verdict, 0 to 1, or its whole reply
  --success-rate RATE       the solver's share of right answers (0.5)
  --wrong-rate RATE         share of verdicts turned round (0)
  --undecided SCORE         the verdict where a policy has nothing to go by (0)
  --seed SEED               of everything that is drawn (0)
  --latency-median-ms MS    log-normal latency; 0, the default, answers at once
  --latency-sigma SIGMA     spread of the latency's logarithm (0)
  --speed FACTOR            0.2 is five times slower (1)
  --max-num-seqs N          sequences that run at once (256)
  --max-model-len TOKENS    the model's window (32768)
  --prefix-cache-blocks N   blocks of 16 tokens that it remembers (8192); 0: none
  --prefill-ms-per-token MS time for each prompt token that the cache lacks (0)
  --prefill-tokens-per-s N  reads prompts one after another at this rate; at once by default
  --decode-ms-per-token MS  time for each token that is written (0)
  --sleep-ms MS             time that falling asleep and waking take (0)
  --without-memory-saver    SGLang: a release frees nothing
  --enable-weights-cpu-backup  SGLang: weights survive a release; without it they come back as zeros
  --without-health-generation  SGLang: /health does not ask the model
  --dimensions N            length of an embedding (256)
  --thinking                thinks before it answers
  --reasoning-parser        puts thoughts into reasoning_content
  --fault KIND[:RATE][@PATH]  a fault at a rate from 0 to 1, on paths that begin with PATH; repeatable
                            or as JSON: '{"kind": "hang", "afterMs": 5000, "forMs": 60000, "recovery": "answer"}'
  --restart AFTER[:DOWN[:LOADING]]  seconds until it goes away, refuses connections, and loads; repeatable
  --control                 serves /simulate/faults, /simulate/restart, /simulate/kill, /simulate/stats, /simulate/state
  --control-port PORT       serves those at a port of their own, which stays while the server is down; first of --count`

/** The command `simulate`; `run` resolves with the exit code once the signal has aborted and all servers are closed. */
export const command = {
  summary: 'starts simulated model servers: judges without a GPU, with latency and faults on cue',
  usage,
  async run(argv: readonly string[], io: SimulateIo): Promise<number> {
    const { count, options } = readSimulateArguments(argv)
    const servers = await startSimulatedServers(count, options).catch((cause) => {
      throw cannotListen(cause, { host: options.host ?? '127.0.0.1', port: options.port ?? 0 })
    })
    for (const { url } of servers) io.stdout.write(`${options.model ?? 'simulated-judge'} ${url}\n`)
    if (!io.signal.aborted) await once(io.signal, 'abort')
    await Promise.all(servers.map((server) => server.close()))
    return 0
  },
}

/** What the command needs of the process. */
interface SimulateIo {
  readonly stdout: { write(text: string): unknown }
  readonly signal: AbortSignal
}

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
