import type { Job, JobEnd } from './job.ts'

const queueJobs = 65_536

/** A chunk ends at `jobs` jobs, or earlier where they are expected to take `workMs`. */
export interface ChunkSize {
  readonly jobs: number
  readonly workMs: number
  /** What waits is shared among this many executors, in chunks that are expected to take at least `leastMs`. */
  readonly shares: number
  readonly leastMs: number
}

/** A job that waits, with its caller. */
export interface Waiting {
  readonly job: Job
  readonly end: (end: JobEnd) => void
  /** How often its executor died while this job ran. */
  deaths: number
}

/** First in, first out, taken in chunks that are expected to be done soon. */
export class ChunkQueue {
  /** What was taken leaves a hole: a request must not be kept until the next trim. */
  #jobs: (Waiting | undefined)[] = []
  #head = 0
  readonly #expectedMs = new Map<string, number>()
  readonly #size: ChunkSize

  constructor(size: ChunkSize) {
    this.#size = size
  }

  get length(): number {
    return this.#jobs.length - this.#head
  }

  get isFull(): boolean {
    return this.length >= queueJobs
  }

  push(waiting: Waiting): void {
    this.#jobs.push(waiting)
  }

  /** Back to the front, in their order. */
  putBack(waiting: readonly Waiting[]): void {
    this.#jobs = [...waiting, ...this.#jobs.slice(this.#head)]
    this.#head = 0
  }

  /** The next chunk. A job that an executor died of runs alone, so that it cannot take others with it again. */
  take(): Waiting[] {
    const { jobs, workMs, shares, leastMs } = this.#size
    const share = Math.ceil(this.length / shares)
    const chunk: Waiting[] = []
    let ms = 0
    while (this.length > 0 && chunk.length < jobs && ms < workMs) {
      if (chunk.length >= share && ms >= leastMs) break
      const next = this.#jobs[this.#head] as Waiting
      if (next.deaths > 0 && chunk.length > 0) break
      ms += next.deaths > 0 ? workMs : (this.#expectedMs.get(next.job.name) ?? 0)
      chunk.push(next)
      this.#jobs[this.#head++] = undefined
    }
    this.#trim()
    return chunk
  }

  /** Learns how long a function takes. One that hung is soon alone in its chunks. */
  learn(name: string, ms: number): void {
    const before = this.#expectedMs.get(name) ?? ms
    this.#expectedMs.set(name, before + (ms - before) / 8)
  }

  #trim(): void {
    if (this.length > 0 && this.#head < 4096) return
    this.#jobs = this.#jobs.slice(this.#head)
    this.#head = 0
  }
}
