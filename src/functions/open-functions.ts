import { availableParallelism } from 'node:os'
import { type Clock, systemClock } from '../clock.ts'
import { GatewayError } from '../errors.ts'
import { ChunkPool, type ChunkPoolOptions } from './chunk-pool.ts'
import { discover } from './discover.ts'
import type { FunctionEvents } from './events.ts'
import type { FunctionHost } from './function-host.ts'
import { inPlace, inPlaceFunctions } from './in-place.ts'
import type { JobRunner } from './job.ts'
import { PooledHost } from './pooled-host.ts'
import { type PythonSettings, pythonProcesses } from './python-process.ts'
import type { FunctionSource } from './source.ts'
import { workerThreads } from './worker-thread.ts'

/** Where functions are looked for, and what may run them. */
export interface FunctionHostOptions {
  /** Users' folders, searched beside the package's own functions. */
  readonly folders: readonly string[]
  /** Worker threads at most; by default one fewer than the machine's cores, at most four. */
  readonly threads?: number
  /** How long author's code may take for one call. */
  readonly sampleTimeoutMs: number
  readonly python?: PythonSettings
  readonly clock?: Clock
  readonly events?: FunctionEvents
}

/**
 * Finds every function and loads the users' own; throws RG_FUNCTION_INVALID with all that is wrong with their files. The
 * package's functions load when they are first asked for: most rewards use two of forty.
 */
export async function openFunctions(options: FunctionHostOptions): Promise<FunctionHost> {
  const { sources, problems } = discover(options.folders)
  const events = options.events ?? (() => {})
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

/** Function name -> what runs it: threads, Python processes where there are Python files, or this thread. */
function openPools(
  { threads, python = {}, sampleTimeoutMs, clock = systemClock }: FunctionHostOptions,
  sources: readonly FunctionSource[],
  events: FunctionEvents,
): Map<string, JobRunner> {
  const shared = {
    sampleTimeoutMs,
    clock,
    onRestart: (name, why) => events({ type: 'worker_restarted', name, why }),
  } satisfies Partial<ChunkPoolOptions>
  const threadCount = threads ?? Math.min(4, Math.max(1, availableParallelism() - 1))
  const processCount = python.processes ?? 2
  const inPython = sources.filter(({ loader }) => loader === 'python')
  const inThreads = sources.filter(({ loader }) => loader !== 'python')
  const threadPool = new ChunkPool({
    ...shared,
    start: workerThreads(inThreads),
    executors: threadCount,
    chunk: { jobs: 256, workMs: 2, shares: threadCount, leastMs: 1 },
    depth: 1,
    loadTimeoutMs: 20_000,
  })
  const pythonPool = new ChunkPool({
    ...shared,
    start: pythonProcesses(inPython, python, sampleTimeoutMs),
    executors: processCount,
    chunk: { jobs: 256, workMs: 20, shares: processCount, leastMs: 2 },
    depth: 2,
    loadTimeoutMs: 120_000,
  })
  const here = inPlace(sources, threadPool)
  return new Map(
    sources.map(({ name, loader }) => {
      if (loader === 'python') return [name, pythonPool]
      return [name, loader === 'native' && inPlaceFunctions.has(name) ? here : threadPool]
    }),
  )
}
