import { GatewayError, type Problem } from '../../core/errors.ts'
import { didYouMean } from '../../core/nearest-name.ts'
import type { Failure, FailureKind, Json } from '../../core/sample/sample.ts'
import { codeOf, reasonOf as troubleOf } from '../../core/system-error.ts'
import type { FunctionSource } from './discover.ts'
import type {
  BoundFunction,
  Call,
  CallResult,
  FailureCause,
  FunctionDescription,
  FunctionEvents,
  FunctionHost,
} from './function-host.ts'
import type { FunctionJob, JobEnd, JobRunner } from './job.ts'
import { warmingCalls } from './warming.ts'
import { type Loaded, loader } from './worker/load.ts'
import { runJob } from './worker/run-job.ts'

/** A function's source, and what runs it. */
interface PooledFunction {
  readonly source: FunctionSource
  readonly pool: JobRunner
}

/** What runs a bound function, and its options as JSON text. */
interface Target {
  readonly pool: JobRunner
  readonly options: string
}

/** A FunctionHost over pools of executors, by function name. */
export class PooledHost implements FunctionHost {
  readonly #functions: ReadonlyMap<string, PooledFunction>
  readonly #events: FunctionEvents
  readonly #sampleTimeoutMs: number
  readonly #folders: readonly string[]
  readonly #described = new Map<string, Promise<FunctionDescription>>()
  readonly #targets = new WeakMap<BoundFunction, Target>()

  constructor(
    functions: ReadonlyMap<string, PooledFunction>,
    events: FunctionEvents,
    sampleTimeoutMs: number,
    folders: readonly string[],
  ) {
    this.#functions = functions
    this.#events = events
    this.#sampleTimeoutMs = sampleTimeoutMs
    this.#folders = folders
  }

  get names(): readonly string[] {
    return [...this.#functions.keys()]
  }

  describe(name: string): Promise<FunctionDescription> {
    let description = this.#described.get(name)
    if (!description) {
      description = this.#describe(name)
      this.#described.set(name, description)
    }
    return description
  }

  async #describe(name: string): Promise<FunctionDescription> {
    const { source, pool } = this.#functionOf(name)
    const refused = (message: string): never => {
      const problems = [{ path: source.file, message }]
      throw new GatewayError('RG_FUNCTION_INVALID', `the reward function '${name}' cannot be used`, {
        problems,
      })
    }
    // Before it loads, so that no newer text than the one that runs is hashed.
    const hash = hashOf(source, refused)
    const end = await ended(pool, { type: 'describe', name })
    if (end.status !== 'done' || end.result.type !== 'described') return refused(usableReason(end))
    return { ...end.result.description, file: source.file, hash }
  }

  #functionOf(name: string): PooledFunction {
    const found = this.#functions.get(name)
    if (found) return found
    const searched =
      this.#folders.length === 0 ? 'the package' : `the package or in ${this.#folders.join(', ')}`
    const hint =
      didYouMean(name, this.#functions.keys()) ||
      ` in ${searched}; name the folder of its file by --reward-functions, or by functions.folders in gateway.yaml`
    throw new GatewayError('RG_FUNCTION_INVALID', `there is no reward function '${name}'${hint}`)
  }

  async bind(name: string, options: Json): Promise<BoundFunction> {
    const { pool } = this.#functionOf(name)
    const end = await ended(pool, { type: 'bind', name, options: JSON.stringify(options) })
    if (end.status === 'done' && end.result.type === 'bound') return { name, options, ...end.result.bound }
    const problems: readonly Problem[] =
      end.status === 'done' && end.result.type === 'refused'
        ? end.result.problems
        : [{ path: '', message: usableReason(end) }]
    throw new GatewayError('RG_OPTIONS_INVALID', `the options of '${name}' are wrong`, { problems })
  }

