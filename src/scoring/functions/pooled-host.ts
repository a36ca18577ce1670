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

/** A function's source, and what runs it. */
export interface PooledFunction {
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
      this.#events({ type: 'call', name, op, ms: end.status === 'done' ? end.ms : 0, status: result.status })
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
    this.#events({ type: 'failed', name, op, cause, failure, error, rows, answer })
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
export function reasonOf(end: JobEnd): string {
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
