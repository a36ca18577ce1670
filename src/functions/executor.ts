import type { Chunk, ChunkResult } from './job.ts'
import type { Stage } from './progress.ts'

/** A place apart where authors' code runs: a thread or a process. Runs its chunks in turn. */
export interface Executor {
  /** Throws where the chunk cannot be sent. */
  run(chunk: Chunk): void
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
  done(result: ChunkResult): void
  /** It ended by itself. */
  gone(reason: string): void
}

/** Returns at once; `ready` or `gone` tells what came of it. */
export type StartExecutor = (events: ExecutorEvents) => Executor
