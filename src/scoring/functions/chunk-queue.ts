import type { Job, JobEnd } from './job.ts'

/** Jobs that wait in one line at most. */
const lineJobs = 65_536

/** Jobs that may never end get a share of their function's time that is smaller by this. */
const slowShare = 4

/** A chunk ends at `jobs` jobs, or earlier where they are expected to take `workMs`. */
export interface ChunkSize {
  readonly jobs: number
  readonly workMs: number
  /** What waits is shared among this many executors, in chunks that are expected to take at least `leastMs`. */
  readonly shares: number
  readonly leastMs: number
}

/** Jobs that take turns with those of other lines. */
export interface Line {
  /** The one function of this line; null: all that are quick. */
  readonly name: string | null
  /** Of the function's jobs that took longer than a slice. */
  readonly isSlow: boolean
  readonly jobs: JobList
  /** Milliseconds of executors' time that it has used; the line that has used least comes next. */
  spentMs: number
}

/**
 * What waits, in lines that take turns by the time that they use: one for all quick functions, and one for each function
 * whose jobs fill a chunk alone or that hung lately. So a slow function delays no other by more than a job.
 */
export class ChunkQueue {
  readonly #quick: Line = { name: null, isSlow: false, jobs: new JobList(), spentMs: 0 }
  readonly #apart = new Map<string, Line>()
  readonly #slow = new Map<string, Line>()
  readonly #expectedMs = new Map<string, number>()
  readonly #suspectUntil = new Map<string, number>()
  readonly #size: ChunkSize
  readonly #now: () => number
  /** No line is further behind another than this. */
  readonly #mostBehindMs: number

  constructor(size: ChunkSize, now: () => number, mostBehindMs: number) {
    this.#size = size
    this.#now = now
    this.#mostBehindMs = mostBehindMs
  }

