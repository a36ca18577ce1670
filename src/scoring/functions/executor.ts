import type { Chunk, ChunkResult } from './job.ts'
import type { Stage } from './progress.ts'

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
