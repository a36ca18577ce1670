import { availableParallelism } from 'node:os'
import { type Clock, systemClock } from '../clock.ts'
import { GatewayError, type Problem } from '../errors.ts'
import type { Json } from '../sample/json.ts'
import { ChunkPool } from './chunk-pool.ts'
import { discover } from './discover.ts'
import type { FunctionEvents } from './events.ts'
import type { BoundFunction, Call, CallResult, FunctionDescription, FunctionHost } from './function-host.ts'
import type { JobEnd } from './job.ts'
import { nearestNames } from './nearest-names.ts'
import type { FunctionSource } from './source.ts'

export interface FunctionHostOptions {
  /** Users' folders, searched beside the package's own functions. */
  readonly folders: readonly string[]
  /** Worker threads at most; by default one fewer than the machine's cores, at most four. */
  readonly threads?: number
  /** How long author's code may take for one call. */
  readonly sampleTimeoutMs: number
  readonly clock?: Clock
  readonly events?: FunctionEvents
}

/** Finds and loads every function; throws RG_FUNCTION_INVALID with all that is wrong with the files. */
export async function openFunctions(options: FunctionHostOptions): Promise<FunctionHost> {
  const { sources, problems } = discover(options.folders)
  const events = options.events ?? (() => {})
  const pool = new ChunkPool({
    sources,
    threads: options.threads ?? Math.min(4, Math.max(1, availableParallelism() - 1)),
    sampleTimeoutMs: options.sampleTimeoutMs,
    clock: options.clock ?? systemClock,
    onRestart: (name, why) => events({ type: 'worker_restarted', name, why }),
  })
  const functions = new Map<string, FunctionDescription>()
  const ends = await Promise.all(sources.map((source) => pool.run({ type: 'describe', name: source.name })))
  ends.forEach((end, i) => {
    const source = sources[i] as FunctionSource
    if (end.status === 'done' && end.result.type === 'described') {
      functions.set(source.name, { ...end.result.description, file: source.file, hash: source.hash })
    } else {
      problems.push({ path: source.file, message: reasonOf(end) })
    }
  })
  if (problems.length > 0) {
    await pool.close()
    throw new GatewayError('RG_FUNCTION_INVALID', 'reward functions cannot be used', { problems })
  }
  return new WorkerHost(pool, functions, events)
}

class WorkerHost implements FunctionHost {
  readonly functions: ReadonlyMap<string, FunctionDescription>
  readonly #pool: ChunkPool
  readonly #events: FunctionEvents
  readonly #optionTexts = new WeakMap<BoundFunction, string>()

  constructor(pool: ChunkPool, functions: ReadonlyMap<string, FunctionDescription>, events: FunctionEvents) {
    this.#pool = pool
    this.functions = functions
    this.#events = events
  }

  async bind(name: string, options: Json): Promise<BoundFunction> {
    if (!this.functions.has(name)) {
      const near = nearestNames(name, [...this.functions.keys()])
      const hint = near.length > 0 ? `; did you mean ${near.join(' or ')}?` : ''
      throw new GatewayError('RG_FUNCTION_INVALID', `there is no reward function '${name}'${hint}`)
    }
    const end = await this.#pool.run({ type: 'bind', name, options: JSON.stringify(options) })
    if (end.status === 'done' && end.result.type === 'bound') return { name, options, ...end.result.bound }
    const problems: readonly Problem[] =
      end.status === 'done' && end.result.type === 'refused'
        ? end.result.problems
        : [{ path: '', message: reasonOf(end) }]
    throw new GatewayError('RG_OPTIONS_INVALID', `the options of '${name}' are wrong`, { problems })
  }

  async call({ op, function: bound, rows, answer }: Call): Promise<CallResult> {
    const { name } = bound
    let options = this.#optionTexts.get(bound)
    if (options === undefined) {
      options = JSON.stringify(bound.options)
      this.#optionTexts.set(bound, options)
    }
    const end = await this.#pool.run({
      type: 'call',
      name,
      op,
      options,
      rows,
      ...(answer !== undefined && { answer }),
    })
    const result = this.#resultOf(end, name, op)
    this.#events({ type: 'call', name, op, ms: end.status === 'done' ? end.ms : 0, status: result.status })
    return result
  }

  close(): Promise<void> {
    return this.#pool.close()
  }

  #resultOf(end: JobEnd, name: string, op: Call['op']): CallResult {
    const hook = op === 'score' ? 'score' : `rm_${op}`
    const broken = op === 'score' ? 'rule_error' : 'function_error'
    switch (end.status) {
      case 'done': {
        if (end.result.type !== 'called') return failed(broken, `${name} ${reasonOf(end)}`)
        const { result, error } = end.result
        if (error !== undefined) this.#events({ type: 'threw', name, op, error })
        return result
      }
      case 'timeout':
        this.#events({ type: 'timeout', name, limitMs: end.limitMs })
        return failed(op === 'score' ? 'rule_timeout' : 'function_error', `${hook} ${reasonOf(end)}`)
      case 'lost':
        return failed(broken, `${hook} ${reasonOf(end)}`)
      case 'overloaded':
        return failed('overloaded', reasonOf(end), true)
      case 'closed':
        return failed('cancelled', reasonOf(end), true)
    }
  }
}

function failed(
  kind: Extract<CallResult, { status: 'failed' }>['failure']['kind'],
  detail: string,
  retryable = false,
): CallResult {
  return { status: 'failed', failure: { kind, retryable, detail } }
}

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
    case 'closed':
      return 'the reward functions are closing'
  }
}
