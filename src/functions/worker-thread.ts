import { Worker } from 'node:worker_threads'
import type { Chunk, ChunkResult } from './job.ts'
import { idleProgress, type Progress } from './progress.ts'
import type { FunctionSource } from './source.ts'

const oldGenerationMb = 512
const file = new URL(
  import.meta.url.endsWith('.ts') ? './worker/worker.ts' : './worker/worker.js',
  import.meta.url,
)

/** What a thread tells its pool. */
export interface ThreadEvents {
  /** It has loaded its own code and takes a chunk. */
  ready(): void
  done(result: ChunkResult): void
  /** It ended by itself. */
  gone(reason: string): void
}

/** One worker thread: at most one chunk at a time. It keeps the process alive only while it has one. */
export class WorkerThread {
  readonly progress: Progress = idleProgress()
  readonly #worker: Worker
  #reason = ''
  #isEnded = false

  constructor(sources: readonly FunctionSource[], events: ThreadEvents) {
    this.#worker = new Worker(file, {
      workerData: { progress: this.progress, sources },
      resourceLimits: { maxOldGenerationSizeMb: oldGenerationMb },
    })
    this.#worker.on('message', (message: ChunkResult | 'ready') => {
      if (this.#isEnded) return
      if (message === 'ready') return events.ready()
      this.#worker.unref()
      events.done(message)
    })
    this.#worker.on('error', (error) => {
      this.#reason = error.message
    })
    this.#worker.on('exit', (code) => {
      if (!this.#isEnded) events.gone(this.#reason || `exit code ${code}`)
    })
  }

  /** Throws where the chunk cannot be copied. */
  run(chunk: Chunk): void {
    this.#worker.ref()
    this.#worker.postMessage(chunk)
  }

  /** Lets the process end although the thread lives. */
  rest(): void {
    this.#worker.unref()
  }

  /** Ends the thread, whatever it does; `done` and `gone` are not called any more. */
  async end(): Promise<void> {
    this.#isEnded = true
    await this.#worker.terminate()
  }
}
