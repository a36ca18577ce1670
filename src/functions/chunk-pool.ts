import type { Clock } from '../clock.ts'
import { ChunkQueue, type ChunkSize, type Waiting } from './chunk-queue.ts'
import type { Executor, StartExecutor } from './executor.ts'
import type { ChunkResult, Job, JobEnd, JobResult, JobRunner } from './job.ts'
import type { Stage } from './progress.ts'

const startsTried = 3

/** An executor, what it was given, and what the watch saw of it. */
interface Seat {
  readonly executor: Executor
  isReady: boolean
  /** What it has, the running chunk first. */
  chunks: (readonly Waiting[])[]
  seenMark: number
  seenAt: number
}

/** How many executors, how they are started, and how long their work may take. */
export interface ChunkPoolOptions {
  readonly start: StartExecutor
  /** At most; started as the work needs them. */
  readonly executors: number
  readonly chunk: ChunkSize
  /** Chunks that an executor may have at once: with two, it need not wait for the next one. */
  readonly depth: 1 | 2
  readonly sampleTimeoutMs: number
  /** For what is no call: loading a file, parsing options. */
  readonly loadTimeoutMs: number
  readonly clock: Clock
  readonly onRestart: (name: string, why: 'timeout' | 'crash') => void
}

/**
 * Jobs in, ends out. What waits when an executor is free is its next chunk. A job that hangs or kills its executor
 * costs only itself: the others of its chunk run again, which pure functions do not notice.
 */
export class ChunkPool implements JobRunner {
  readonly #options: ChunkPoolOptions
  readonly #queue: ChunkQueue
  readonly #seats = new Set<Seat>()
  #failedStarts = 0
  #isScheduled = false
  #isWatching = false
  #drained: (() => void) | null = null

  constructor(options: ChunkPoolOptions) {
    this.#options = options
    this.#queue = new ChunkQueue(options.chunk)
  }

  /** `end` is called once, whatever happens. */
  run(job: Job, end: (end: JobEnd) => void): void {
    if (this.#drained) end({ status: 'closed' })
    else if (this.#queue.isFull) end({ status: 'overloaded' })
    else {
      this.#queue.push({ job, end, deaths: 0 })
      this.#schedule()
    }
  }

  /** Finishes what it has, then ends the executors. */
  async close(): Promise<void> {
    if (!this.#drained) {
      const drained = new Promise<void>((resolve) => {
        this.#drained = resolve
      })
      this.#checkDrained()
      await drained
    }
    await Promise.all([...this.#seats].map(({ executor }) => executor.end()))
    this.#seats.clear()
  }

  /** After the events of this turn of the loop, so that requests which came together share a chunk. */
  #schedule(): void {
    if (this.#isScheduled) return
    this.#isScheduled = true
    setImmediate(() => {
      this.#isScheduled = false
      this.#giveAll()
      const isWanted =
        this.#queue.length > 0 || (this.#seats.size === 0 && this.#failedStarts === 0 && !this.#drained)
      if (isWanted) this.#addSeat()
    })
  }

  #addSeat(): void {
    const seats = [...this.#seats]
    if (seats.length >= this.#options.executors || seats.some(({ isReady }) => !isReady)) return
    const executor = this.#options.start({
      ready: () => {
        this.#failedStarts = 0
        seat.isReady = true
        this.#giveAll()
        if (seat.chunks.length === 0) executor.rest()
      },
      done: (result) => {
        this.#finish(seat.chunks.shift() ?? [], result)
        seat.seenMark = -1
        this.#giveAll()
        if (seat.chunks.length === 0) executor.rest()
        this.#checkDrained()
      },
      gone: (reason) => this.#replace(seat, reason),
    })
    const seat: Seat = { executor, isReady: false, chunks: [], seenMark: -1, seenAt: 0 }
    this.#seats.add(seat)
  }

  /** Those that have nothing come first. */
  #giveAll(): void {
    for (let level = 0; level < this.#options.depth; level++) {
      for (const seat of this.#seats) {
        if (seat.isReady && seat.chunks.length === level && this.#queue.length > 0) this.#give(seat)
      }
    }
  }

  #give(seat: Seat): void {
    const chunk = this.#queue.take()
    try {
      seat.executor.run(chunk.map(({ job }) => job))
    } catch {
      this.#refuse(chunk)
      return
    }
    seat.chunks.push(chunk)
    this.#watch()
  }

  /** One of the jobs cannot be copied: each is tried alone. */
  #refuse(chunk: readonly Waiting[]): void {
    if (chunk.length === 1) {
      for (const { end } of chunk) end({ status: 'lost', reason: 'its rows cannot be copied' })
      return
    }
    for (const waiting of chunk) waiting.deaths++
    this.#queue.putBack(chunk)
    this.#schedule()
  }

  #finish(chunk: readonly Waiting[], { results, ms }: ChunkResult): void {
    chunk.forEach(({ job, end }, i) => {
      const took = ms[i] as number
      if (job.type === 'call') this.#queue.learn(job.name, took)
      end({ status: 'done', result: results[i] as JobResult, ms: took })
    })
  }