  async warm(rule: BoundFunction): Promise<void> {
    if (this.#functionOf(rule.name).source.loader !== 'native') return
    const { pool, options } = this.#targetOf(rule)
    for (const call of warmingCalls(rule.name, options)) await ended(pool, call)
  }

  call(call: Call): Promise<CallResult> {
    return new Promise((resolve) => this.run(call, resolve))
  }

  run(call: Call, done: (result: CallResult) => void): void {
    const { op, function: bound, rows, answer, at, found, request } = call
    const { name } = bound
    const { pool, options } = this.#targetOf(bound)
    const job: FunctionJob =
      (answer ?? found) === undefined
        ? { type: 'call', name, op, options, rows }
        : {
            type: 'call',
            name,
            op,
            options,
            rows,
            ...(answer !== undefined && { answer }),
            ...(at !== undefined && { at }),
            ...(found && { found }),
          }
    const ended = (end: JobEnd): void => {
      const result = this.#checked(this.#resultOf(end, name, op), call)
      this.#events.called?.({ name, op, ms: end.status === 'done' ? end.ms : 0, status: result.status })
      if (result.status === 'failed') this.#tell(end, result.failure, call)
      done(result)
    }
    pool.run(job, ended, request)
  }

  /** Scores were checked where they were made. This detects scores that users' code forged on the way. */
  #checked(result: CallResult, { op, function: { range, parts } }: Call): CallResult {
    if ((op !== 'score' && op !== 'combine') || result.status !== 'verdicts') return result
    for (const verdict of result.verdicts) {
      if (verdict === null) continue
      const isForged =
        !(verdict.value >= range[0] && verdict.value <= range[1]) ||
        (verdict.parts !== undefined && Object.keys(verdict.parts).some((part) => !parts.includes(part)))
      if (isForged)
        return failed(
          op === 'score' ? 'rule_error' : 'function_error',
          `${op} sent a verdict outside its declared range or parts`,
        )
    }
    return result
  }

  #tell(end: JobEnd, failure: Failure, { op, function: { name }, rows, answer }: Call): void {
    const cause = causeOf(end, failure)
    if (cause === null) return
    const error = (end.status === 'done' && end.result.type === 'called' && end.result.error) || null
    this.#events.failed?.({ name, op, cause, failure, error, rows, answer })
  }

  #targetOf(bound: BoundFunction): Target {
    let target = this.#targets.get(bound)
    if (!target) {
      target = { pool: this.#functionOf(bound.name).pool, options: JSON.stringify(bound.options) }
      this.#targets.set(bound, target)
    }
    return target
  }

  async close(): Promise<void> {
    const pools = new Set([...this.#functions.values()].map(({ pool }) => pool))
    await Promise.all([...pools].map((pool) => pool.close()))
  }

  #resultOf(end: JobEnd, name: string, op: Call['op']): CallResult {
    const hook = op === 'score' || op === 'combine' ? op : `rm_${op}`
    const broken = op === 'score' ? 'rule_error' : 'function_error'
    switch (end.status) {
      case 'done': {
        if (end.result.type === 'late') {
          return this.#resultOf({ status: 'timeout', limitMs: this.#sampleTimeoutMs }, name, op)
        }
        if (end.result.type !== 'called') return failed(broken, `${name} ${reasonOf(end)}`)
        return end.result.result
      }
      case 'timeout':
        return failed(op === 'score' ? 'rule_timeout' : 'function_error', `${hook} ${reasonOf(end)}`)
      case 'lost':
        return failed(broken, `${hook} ${reasonOf(end)}`)
      case 'overloaded':
        return failed('overloaded', reasonOf(end), true)
      case 'unwanted':
      case 'closed':
        return failed('cancelled', reasonOf(end), true)
    }
  }
}

/** null: the function is not at fault. */
function causeOf(end: JobEnd, { kind }: Failure): FailureCause | null {
  if (end.status === 'timeout') return 'timeout'
  if (end.status === 'lost') return 'crash'
  // A bad sample or a judge's bad text is not the function's fault.
  if (end.status !== 'done' || kind === 'bad_sample' || kind === 'judge_out_of_range') return null
  if (end.result.type === 'late' || kind === 'rule_timeout') return 'timeout'
  return end.result.type === 'called' && end.result.error !== undefined ? 'threw' : 'returned'
}

function hashOf(source: FunctionSource, refused: (message: string) => never): string {
  try {
    return source.hash
  } catch (error) {
    if (/^E[MN]FILE$/.test(codeOf(error))) throw error
    return refused(troubleOf(error))
  }
}

const ended = (pool: JobRunner, job: FunctionJob): Promise<JobEnd> => new Promise((end) => pool.run(job, end))

function failed(kind: FailureKind, detail: string, retryable = false): CallResult {
  return { status: 'failed', failure: { kind, retryable, detail } }
}

/** Why a function cannot be used. Throws EMFILE if no file descriptors are left, which is not the function's mistake. */
function usableReason(end: JobEnd): string {
  const reason = reasonOf(end)
  if (/\bE[MN]FILE\b/.test(reason)) throw Object.assign(new Error(reason), { code: 'EMFILE' })
  return reason
}

/** Why a job has no result, in words. */
function reasonOf(end: JobEnd): string {
  switch (end.status) {
    case 'done':
      return end.result.type === 'invalid' ? end.result.reason : 'gave no answer of the right kind'
    case 'timeout':
      return `did not end within ${end.limitMs} ms`
    case 'lost':
      return `ended its worker twice: ${end.reason}`
    case 'overloaded':
      return 'too many calls are waiting for a worker'
    case 'unwanted':
      return 'its request was over before it had begun'
    case 'closed':
      return 'the reward functions are closing'
  }
}