  get length(): number {
    let length = this.#quick.jobs.length
    for (const { jobs } of this.#apart.values()) length += jobs.length
    for (const { jobs } of this.#slow.values()) length += jobs.length
    return length
  }

  /** False where the job's line is full. */
  push(waiting: Waiting): boolean {
    const line = this.#lineOf(waiting)
    if (line.jobs.length >= lineJobs) return false
    if (line.jobs.length === 0) this.#catchUp(line)
    line.jobs.push(waiting)
    return true
  }

  /** Back to the front of their lines, in their order. */
  putBack(waiting: readonly Waiting[]): void {
    const lines = new Map<Line, Waiting[]>()
    for (const one of waiting) {
      const line = this.#lineOf(one)
      const back = lines.get(line)
      if (back) back.push(one)
      else lines.set(line, [one])
    }
    for (const [line, back] of lines) line.jobs.putBack(back)
  }

  /** The line that comes next, of those with jobs that `may` run now. */
  next(may: (line: Line) => boolean): Line | null {
    let best: Line | null = this.#quick.jobs.length > 0 && may(this.#quick) ? this.#quick : null
    for (const lines of [this.#apart, this.#slow])
      for (const line of lines.values())
        if (line.jobs.length > 0 && line.spentMs < (best?.spentMs ?? Number.POSITIVE_INFINITY) && may(line))
          best = line
    return best
  }

  /**
   * The next chunk of a line. A job that an executor died of runs alone, so that it cannot take others with it again.
   * `drop`: of each job that nobody waits for any more.
   */
  take({ jobs: line }: Line, drop: (waiting: Waiting) => void): Waiting[] {
    const { jobs, workMs, shares, leastMs } = this.#size
    const share = Math.ceil(line.length / shares)
    const chunk: Waiting[] = []
    let ms = 0
    while (chunk.length < jobs && ms < workMs) {
      if (chunk.length >= share && ms >= leastMs) break
      const next = line.first
      if (!next) break
      const isAlone = next.deaths > 0 || next.strays > 0 || next.isSlow
      if (isAlone && chunk.length > 0) break
      line.shift()
      if (next.request?.isOver) {
        drop(next)
        continue
      }
      ms += isAlone ? workMs : (this.#expectedMs.get(next.job.name) ?? 0)
      chunk.push(next)
    }
    return chunk
  }

  /** Learns how long a function takes. */
  learn(name: string, ms: number): void {
    const before = this.#expectedMs.get(name) ?? ms
    const expected = before + (ms - before) / 8
    this.#expectedMs.set(name, expected)
    // Once a row: mostly no function has a line of its own.
    if (this.#apart.size > 0 || expected >= this.#size.workMs) this.#sort(name)
  }

  /** The executors' time that a line has used. */
  spend(line: Line, ms: number): void {
    line.spentMs += line.isSlow ? slowShare * ms : ms
    if (this.#apart.size + this.#slow.size === 0) return
    line.spentMs = Math.min(line.spentMs, this.#leastSpent() + this.#mostBehindMs)
  }

  /** The function hung just now, for `spentMs`: for a while it gets no more than one executor. */
  suspect(name: string, forMs: number, spentMs: number, isSlow = false): void {
    this.#suspectUntil.set(name, this.#now() + forMs)
    this.#sort(name)
    const line = (isSlow ? this.#slow : this.#apart).get(name)
    if (line) this.spend(line, spentMs)
  }

  /** Whether the function of this line hung lately. */
  isSuspect({ name }: Line): boolean {
    return name !== null && this.#hungLately(name)
  }

  /** Whether a job of the function fills a chunk alone; one that has a line of its own keeps it a little longer. */
  #isLong(name: string): boolean {
    const expected = this.#expectedMs.get(name) ?? 0
    return expected >= (this.#apart.has(name) ? this.#size.workMs / 2 : this.#size.workMs)
  }

  #hungLately(name: string): boolean {
    const until = this.#suspectUntil.get(name)
    if (until === undefined) return false
    if (this.#now() < until) return true
    this.#suspectUntil.delete(name)
    return false
  }

  #lineOf({ job: { name }, isSlow }: Waiting): Line {
    if (isSlow) return this.#slowLineOf(name)
    return (this.#apart.size > 0 ? this.#apart.get(name) : undefined) ?? this.#quick
  }

  #slowLineOf(name: string): Line {
    let line = this.#slow.get(name)
    if (!line) {
      line = { name, isSlow: true, jobs: new JobList(), spentMs: 0 }
      this.#slow.set(name, line)
    }
    return line
  }

  /** Gives the function a line of its own where it needs one, or takes it away. */
  #sort(name: string): void {
    const own = this.#apart.get(name)
    if ((this.#isLong(name) || this.#hungLately(name)) === (own !== undefined)) return
    if (own) {
      this.#apart.delete(name)
      for (let waiting = own.jobs.first; waiting; waiting = own.jobs.first) {
        own.jobs.shift()
        this.#quick.jobs.push(waiting)
      }
      return
    }
    const line: Line = { name, isSlow: false, jobs: new JobList(), spentMs: 0 }
    this.#catchUp(line)
    this.#apart.set(name, line)
    line.jobs.putBack(this.#quick.jobs.takeOut(name))
  }

  /** A line that had nothing to do has saved nothing up. */
  #catchUp(line: Line): void {
    line.spentMs = Math.max(line.spentMs, this.#leastSpent())
  }

  #leastSpent(): number {
    let least = this.#quick.jobs.length > 0 ? this.#quick.spentMs : Number.POSITIVE_INFINITY
    for (const lines of [this.#apart, this.#slow])
      for (const { jobs, spentMs } of lines.values()) if (jobs.length > 0) least = Math.min(least, spentMs)
    return Number.isFinite(least) ? least : this.#quick.spentMs
  }
}

/** A job that waits, with its caller. */
export interface Waiting {
  readonly job: Job
  readonly end: (end: JobEnd) => void
  /** What waits for the job's end; one that nobody waits for any more is not begun. */
  readonly request: { readonly isOver: boolean } | undefined
  /** How often its executor died while this job ran, or broke the message with its result. */
  deaths: number
  /** How often its executor died before this job had begun, as far as can be told. */
  strays: number
  /** It took longer than a slice, and gets its whole time limit beside the other jobs of its function. */
  isSlow: boolean
}

/** First in, first out. */
export class JobList {
  /** What was taken leaves a hole: a request must not be kept until the next trim. */
  #jobs: (Waiting | undefined)[] = []
  #head = 0

  get length(): number {
    return this.#jobs.length - this.#head
  }

  get first(): Waiting | undefined {
    return this.#jobs[this.#head]
  }

  push(waiting: Waiting): void {
    this.#jobs.push(waiting)
  }

  shift(): void {
    this.#jobs[this.#head++] = undefined
    if (this.length > 0 && this.#head < 4096) return
    this.#jobs = this.#jobs.slice(this.#head)
    this.#head = 0
  }

  /** Back to the front, in their order. */
  putBack(waiting: readonly Waiting[]): void {
    this.#jobs = waiting.concat(this.#jobs.slice(this.#head) as Waiting[])
    this.#head = 0
  }

  /** Takes out those of a function, in their order. */
  takeOut(name: string): readonly Waiting[] {
    const all = this.#jobs.slice(this.#head) as Waiting[]
    this.#jobs = all.filter(({ job }) => job.name !== name)
    this.#head = 0
    return this.#jobs.length === all.length ? [] : all.filter(({ job }) => job.name === name)
  }
}
