import { Piscina } from 'piscina'
import type { Clock } from '../clock.ts'
import type { Chunk, ChunkResult, Job, JobEnd } from './job.ts'
import { type Progress, type Stage, sharedProgress, stageOf } from './progress.ts'
import type { FunctionSource } from './source.ts'

const chunkWorkMs = 2
const chunkJobs = 64
const queueJobs = 65_536
const loadLimitMs = 20_000
const oldGenerationMb = 512

interface Waiting {
  readonly job: Job
  readonly end: (end: JobEnd) => void
  /** How often a worker died while this job ran. */
  deaths: number
}

interface Running {
  readonly place: number
  readonly waiting: readonly Waiting[]
  readonly abort: AbortController
  /** The job that the watch ended the worker for. */
  hung: number | null
  seen: number
  seenAt: number
}

export interface ChunkPoolOptions {
  readonly sources: readonly FunctionSource[]
  readonly threads: number
  readonly sampleTimeoutMs: number
  readonly clock: Clock
  readonly onRestart: (name: string, why: 'timeout' | 'crash') => void
}

/**
 * Jobs in, ends out, by worker threads. What waits when a worker is free is its next chunk, as long as it is
 * expected to be done soon. A job that hangs or kills its worker costs only itself: the others of its chunk run again.
 */
export class ChunkPool {
  readonly #options: ChunkPoolOptions
  readonly #piscina: Piscina<Chunk, ChunkResult>
  readonly #progress: Progress
  readonly #takePlace: () => number
  readonly #running = new Set<Running>()
  readonly #expectedMs = new Map<string, number>()
  #queue: Waiting[] = []
  #head = 0
  #scheduled = false
  #watching = false
  #closing: (() => void) | null = null

  constructor(options: ChunkPoolOptions) {
    const { progress, take } = sharedProgress()
    this.#options = options
    this.#progress = progress
    this.#takePlace = take
    const worker = import.meta.url.endsWith('.ts') ? './worker/worker.ts' : './worker/worker.js'
    this.#piscina = new Piscina({
      filename: new URL(worker, import.meta.url).href,
      name: 'runChunk',
      minThreads: 1,
      maxThreads: options.threads,
      idleTimeout: Number.POSITIVE_INFINITY,
      recordTiming: false,
      resourceLimits: { maxOldGenerationSizeMb: oldGenerationMb },
      workerData: { progress, sources: options.sources },
    })
    this.#piscina.on('error', () => {})
  }

  /** Never rejects. */
  run(job: Job): Promise<JobEnd> {
    if (this.#closing) return Promise.resolve({ status: 'closed' })
    if (this.#queue.length - this.#head >= queueJobs) return Promise.resolve({ status: 'overloaded' })
    return new Promise((end) => {
      this.#queue.push({ job, end, deaths: 0 })
      this.#schedule()
    })
  }

  /** Finishes what it has, then ends the workers. */
  async close(): Promise<void> {
    if (!this.#closing) {
      const idle = new Promise<void>((resolve) => {
        this.#closing = resolve
      })
      this.#closeWhenIdle()
      await idle
    }
    await this.#piscina.destroy()
  }

  #closeWhenIdle(): void {
    if (this.#running.size === 0 && this.#head === this.#queue.length) this.#closing?.()
  }

  #schedule(): void {
    if (this.#scheduled) return
    this.#scheduled = true
    setImmediate(() => {
      this.#scheduled = false
      while (this.#running.size < this.#options.threads && this.#head < this.#queue.length) this.#start()
    })
  }

  #start(): void {
    const waiting = this.#nextChunk()
    const running: Running = {
      place: this.#takePlace(),
      waiting,
      abort: new AbortController(),
      hung: null,
      seen: -1,
      seenAt: 0,
    }
    this.#running.add(running)
    this.#watch()
    this.#piscina
      .run({ place: running.place, jobs: waiting.map(({ job }) => job) }, { signal: running.abort.signal })
      .then(
        ({ results, ms }) => this.#finish(waiting, results, ms),
        (error: unknown) => this.#salvage(running, error),
      )
      .finally(() => {
        this.#running.delete(running)
        this.#schedule()
        if (this.#closing) this.#closeWhenIdle()
      })
  }

  #nextChunk(): Waiting[] {
    const chunk: Waiting[] = []
    let ms = 0
    while (this.#head < this.#queue.length && chunk.length < chunkJobs && ms < chunkWorkMs) {
      const next = this.#queue[this.#head] as Waiting
      if (next.deaths > 0 && chunk.length > 0) break
      ms += next.deaths > 0 ? chunkWorkMs : (this.#expectedMs.get(next.job.name) ?? 0)
      chunk.push(next)
      this.#head++
    }
    if (this.#head === this.#queue.length) {
      this.#queue = []
      this.#head = 0
    } else if (this.#head > 1024 && this.#head * 2 > this.#queue.length) {
      this.#queue = this.#queue.slice(this.#head)
      this.#head = 0
    }
    return chunk
  }

  #finish(waiting: readonly Waiting[], results: ChunkResult['results'], ms: ChunkResult['ms']): void {
    waiting.forEach(({ job, end }, i) => {
      const took = ms[i] as number
      if (job.type === 'call') this.#expect(job.name, took)
      end({ status: 'done', result: results[i] as ChunkResult['results'][number], ms: took })
    })
  }

  #expect(name: string, ms: number): void {
    const before = this.#expectedMs.get(name) ?? ms
    this.#expectedMs.set(name, before + (ms - before) / 8)
  }

  /** The worker is gone: ends the job that it died of where that is settled, and queues the others again, first. */
  #salvage(running: Running, error: unknown): void {
    const stage = stageOf(this.#progress, running.place)
    const at = running.hung ?? ('index' in stage ? stage.index : -1)
    const victim = running.waiting[at]
    const why = running.hung === null ? 'crash' : 'timeout'
    this.#options.onRestart(victim?.job.name ?? '', why)
    const reason = error instanceof Error ? error.message : 'the worker ended'
    const again = running.waiting.filter((waiting, i) => {
      if (i !== at && at !== -1) return true
      if (why === 'timeout') {
        const limitMs = this.#limit(stage)
        this.#expect(waiting.job.name, limitMs)
        waiting.end({ status: 'timeout', limitMs })
        return false
      }
      waiting.deaths++
      if (waiting.deaths < 2) return true
      waiting.end({ status: 'lost', reason })
      return false
    })
    this.#queue = [...again, ...this.#queue.slice(this.#head)]
    this.#head = 0
  }

  #limit(stage: Stage): number {
    return stage.at === 'running' ? this.#options.sampleTimeoutMs : loadLimitMs
  }

  #watch(): void {
    if (this.#watching) return
    this.#watching = true
    const { clock, sampleTimeoutMs } = this.#options
    clock.after(Math.min(Math.max(sampleTimeoutMs / 8, 2), 100), () => {
      this.#watching = false
      for (const running of this.#running) this.#look(running, clock.now())
      if (this.#running.size > 0) this.#watch()
    })
  }

  /** A time limit begins when its job is first seen to run, never at dispatch: a worker may still be starting. */
  #look(running: Running, now: number): void {
    const stage = stageOf(this.#progress, running.place)
    if (!('index' in stage) || running.hung !== null) return
    if (stage.mark !== running.seen) {
      running.seen = stage.mark
      running.seenAt = now
    } else if (now - running.seenAt >= this.#limit(stage)) {
      running.hung = stage.index
      running.abort.abort()
    }
  }
}
