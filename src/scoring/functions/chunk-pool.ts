import type { Clock } from '../../core/clock.ts'
import { ChunkQueue, type ChunkSize, type Line, type Waiting } from './chunk-queue.ts'
import { type Given, lineRule, type Seat, SeatWatch, suspectsOf } from './executor-slots.ts'
import type { RestartReason } from './function-host.ts'
import type { ChunkResult, Executor, Job, JobEnd, JobRunner, StartExecutor } from './job.ts'
import { idleMark } from './progress.ts'

const startsTried = 3
/** A job that was in a chunk of an executor which died before it began may have been the reason, but hardly each time. */
const straysTried = 4
/** A function that hung gets no more than one executor for so long. */
const suspectMs = 60_000
/** Time limits that one line may be behind another. */
const mostBehind = 4

/** Stands for an executor until it is started. */
const notStarted: Executor = {
  run: () => 0,
  stage: () => ({ at: 'idle' }),
  rest() {},
  async end() {},
}

/** How many executors, how they are started, and how long their work may take. */
export interface ChunkPoolOptions {
  readonly start: StartExecutor
  /** At most, and one more where slow or hanging functions have all of them; started as the work needs them. */
  readonly executors: number
  readonly chunk: ChunkSize
  /** Chunks of quick jobs that an executor may have at once: with two, it need not wait for the next one. */
  readonly depth: 1 | 2
  readonly sampleTimeoutMs: number
  /** For what is no call: loading a file, parsing options. */
  readonly loadTimeoutMs: number
  readonly clock: Clock
  readonly onRestart: (name: string, why: RestartReason) => void
}

/**
 * Jobs in, ends out. What waits when an executor is free is its next chunk. A job that hangs or kills its executor
 * costs only itself: the others of its chunk run again, which pure functions do not notice.
 */
export class ChunkPool implements JobRunner {
  readonly #options: ChunkPoolOptions
  readonly #queue: ChunkQueue
  readonly #seats = new Set<Seat>()
  readonly #watch: SeatWatch
  #failedStarts = 0
  /** What an executor needs until its first job can begin, seen lately. */
  #startMs = 0
  #isScheduled = false
  #drained: (() => void) | null = null