  /** The executor died by itself: the job that it was at may have been the reason, and runs once more, alone. */
  #replace(seat: Seat, reason: string): void {
    const stage = seat.executor.stage()
    const [chunk = []] = seat.chunks
    const victim = 'index' in stage ? chunk[stage.index] : undefined
    if (!seat.isReady && ++this.#failedStarts >= startsTried) {
      while (this.#queue.length > 0) for (const { end } of this.#queue.take()) end({ status: 'lost', reason })
    }
    const suspects = victim ? [victim] : chunk
    const lost = suspects.filter((suspect) => ++suspect.deaths > 1)
    this.#remove(seat, lost, 'crash', victim?.job.name)
    for (const { end } of lost) end({ status: 'lost', reason })
  }

  /** Takes a dead executor out and queues again what it had, but for the jobs that have ended. */
  #remove(seat: Seat, ended: readonly Waiting[], why: 'timeout' | 'crash', name = ''): void {
    this.#seats.delete(seat)
    this.#queue.putBack(seat.chunks.flat().filter((waiting) => !ended.includes(waiting)))
    this.#options.onRestart(name, why)
    this.#schedule()
    this.#checkDrained()
  }

  #watch(): void {
    if (this.#isWatching) return
    this.#isWatching = true
    const { clock, sampleTimeoutMs } = this.#options
    clock.after(Math.min(Math.max(sampleTimeoutMs / 8, 2), 100), () => {
      this.#isWatching = false
      const busy = [...this.#seats].filter(({ chunks }) => chunks.length > 0)
      for (const seat of busy) this.#look(seat, clock.now())
      if (busy.length > 0) this.#watch()
    })
  }

  /** A time limit begins when its job is first seen to run, never at dispatch. */
  #look(seat: Seat, now: number): void {
    const stage = seat.executor.stage()
    if (stage.at === 'idle') return
    if (stage.mark !== seat.seenMark) {
      seat.seenMark = stage.mark
      seat.seenAt = now
    } else if (now - seat.seenAt >= this.#limit(stage)) {
      this.#endHung(seat, stage)
    }
  }

  #endHung(seat: Seat, stage: Extract<Stage, { index: number }>): void {
    const victim = seat.chunks[0]?.[stage.index]
    if (!victim) return
    const limitMs = this.#limit(stage)
    void seat.executor.end()
    this.#queue.learn(victim.job.name, limitMs)
    this.#remove(seat, [victim], 'timeout', victim.job.name)
    victim.end({ status: 'timeout', limitMs })
  }

  #limit(stage: Stage): number {
    return stage.at === 'running' ? this.#options.sampleTimeoutMs : this.#options.loadTimeoutMs
  }

  #checkDrained(): void {
    if (this.#queue.length === 0 && [...this.#seats].every(({ chunks }) => chunks.length === 0))
      this.#drained?.()
  }
}
