import type { Problem } from '../../core/errors.ts'
import type { BoundFunction, Call, CallResult, FunctionDescription } from './function-host.ts'
import type { Stage } from './progress.ts'

/** One task for one function. An executor runs jobs in chunks. */
export type FunctionJob = { readonly name: string } & (
  | { readonly type: 'describe' }
  /** `options` is JSON text, which is also the key of the executor's cache. */
  | { readonly type: 'bind'; readonly options: string }
  | ({ readonly type: 'call'; readonly options: string } & Omit<Call, 'function' | 'request'>)
)

/** The result of a job, as an executor reports it. */
export type JobResult =
  | { readonly type: 'described'; readonly description: Omit<FunctionDescription, 'file' | 'hash'> }
  | { readonly type: 'invalid'; readonly reason: string }
  | { readonly type: 'bound'; readonly bound: Omit<BoundFunction, 'name' | 'options'> }
  | { readonly type: 'refused'; readonly problems: readonly Problem[] }
  /** The code stopped at its time limit when asked to. */
  | { readonly type: 'late' }
  /** `error`: the exception of the author's code, for the event. */
  | { readonly type: 'called'; readonly result: CallResult; readonly error?: string }

/** How a job ended. `lost`: its executor died both times that it ran. */
export type JobEnd =
  | { readonly status: 'done'; readonly result: JobResult; readonly ms: number }
  | { readonly status: 'timeout'; readonly limitMs: number }
  | { readonly status: 'lost'; readonly reason: string }
  | { readonly status: 'overloaded' }
  /** Never began, because its request was over. */
  | { readonly status: 'unwanted' }
  | { readonly status: 'closed' }

/** The jobs that an executor gets in one message. */
export type Chunk = readonly FunctionJob[]

/** One result for each job, in order, and how many milliseconds each took. */
export interface ChunkResult {
  readonly results: readonly JobResult[]
  readonly ms: readonly number[]
}

/** Runs jobs in process, in worker threads, or in Node or Python processes. */
export interface JobRunner {
  /** Calls `end` exactly once, possibly before it returns. A job whose `request` is over may end as `unwanted`. */
  run(job: FunctionJob, end: (end: JobEnd) => void, request?: { readonly isOver: boolean }): void
  /** Finishes the jobs that it has. Later ones end as `closed`. */
  close(): Promise<void>
}

/** A thread or a process that runs reward functions. It runs its chunks in order. */
export interface Executor {
  /** Returns the number that `stage` uses for the chunk. Throws if the chunk cannot be sent. */
  run(chunk: Chunk): number
  /** Its latest reported progress. */
  stage(): Stage
  /** Allows this process to exit while the executor is alive. */
  rest(): void
  /** Ends it, whatever it is doing. It emits no further events. */
  end(): Promise<void>
}

/** What an executor reports to its pool. */
export interface ExecutorEvents {
  /** It has loaded its own code and accepts a chunk. */
  ready(): void
  /** The checked results of its oldest chunk, or of the first jobs of that chunk if these took long. */
  done(result: ChunkResult): void
  /** It died. `isBroken`: it was killed because the results of its oldest chunk were malformed. */
  gone(reason: string, isBroken: boolean): void
}

/** Returns immediately; `ready` or `gone` follows. */
export type StartExecutor = (events: ExecutorEvents) => Executor