  constructor(options: ChunkPoolOptions) {
    this.#options = options
    const { chunk, clock, sampleTimeoutMs } = options
    this.#queue = new ChunkQueue(chunk, () => clock.now(), mostBehind * sampleTimeoutMs)
    this.#watch = new SeatWatch(options, this.#seats, {
      hung: (...told) => this.#endHung(...told),
      broken: (seat, reason) => this.#abandon(seat, reason),
    })
  }

  /** `end` is called once, whatever happens. `request`: a job of one that is over need not be begun. */
  run(job: Job, end: (end: JobEnd) => void, request?: { readonly isOver: boolean }): void {
    if (this.#drained) end({ status: 'closed' })
    else if (this.#queue.push({ job, end, request, deaths: 0, strays: 0, isSlow: false })) this.#schedule()
    else end({ status: 'overloaded' })
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
      // What comes after a death need not wait for a start.
      const isNoneLeft = this.#seats.size === 0 && this.#failedStarts === 0 && !this.#drained
      if (isNoneLeft || this.#next() !== null) this.#addSeat()
      this.#checkDrained()
    })
  }

  #addSeat(): void {
    const { executors, clock } = this.#options
    const seats = [...this.#seats]
    if (seats.some(({ isReady }) => !isReady)) return
    const isSpareNeeded = seats.some(({ given: [first] }) => first?.line.name)
    if (seats.length >= executors + (isSpareNeeded ? 1 : 0)) return
    const seat: Seat = {
      executor: notStarted,
      startedAt: clock.now(),
      isReady: false,
      given: [],
      seenMark: idleMark,
      seenAt: 0,
    }
    this.#seats.add(seat)
    try {
      this.#start(seat)
    } catch (error) {
      const { code } = error as NodeJS.ErrnoException
      this.#replace(seat, `it cannot be started: ${code ?? 'unknown'}`, false)
      return
    }
    this.#watch.start()
  }

  #start(seat: Seat): void {
    const { start, clock } = this.#options
    seat.executor = start({
      ready: () => {
        this.#failedStarts = 0
        seat.isReady = true
        this.#startMs = clock.now() - seat.startedAt
        this.#giveAll()
        if (seat.given.length === 0) seat.executor.rest()
        // One start at a time: others may be needed.
        if (this.#queue.length > 0) this.#schedule()
      },
      done: (result) => {
        const given = seat.given.shift()
        if (given) this.#finish(given, result)
        this.#giveAll()
        if (seat.given.length === 0) seat.executor.rest()
        this.#checkDrained()
      },
      gone: (reason, isBroken) => this.#replace(seat, reason, isBroken),
    })
  }

  /** Those that have nothing come first; only quick jobs wait behind others, and only behind quick ones. */
  #giveAll(): void {
    for (let level = 0; level < this.#options.depth; level++) {
      for (const seat of this.#seats) {
        const [first] = seat.given
        if (!seat.isReady || seat.given.length !== level || first?.line.name) continue
        let line = this.#next(level > 0)
        while (line && !this.#give(seat, line)) line = this.#next(level > 0)
      }
    }
  }

  /** The line whose turn it is, of those that may have one more executor. */
  #next(isBehind = false): Line | null {
    return this.#queue.next(lineRule(this.#seats, this.#queue, this.#options.executors, isBehind))
  }

  /** False where nobody waits any more for what the line had. */
  #give(seat: Seat, line: Line): boolean {
    const jobs = this.#queue.take(line, ({ end }) => end({ status: 'unwanted' }))
    if (jobs.length === 0) return false
    try {
      const number = seat.executor.run(jobs.map(({ job }) => job))
      seat.given.push({ number, line, jobs, limitMs: this.#sliceOf(line, jobs) })
      if (seat.given.length === 1) this.#watch.see(seat, idleMark)
    } catch {
      this.#refuse(jobs)
      return true
    }
    this.#watch.start()
    return true
  }

  /**
   * Jobs of a function that hung lately get a part of their time limit while others of it wait, and the whole of it later:
   * so rows that are quick do not wait for those that hang.
   */
  #sliceOf(line: Line, { length }: readonly Waiting[]): number {
    const { sampleTimeoutMs } = this.#options
    const others = length - 1 + line.jobs.length
    if (line.isSlow || others === 0 || !this.#queue.isSuspect(line)) return sampleTimeoutMs
    return Math.min(sampleTimeoutMs, Math.max(sampleTimeoutMs / 8, 2 * this.#startMs))
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

  #finish({ line, jobs }: Given, { results, ms }: ChunkResult): void {
    let spent = 0
    results.forEach((result, i) => {
      const { job, end } = jobs[i] as Waiting
      const took = ms[i] as number
      spent += took
      if (result.type === 'late') this.#queue.suspect(job.name, suspectMs, 0)
      if (job.type === 'call') this.#queue.learn(job.name, took)
      end({ status: 'done', result, ms: took })
    })
    this.#queue.spend(line, spent)
    if (results.length < jobs.length) {
      this.#queue.putBack(jobs.slice(results.length))
      this.#schedule()
    }
  }

  /** The executor died by itself: the job that it was at may have been the reason, and runs once more, alone. */
  #replace(seat: Seat, reason: string, isBroken: boolean): void {
    if (!seat.isReady && ++this.#failedStarts >= startsTried) this.#loseAll(reason)
    const { suspects, areKnown } = suspectsOf(seat, isBroken)
    if (areKnown) this.#suspectOf(seat, suspects)
    const lost = suspects.filter((suspect) =>
      areKnown ? ++suspect.deaths > 1 : ++suspect.strays > straysTried,
    )
    this.#remove(seat, lost, 'crash', areKnown ? suspects[0]?.job.name : undefined)
    for (const { end } of lost) end({ status: 'lost', reason })
  }

  /** A death costs the time until it and a start: a function that dies delays no other by more than one that hangs. */
  #suspectOf(seat: Seat, suspects: readonly Waiting[]): void {
    const [first] = suspects
    if (!first || suspects.some(({ job }) => job.name !== first.job.name)) return
    const ranMs = seat.seenAt === 0 ? 0 : this.#options.clock.now() - seat.seenAt
    this.#queue.suspect(first.job.name, suspectMs, ranMs + this.#startMs, first.isSlow)
  }

  #loseAll(reason: string): void {
    for (let line = this.#queue.next(() => true); line; line = this.#queue.next(() => true))
      for (const { end } of this.#queue.take(line, ({ end }) => end({ status: 'unwanted' })))
        end({ status: 'lost', reason })
  }

  /** Takes a dead executor out and queues again what it had, but for the jobs that have ended. */
  #remove(seat: Seat, ended: readonly Waiting[], why: RestartReason, name = ''): void {
    this.#seats.delete(seat)
    const left = seat.given.flatMap(({ jobs }) => jobs)
    this.#queue.putBack(ended.length === 0 ? left : left.filter((waiting) => !ended.includes(waiting)))
    this.#options.onRestart(name, why)
    this.#schedule()
    this.#checkDrained()
  }

  #abandon(seat: Seat, reason: string): void {
    void seat.executor.end()
    this.#replace(seat, reason, false)
  }

  #endHung(seat: Seat, victim: Waiting, limitMs: number, isPreempted: boolean): void {
    const { name, type } = victim.job
    void seat.executor.end()
    if (type === 'call') this.#queue.learn(name, limitMs)
    this.#queue.suspect(name, suspectMs, limitMs, victim.isSlow)
    if (isPreempted) {
      victim.isSlow = true
      if (!this.#queue.push(victim)) victim.end({ status: 'overloaded' })
    }
    this.#remove(seat, [victim], isPreempted ? 'preempted' : 'timeout', name)
    if (!isPreempted) victim.end({ status: 'timeout', limitMs })
  }

  #checkDrained(): void {
    if (this.#queue.length === 0 && [...this.#seats].every(({ given }) => given.length === 0))
      this.#drained?.()
  }
}
