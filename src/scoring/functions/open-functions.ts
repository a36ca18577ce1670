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

/**
 * Finds all functions and loads the users' own. Throws RG_FUNCTION_INVALID with every mistake in their files. The package's
 * functions load on first use, because most rewards use two of forty.
 */
export async function openFunctions(options: FunctionHostOptions): Promise<FunctionHost> {
  const { sources, problems } = await discover(options.folders)
  const events = options.events ?? {}
  const pools = openPools(options, sources, events)
  const functions = new Map(
    sources.map((source) => [source.name, { source, pool: pools.get(source.name) as JobRunner }]),
  )
  const host = new PooledHost(functions, events, options.sampleTimeoutMs, options.folders)
  const users = sources.filter(({ loader }) => loader !== 'native')
  for (const load of await Promise.allSettled(users.map(({ name }) => host.describe(name)))) {
    if (load.status === 'fulfilled') continue
    if (!(load.reason instanceof GatewayError)) throw load.reason
    problems.push(...load.reason.problems)
  }
  if (problems.length === 0) return host
  await host.close()
  throw new GatewayError('RG_FUNCTION_INVALID', 'reward functions cannot be used', { problems })
}

/**
 * Function name -> what runs it: this thread or worker threads for the package's own functions, and separate processes for
 * each folder of users' code.
 */
function openPools(
  {
    threads,
    memoryMb,
    python = {},
    sampleTimeoutMs,
    loadTimeoutMs,
    clock = systemClock,
  }: FunctionHostOptions,
  sources: readonly FunctionSource[],
  events: FunctionEvents,
): Map<string, JobRunner> {
  const shared = {
    sampleTimeoutMs,
    loadTimeoutMs: loadTimeoutMs ?? 20_000,
    clock,
    onRestart: (name, why) => events.restarted?.({ name, why }),
  } satisfies Partial<ChunkPoolOptions>
  const count = threads ?? Math.min(4, Math.max(1, availableParallelism() - 1))
  const chunk = { jobs: 256, workMs: 2, shares: count, leastMs: 1 }
  const pools = new Map<string, JobRunner>()
  const own = sources.filter(({ loader }) => loader === 'native')
  const start = workerThreads(own)
  const pool = new ChunkPool({ ...shared, start, executors: count, chunk, depth: 1 })
  const here = inPlace(own, pool)
  for (const { name } of own) pools.set(name, inPlaceFunctions.has(name) ? here : pool)
  for (const group of byFolder(sources, 'jiti')) {
    const start = nodeProcesses(group, memoryMb)
    const pool = new ChunkPool({ ...shared, start, executors: count, chunk, depth: 2 })
    for (const { name } of group) pools.set(name, pool)
  }
  for (const group of byFolder(sources, 'python')) {
    const executors = python.processes ?? 2
    const pool = new ChunkPool({
      ...shared,
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