/**
 * Functions of this package that take microseconds: judges that fill a template and read a short reply, and rules that
 * look for one answer. Waking a thread twice was two fifths of the CPU of a judged sample that comes alone
 * (`npm run judged`). Each runs in linear time, and a test checks that. They import the files of `grading` that they need and
 * not its index, which takes 40 ms and 9 MiB of every start (`npm run start-up` in bench/).
 */
export const inPlaceFunctions: ReadonlySet<string> = new Set([
  'choice-match',
  'countdown',
  'critique',
  'decision-judge',
  'exact-match',
  'format-tags',
  'gsm8k',
  'gsm8k-boxed',
  'gsm8k-progressive',
  'gsm8k-stock',
  'listwise-judge',
  'numeric-match',
  'pairwise-judge',
  'rubric-judge',
  'scalar-score',
  'search-em',
  'search-subem',
  'yes-no-judge',
])

/** Maximum characters of a call on the main thread: 1 to 2 ms of work, or 20 ms with hostile texts. */
export const inPlaceLimit: Readonly<Record<Call['op'], number>> = {
  score: 65_536,
  preprocess: 262_144,
  postprocess: 262_144,
  combine: 262_144,
}

/** Time budget in ms of all rules in one turn of the event loop. The threads run the rest. */
const turnMs = 16

/** Deeper ground truths go to the threads. */
const deepest = 4

/**
 * Runs these functions on the main thread. Calls over the limit or the turn's budget go to `threads`, which it does not
 * close. Rules run after the events of a turn, because answers that leave together wake a client once.
 */
export function inPlace(sources: readonly FunctionSource[], threads: JobRunner): JobRunner {
  const functions = loader(sources)
  let isClosed = false
  let rules: Waiting[] = []
  const runRules = () => {
    const turn = rules
    rules = []
    const until = performance.now() + turnMs
    for (const { loaded, job, end, request } of turn) {
      const now = performance.now()
      if (now < until) end(ranHere(loaded, job, now))
      else threads.run(job, end, request)
    }
  }
  return {
    run(job, end, request) {
      const loaded = functions.loaded.get(job.name)
      if (isClosed) end({ status: 'closed' })
      else if (!loaded) void functions.load(job.name).then((fresh) => end(ranHere(fresh, job)))
      else if (job.type === 'call' && isLong(job)) threads.run(job, end, request)
      else if (job.type !== 'call' || job.op !== 'score') end(ranHere(loaded, job))
      else if (rules.push({ loaded, job, end, request }) === 1) setImmediate(runRules)
    },
    async close() {
      isClosed = true
    },
  }
}

interface Waiting {
  readonly loaded: Loaded
  readonly job: FunctionJob
  readonly end: (end: JobEnd) => void
  readonly request: { readonly isOver: boolean } | undefined
}

function ranHere(loaded: Loaded, job: FunctionJob, began = performance.now()): JobEnd {
  const result = runJob(loaded, job, true)
  return { status: 'done', result, ms: performance.now() - began }
}

function isLong({ op, rows, answer }: Extract<FunctionJob, { type: 'call' }>): boolean {
  let left = inPlaceLimit[op]
  for (const { sample, earlier } of rows) {
    left -= sample.response.length + (sample.rmPrompt?.length ?? 0)
    if (typeof sample.prompt === 'string') left -= sample.prompt.length
    else for (const { content } of sample.prompt) left -= content.length
    for (const { content, reasoning = '', toolCalls = [] } of sample.turns ?? []) {
      left -= content.length + reasoning.length
      for (const { arguments: given } of toolCalls) left = lessJson(left, given)
    }
    left = lessJson(left, sample.groundTruth)
    for (const name in earlier) for (const text of earlier[name]?.texts ?? []) left -= text.length
  }
  if (typeof answer === 'object' && 'reply' in answer) return lessJson(left, answer.reply) < 0
  if (typeof answer === 'object' && 'text' in answer && typeof answer.text === 'string')
    left -= answer.text.length
  return left < 0
}

/** Subtracts a value's characters from `left`; negative if the value nests too deep. */
function lessJson(left: number, value: Json, depth = 0): number {
  if (typeof value === 'string') return left - value.length
  if (typeof value !== 'object' || value === null) return left - 1
  if (depth > deepest) return -1
  let rest = left
  for (const [key, item] of Object.entries(value)) {
    if (rest < 0) break
    rest = lessJson(rest - key.length, item, depth + 1)
  }
  return rest
}
