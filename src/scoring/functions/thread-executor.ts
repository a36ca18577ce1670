import { Worker } from 'node:worker_threads'
import { packChunk, type ResultMessage, unpackResults } from './chunk-message.ts'
import type { FunctionSource } from './discover.ts'
import type { Chunk, Executor, ExecutorEvents, StartExecutor } from './job.ts'
import { idleProgress, type Stage, stageOf } from './progress.ts'

const oldGenerationMb = 512
const file = new URL(
  import.meta.url.endsWith('.ts') ? './worker/thread.ts' : './worker/thread.js',
  import.meta.url,
)

/** Starts threads for the package's own functions. Users' code runs in processes. */
export function workerThreads(sources: readonly FunctionSource[]): StartExecutor {
  const used: Used = new Map()
  return (events) => new WorkerThread(sources, used, events)
}

/** Functions that any thread has run, with the options of the last call. */
type Used = Map<string, string>

class WorkerThread implements Executor {
  readonly #progress = idleProgress()
  readonly #worker: Worker
  /** A new thread loads and warms these before it takes rows, which the others run meanwhile. */
  readonly #used: Used
  #reason = ''
  #sent = 0
  #isEnded = false

  constructor(sources: readonly FunctionSource[], used: Used, events: ExecutorEvents) {
    this.#used = used
    this.#worker = new Worker(file, {
      workerData: { progress: this.#progress, sources, used: [...used] },
      // Otherwise what this process preloads (a debugger, a test runner, an SDK) would load in each thread too, at twice the cost of its start.
      execArgv: [],
      env: { ...process.env, NODE_OPTIONS: '' },
      resourceLimits: { maxOldGenerationSizeMb: oldGenerationMb },
    })
    this.#worker.on('message', (message: ResultMessage | 'ready') => {
      if (this.#isEnded) return
      if (message === 'ready') events.ready()
      else events.done(unpackResults(message))
    })
    this.#worker.on('error', (error) => {
      this.#reason = error.message
    })
    this.#worker.on('exit', (code) => {
      if (!this.#isEnded) events.gone(this.#reason || `exit code ${code}`, false)
    })
  }

  run(chunk: Chunk): number {
    this.#worker.ref()
    for (const job of chunk) if (job.type === 'call') this.#used.set(job.name, job.options)
    this.#worker.postMessage(packChunk(chunk))
    return ++this.#sent
  }

  stage(): Stage {
    return stageOf(this.#progress)
  }

  rest(): void {
    this.#worker.unref()
  }

  async end(): Promise<void> {
    this.#isEnded = true
    await this.#worker.terminate()
  }
}
