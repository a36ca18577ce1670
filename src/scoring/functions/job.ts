import type { Problem } from '../../core/errors.ts'
import type { BoundFunction, Call, CallResult, FunctionDescription } from './function-host.ts'
import type { Stage } from './progress.ts'

/** What a worker is asked to do with one function; a chunk is an array of them. */
export type Job = { readonly name: string } & (
  | { readonly type: 'describe' }
  /** `options` is JSON text: the key of the worker's cache. */
  | { readonly type: 'bind'; readonly options: string }
  | ({ readonly type: 'call'; readonly options: string } & Omit<Call, 'function' | 'request'>)
)

/** What a job gave, as an executor says it. */
export type JobResult =
  | { readonly type: 'described'; readonly description: Omit<FunctionDescription, 'file' | 'hash'> }
  | { readonly type: 'invalid'; readonly reason: string }
  | { readonly type: 'bound'; readonly bound: Omit<BoundFunction, 'name' | 'options'> }
  | { readonly type: 'refused'; readonly problems: readonly Problem[] }
  /** The code was asked to stop at its time limit, and did. */
  | { readonly type: 'late' }
  /** `error`: what the author's code threw, for the event. */
  | { readonly type: 'called'; readonly result: CallResult; readonly error?: string }

/** How a job ended. `lost` jobs were begun twice, and each time the worker died. */
export type JobEnd =
  | { readonly status: 'done'; readonly result: JobResult; readonly ms: number }
  | { readonly status: 'timeout'; readonly limitMs: number }
  | { readonly status: 'lost'; readonly reason: string }
  | { readonly status: 'overloaded' }
  /** Not begun: its request was over. */
  | { readonly status: 'unwanted' }
  | { readonly status: 'closed' }

/** What a worker is given at once. */
export type Chunk = readonly Job[]

/** One result a job, in order, and the milliseconds that each took. */
export interface ChunkResult {
  readonly results: readonly JobResult[]
  readonly ms: readonly number[]
}

/** Runs jobs in this thread, in worker threads or in processes. */
export interface JobRunner {
  /**
   * `end` is called once, whatever happens; perhaps at once. `request`: what waits for the job; where it is over, the job
   * may end as `unwanted`.
   */
  run(job: Job, end: (end: JobEnd) => void, request?: { readonly isOver: boolean }): void
  /** Finishes what it has; what comes later ends as `closed`. */
  close(): Promise<void>
}

/** A place apart where reward functions run: a thread or a process. Runs its chunks in turn. */
export interface Executor {
  /** Gives the number by which `stage` names the chunk. Throws where the chunk cannot be sent. */
  run(chunk: Chunk): number
  /** What it is doing, as far as it has said. */
  stage(): Stage
  /** Lets this process end although the executor lives. */
  rest(): void
  /** Ends it, whatever it does; its events do not come any more. */
  end(): Promise<void>
}

/** What an executor tells its pool. */
export interface ExecutorEvents {
  /** It has loaded its own code and takes a chunk. */
  ready(): void
  /** Of its oldest chunk, or of the first jobs of it where these took long; every part of it is checked. */
  done(result: ChunkResult): void
  /** It ended by itself; `isBroken`: it broke the message with the results of its oldest chunk, and was ended. */
  gone(reason: string, isBroken: boolean): void
}

/** Returns at once; `ready` or `gone` tells what came of it. */
export type StartExecutor = (events: ExecutorEvents) => Executor
