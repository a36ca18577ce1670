import type { FunctionJob, JobEnd } from './job.ts'

const maxJobsPerLane = 65_536

/** Time used by a slow lane counts this many times, because its jobs may never end. */
const slowLaneFactor = 4

/** A chunk has at most `jobs` jobs and ends early once they are expected to take `workMs`. */
export interface ChunkSize {
  readonly jobs: number
  readonly workMs: number
  /** Waiting jobs are split among this many executors, in chunks that are expected to take at least `leastMs`. */
  readonly shares: number
  readonly leastMs: number
}

/** A queue of jobs that takes turns with the other lanes. */
export interface Lane {
  /** The function of this lane; null: all quick functions. */
  readonly name: string | null
  /** True for jobs of the function that ran longer than their time slice. */
  readonly isSlow: boolean
  readonly jobs: JobList
  /** Executor time used, in ms. The lane with the least is next. */
  spentMs: number
}

/**
 * Fair queueing over lanes, by the executor time that each has used. All quick functions share one lane. A function whose
 * jobs fill a chunk alone, or that hung recently, has its own. So a slow function delays others by one job at most.
 */
export class ChunkQueue {
  readonly #quick: Lane = { name: null, isSlow: false, jobs: new JobList(), spentMs: 0 }
  readonly #apart = new Map<string, Lane>()
  readonly #slow = new Map<string, Lane>()
  readonly #expectedMs = new Map<string, number>()
  readonly #suspectUntil = new Map<string, number>()
  readonly #size: ChunkSize
  readonly #now: () => number
  /** Upper bound on how far a lane falls behind the others. */
  readonly #maxLagMs: number

  constructor(size: ChunkSize, now: () => number, maxLagMs: number) {
    this.#size = size
    this.#now = now
    this.#maxLagMs = maxLagMs
  }

