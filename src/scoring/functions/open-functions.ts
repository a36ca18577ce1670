import { availableParallelism } from 'node:os'
import { dirname } from 'node:path'
import { type Clock, systemClock } from '../../core/clock.ts'
import { GatewayError } from '../../core/errors.ts'
import { ChunkPool, type ChunkPoolOptions } from './chunk-pool.ts'
import { discover, type FunctionSource } from './discover.ts'
import type { FunctionEvents, FunctionHost } from './function-host.ts'
import type { JobRunner } from './job.ts'
import { inPlace, inPlaceFunctions, PooledHost } from './pooled-host.ts'
import { nodeProcesses, type PythonSettings, pythonProcesses } from './process-executor.ts'
import { workerThreads } from './thread-executor.ts'

/** Where to find functions, and the resources to run them. */
interface FunctionHostOptions {
  /** Users' folders, in addition to the package's own functions. */
  readonly folders: readonly string[]
  /**
   * Maximum worker threads for the package's own functions, and Node processes for each user folder. Default: one fewer
   * than the cores, at most four.
   */
  readonly threads?: number
  /** Private memory of one Node process in MiB; 1024 by default. */
  readonly memoryMb?: number
  /** Time limit of one call of author's code. */
  readonly sampleTimeoutMs: number
  /** Time limit of a start of a process or thread, and of loading one of its files. Default: 20 s, and 120 s for Python. */
  readonly loadTimeoutMs?: number
  readonly python?: PythonSettings
  readonly clock?: Clock
  readonly events?: FunctionEvents
}

/** Functions that a reload can take threads from. */
export interface OpenFunctions extends FunctionHost {
  readonly own: OwnThreads
}

/**
 * Finds all functions and loads the users' own. Throws RG_FUNCTION_INVALID with every mistake in their files. The package's
 * functions load on first use, because most rewards use two of forty. `before`: those before a reload, which are still open.
 */
export async function openFunctions(
  options: FunctionHostOptions,
  before?: OpenFunctions,
): Promise<OpenFunctions> {
  const { sources: found, problems } = await discover(options.folders)
  const users = found.filter(({ loader }) => loader !== 'native')
  const events = options.events ?? {}
  const own = ownThreads(options, found, events, before?.own)
  const sources = [...own.sources, ...users]
  const pools = openPools(options, own, users, events)
  const functions = new Map(
    sources.map((source) => [source.name, { source, pool: pools.get(source.name) as JobRunner }]),
  )
  const host = new PooledHost(functions, events, options.sampleTimeoutMs, options.folders)
  for (const load of await Promise.allSettled(users.map(({ name }) => host.describe(name)))) {
    if (load.status === 'fulfilled') continue
    if (!(load.reason instanceof GatewayError)) {
      await host.close()
      throw load.reason
    }
    problems.push(...load.reason.problems)
  }
  if (problems.length === 0) return Object.assign(host, { own })
  await host.close()
  throw new GatewayError('RG_FUNCTION_INVALID', 'reward functions cannot be used', { problems })
}

/**
 * Threads for the package's own functions. These do not change while the process runs, so a reload keeps the threads and what V8 has
 * compiled in them.
 */
interface OwnThreads {
  /** The options that they were started with, as JSON text. */
  readonly settings: string
  readonly sources: readonly FunctionSource[]
  readonly pool: ChunkPool
  /** The hosts that use them. The last one that closes ends them. */
  users: number
}

function ownThreads(
  options: FunctionHostOptions,
  found: readonly FunctionSource[],
  events: FunctionEvents,
  before: OwnThreads | undefined,
): OwnThreads {
  const limits = limitsOf(options, events)
  const executors = threadsOf(options)
  const settings = JSON.stringify([executors, limits.sampleTimeoutMs, limits.loadTimeoutMs])
  if (before?.settings === settings) return before
  const sources = found.filter(({ loader }) => loader === 'native')
  const start = workerThreads(sources)
  const pool = new ChunkPool({ ...limits, start, executors, chunk: chunkFor(executors), depth: 1 })
  return { settings, sources, pool, users: 0 }
}

/** What one host sees of the threads: once it closes, it waits for its own jobs, and its later ones end as `closed`. */
function leased(threads: OwnThreads): JobRunner {
  threads.users += 1
  let [active, isClosed] = [0, false]
  let idle = (): void => {}
  return {
    run(job, end, request) {
      if (isClosed) return end({ status: 'closed' })
      active += 1
      threads.pool.run(
        job,
        (ended) => {
          active -= 1
          end(ended)
          if (active === 0) idle()
        },
        request,
      )
    },
    async close() {
      if (isClosed) return
      isClosed = true
      if (active > 0)
        await new Promise<void>((resolve) => {
          idle = resolve
        })
      threads.users -= 1
      if (threads.users === 0) await threads.pool.close()
    },
  }
}

/**
 * Function name -> what runs it: this thread or worker threads for the package's own functions, and separate processes for
 * each folder of users' code.
 */
function openPools(
  options: FunctionHostOptions,
  own: OwnThreads,
  users: readonly FunctionSource[],
  events: FunctionEvents,
): Map<string, JobRunner> {
  const { memoryMb, python = {}, sampleTimeoutMs, loadTimeoutMs } = options
  const limits = limitsOf(options, events)
  const pools = new Map<string, JobRunner>()
  const threads = leased(own)
  const here = inPlace(own.sources, threads)
  for (const { name } of own.sources) pools.set(name, inPlaceFunctions.has(name) ? here : threads)
  for (const group of byFolder(users, 'jiti')) {
    const [start, executors] = [nodeProcesses(group, memoryMb), threadsOf(options)]
    const pool = new ChunkPool({ ...limits, start, executors, chunk: chunkFor(executors), depth: 2 })
    for (const { name } of group) pools.set(name, pool)
  }
  for (const group of byFolder(users, 'python')) {
    const executors = python.processes ?? 2
    const pool = new ChunkPool({
      ...limits,
      start: pythonProcesses(group, python, sampleTimeoutMs),
      executors,
      chunk: { jobs: 256, workMs: 20, shares: executors, leastMs: 2 },
      depth: 2,
      loadTimeoutMs: loadTimeoutMs ?? 120_000,
    })
    for (const { name } of group) pools.set(name, pool)
  }
  return pools
}

function limitsOf(
  { sampleTimeoutMs, loadTimeoutMs = 20_000, clock = systemClock }: FunctionHostOptions,
  events: FunctionEvents,
) {
  return {
    sampleTimeoutMs,
    loadTimeoutMs,
    clock,
    onRestart: (name, why) => events.restarted?.({ name, why }),
  } satisfies Partial<ChunkPoolOptions>
}

const threadsOf = ({ threads }: FunctionHostOptions): number =>
  threads ?? Math.min(4, Math.max(1, availableParallelism() - 1))

const chunkFor = (executors: number) => ({ jobs: 256, workMs: 2, shares: executors, leastMs: 1 })

/** Groups the functions of one language by folder. */
function byFolder(
  sources: readonly FunctionSource[],
  language: FunctionSource['loader'],
): Iterable<readonly FunctionSource[]> {
  const folders = new Map<string, FunctionSource[]>()
  for (const source of sources) {
    if (source.loader !== language) continue
    const folder = dirname(source.file)
    const group = folders.get(folder)
    if (group) group.push(source)
    else folders.set(folder, [source])
  }
  return folders.values()
}