  get length(): number {
    let length = this.#quick.jobs.length
    for (const { jobs } of this.#apart.values()) length += jobs.length
    for (const { jobs } of this.#slow.values()) length += jobs.length
    return length
  }

  /** Returns false if the job's lane is full. */
  push(waiting: WaitingJob): boolean {
    const lane = this.#laneOf(waiting)
    if (lane.jobs.length >= maxJobsPerLane) return false
    if (lane.jobs.length === 0) this.#catchUp(lane)
    lane.jobs.push(waiting)
    return true
  }

  /** Returns jobs to the front of their lanes, in order. */
  putBack(waiting: readonly WaitingJob[]): void {
    const lanes = new Map<Lane, WaitingJob[]>()
    for (const one of waiting) {
      const lane = this.#laneOf(one)
      const back = lanes.get(lane)
      if (back) back.push(one)
      else lanes.set(lane, [one])
    }
    for (const [lane, back] of lanes) lane.jobs.putBack(back)
  }

  /** The next lane among those that have jobs and that `may` allows. */
  next(may: (lane: Lane) => boolean): Lane | null {
    let best: Lane | null = this.#quick.jobs.length > 0 && may(this.#quick) ? this.#quick : null
    for (const lanes of [this.#apart, this.#slow])
      for (const lane of lanes.values())
        if (lane.jobs.length > 0 && lane.spentMs < (best?.spentMs ?? Number.POSITIVE_INFINITY) && may(lane))
          best = lane
    return best
  }

  /**
   * Takes the next chunk of a lane. A job that may have killed an executor runs alone, so that it cannot harm others again.
   * Calls `drop` for each job whose request is over.
   */
  take({ jobs: lane }: Lane, drop: (waiting: WaitingJob) => void): WaitingJob[] {
    const { jobs, workMs, shares, leastMs } = this.#size
    const share = Math.ceil(lane.length / shares)
    const chunk: WaitingJob[] = []
    let ms = 0
    let chars = 0
    while (chunk.length < jobs && ms < workMs && chars < fullChars) {
      if (chunk.length >= share && ms >= leastMs) break
      const next = lane.first
      if (!next) break
      const isAlone = next.deaths > 0 || next.strays > 0 || next.isSlow
      if (isAlone && chunk.length > 0) break
      lane.shift()
      if (next.request?.isOver) {
        drop(next)
        continue
      }
      ms += isAlone ? workMs : (this.#expectedMs.get(next.job.name) ?? 0)
      chars += charsOf(next.job)
      chunk.push(next)
    }
    return chunk
  }

  /** Updates the expected duration of a function's jobs. */
  learn(name: string, ms: number): void {
    const before = this.#expectedMs.get(name) ?? ms
    const expected = before + (ms - before) / 8
    this.#expectedMs.set(name, expected)
    // This runs once a row; usually no function has its own lane.
    if (this.#apart.size > 0 || expected >= this.#size.workMs) this.#sort(name)
  }

  /** Charges a lane for executor time. */
  spend(lane: Lane, ms: number): void {
    lane.spentMs += lane.isSlow ? slowLaneFactor * ms : ms
    if (this.#apart.size + this.#slow.size === 0) return
    lane.spentMs = Math.min(lane.spentMs, this.#leastSpent() + this.#maxLagMs)
  }

  /** Records that a function hung for `spentMs`. For `forMs` it gets one executor at most. */
  suspect(name: string, forMs: number, spentMs: number, isSlow = false): void {
    this.#suspectUntil.set(name, this.#now() + forMs)
    this.#sort(name)
    const lane = (isSlow ? this.#slow : this.#apart).get(name)
    if (lane) this.spend(lane, spentMs)
  }

  /** A job hung or killed its executor: what else its request has in its lane goes behind the jobs of other requests. */
  defer({ job: { name }, request, isSlow }: WaitingJob): void {
    if (request) (isSlow ? this.#slow : this.#apart).get(name)?.jobs.defer(request)
  }

  /** Whether the function of this lane hung recently. */
  isSuspect({ name }: Lane): boolean {
    return name !== null && this.#hungLately(name)
  }

  /** Whether one job fills a chunk. Hysteresis: a function with its own lane keeps it until half of that. */
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

  #laneOf({ job: { name }, isSlow }: WaitingJob): Lane {
    if (isSlow) return this.#slowLaneOf(name)
    return (this.#apart.size > 0 ? this.#apart.get(name) : undefined) ?? this.#quick
  }

  #slowLaneOf(name: string): Lane {
    let lane = this.#slow.get(name)
    if (!lane) {
      lane = { name, isSlow: true, jobs: new JobList(), spentMs: 0 }
      this.#slow.set(name, lane)
    }
    return lane
  }

  /** Gives the function its own lane if it needs one, or merges its lane back. */
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
    const lane: Lane = { name, isSlow: false, jobs: new JobList(), spentMs: 0 }
    this.#catchUp(lane)
    this.#apart.set(name, lane)
    lane.jobs.putBack(this.#quick.jobs.takeOut(name))
  }

  /** An idle lane earns no credit. */
  #catchUp(lane: Lane): void {
    lane.spentMs = Math.max(lane.spentMs, this.#leastSpent())
  }

  #leastSpent(): number {
    let least = this.#quick.jobs.length > 0 ? this.#quick.spentMs : Number.POSITIVE_INFINITY
    for (const lanes of [this.#apart, this.#slow])
      for (const { jobs, spentMs } of lanes.values()) if (jobs.length > 0) least = Math.min(least, spentMs)
    return Number.isFinite(least) ? least : this.#quick.spentMs
  }
}

/** A chunk with more characters is full: copying it to a thread is one piece of work, and 32 MiB block the event loop for 60 ms. */
const fullChars = 1024 * 1024

/** Characters of a job's prompts and responses. */
function charsOf(job: FunctionJob): number {
  if (job.type !== 'call') return 0
  let chars = 0
  for (const { sample } of job.rows) chars += sample.prompt.length + sample.response.length
  return chars
}

/** A job in the queue. */
export interface WaitingJob {
  readonly job: FunctionJob
  readonly end: (end: JobEnd) => void
  /** The request that waits for the job. If it is over, the job is not begun. */
  readonly request: { readonly isOver: boolean } | undefined
  /** How often its executor died while this job ran, or sent a malformed message with its result. */
  deaths: number
  /** How often its executor died, as far as is known before this job began. */
  strays: number
  /** It ran longer than its time slice. It now gets its full limit, in its function's slow lane. */
  isSlow: boolean
}

/** A FIFO queue that can also take jobs back. */
class JobList {
  /** A job that was taken leaves undefined, so that its request can be collected before the next trim. */
  #jobs: (WaitingJob | undefined)[] = []
  #head = 0

  get length(): number {
    return this.#jobs.length - this.#head
  }

  get first(): WaitingJob | undefined {
    return this.#jobs[this.#head]
  }

  push(waiting: WaitingJob): void {
    this.#jobs.push(waiting)
  }

  shift(): void {
    this.#jobs[this.#head++] = undefined
    if (this.length > 0 && this.#head < 4096) return
    this.#jobs = this.#jobs.slice(this.#head)
    this.#head = 0
  }

  /** Returns jobs to the front, in order. */
  putBack(waiting: readonly WaitingJob[]): void {
    this.#jobs = waiting.concat(this.#jobs.slice(this.#head) as WaitingJob[])
    this.#head = 0
  }

  /** Moves the jobs of a request behind all others. */
  defer(request: WaitingJob['request']): void {
    const all = this.#jobs.slice(this.#head) as WaitingJob[]
    const isOwn = (waiting: WaitingJob): boolean => waiting.request === request
    this.#jobs = [...all.filter((waiting) => !isOwn(waiting)), ...all.filter(isOwn)]
    this.#head = 0
  }

  /** Removes and returns the jobs of a function, in order. */
  takeOut(name: string): readonly WaitingJob[] {
    const all = this.#jobs.slice(this.#head) as WaitingJob[]
    this.#jobs = all.filter(({ job }) => job.name !== name)
    this.#head = 0
    return this.#jobs.length === all.length ? [] : all.filter(({ job }) => job.name === name)
  }
}
