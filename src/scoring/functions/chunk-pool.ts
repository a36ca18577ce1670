import type { Clock } from '../../core/clock.ts'
import { ChunkQueue, type ChunkSize, type Lane, type WaitingJob } from './chunk-queue.ts'
import { type AssignedChunk, type ExecutorSlot, laneRule, SlotWatch, suspectsOf } from './executor-slots.ts'
import type { RestartReason } from './function-host.ts'
import type { ChunkResult, Executor, FunctionJob, JobEnd, JobRunner, StartExecutor } from './job.ts'
import { idleMark } from './progress.ts'

/** Failed starts in a row after which all waiting jobs fail. */
const maxFailedStarts = 3
/** How often a job's executor may die before the job is known to have begun. One such death is rarely the job's fault. */
const maxStrays = 4
/** How long a function that hung is limited to one executor. */
const suspectMs = 60_000
/** How far one lane may fall behind another, in time limits. */
const maxLaneLag = 4

/** Placeholder until the executor is started. */
const notStarted: Executor = {
  run: () => 0,
  stage: () => ({ at: 'idle' }),
  rest() {},
  async end() {},
}

/** The size of the pool, how executors start, and the time limits of their work. */
export interface ChunkPoolOptions {
  readonly start: StartExecutor
  /** Upper bound; one more starts if slow or hanging functions occupy all of them. Executors start on demand. */
  readonly executors: number
  readonly chunk: ChunkSize
  /** Chunks of quick jobs that an executor may hold at once. With two, it never waits for the next one. */
  readonly depth: 1 | 2
  readonly sampleTimeoutMs: number
  /** Timeout for loading a file or parsing options. */
  readonly loadTimeoutMs: number
  readonly clock: Clock
  readonly onRestart: (name: string, why: RestartReason) => void
}

/**
 * Runs jobs on a pool of executors. The jobs that wait when an executor becomes free are its next chunk. A job that hangs
 * or kills its executor fails alone. The other jobs of its chunk run again, which is safe because functions are pure.
 */
export class ChunkPool implements JobRunner {
  readonly #options: ChunkPoolOptions
  readonly #queue: ChunkQueue
  readonly #slots = new Set<ExecutorSlot>()
  readonly #watch: SlotWatch
  #failedStarts = 0
  /** How long the latest start of an executor took. */
  #startMs = 0
  #isScheduled = false
  #drained: (() => void) | null = null

  constructor(options: ChunkPoolOptions) {
    this.#options = options
    const { chunk, clock, sampleTimeoutMs } = options
    this.#queue = new ChunkQueue(chunk, () => clock.now(), maxLaneLag * sampleTimeoutMs)
    this.#watch = new SlotWatch(options, this.#slots, {
      hung: (...args) => this.#endHung(...args),
      broken: (slot, reason) => this.#abandon(slot, reason),
    })
  }

  /** Calls `end` exactly once. A job whose `request` is over before it begins is dropped. */
  run(job: FunctionJob, end: (end: JobEnd) => void, request?: { readonly isOver: boolean }): void {
    if (this.#drained) end({ status: 'closed' })
    else if (this.#queue.push({ job, end, request, deaths: 0, strays: 0, isSlow: false })) this.#schedule()
    else end({ status: 'overloaded' })
  }

  /** Finishes the jobs that it has, then ends the executors. */
  async close(): Promise<void> {
    if (!this.#drained) {
      const drained = new Promise<void>((resolve) => {
        this.#drained = resolve
      })
      this.#checkDrained()
      await drained
    }
    await Promise.all([...this.#slots].map(({ executor }) => executor.end()))
    this.#slots.clear()
  }

  /** Runs after the events of this turn of the event loop, so that requests that arrive together share a chunk. */
  #schedule(): void {
    if (this.#isScheduled) return
    this.#isScheduled = true
    setImmediate(() => {
      this.#isScheduled = false
      this.#assignAll()
      // After a crash, start a replacement before the next job arrives.
      const isNoneLeft = this.#slots.size === 0 && this.#failedStarts === 0 && !this.#drained
      if (isNoneLeft || this.#next() !== null) this.#addSlot()
    })
  }

  #addSlot(): void {
    const { executors, clock } = this.#options
    const slots = [...this.#slots]
    if (slots.some(({ isReady }) => !isReady)) return
    const isSpareNeeded = slots.some(({ chunks: [first] }) => first?.lane.name)
    if (slots.length >= executors + (isSpareNeeded ? 1 : 0)) return
    const slot: ExecutorSlot = {
      executor: notStarted,
      startedAt: clock.now(),
      isReady: false,
      chunks: [],
      seenMark: idleMark,
      seenAt: 0,
    }
    this.#slots.add(slot)
    try {
      this.#start(slot)
    } catch (error) {
      const { code } = error as NodeJS.ErrnoException
      this.#replace(slot, `it cannot be started: ${code ?? 'unknown'}`, false)
      return
    }
    this.#watch.start()
  }

  #start(slot: ExecutorSlot): void {
    const { start, clock } = this.#options
    slot.executor = start({
      ready: () => {
        this.#failedStarts = 0
        slot.isReady = true
        this.#startMs = clock.now() - slot.startedAt
        this.#assignAll()
        if (slot.chunks.length === 0) slot.executor.rest()
        // Executors start one at a time; another may be needed.
        if (this.#queue.length > 0) this.#schedule()
      },
      done: (result) => {
        const finished = slot.chunks.shift()
        if (finished) this.#finish(finished, result)
        this.#assignAll()
        if (slot.chunks.length === 0) slot.executor.rest()
      },
      gone: (reason, isBroken) => this.#replace(slot, reason, isBroken),
    })
  }

  /** Idle executors first. A second chunk goes only behind a quick one, and only if it is quick itself. */
  #assignAll(): void {
    for (let level = 0; level < this.#options.depth; level++) {
      for (const slot of this.#slots) {
        const [first] = slot.chunks
        if (!slot.isReady || slot.chunks.length !== level || first?.lane.name) continue
        let lane = this.#next(level > 0)
        while (lane && !this.#assign(slot, lane)) lane = this.#next(level > 0)
      }
    }
    // It may have dropped the last jobs, because nobody waits for them.
    this.#checkDrained()
  }

  /** The next lane, among those that may use one more executor. */
  #next(isBehind = false): Lane | null {
    return this.#queue.next(laneRule(this.#slots, this.#queue, this.#options.executors, isBehind))
  }

  /** Returns false if the requests of all jobs in the lane are over. */
  #assign(slot: ExecutorSlot, lane: Lane): boolean {
    const jobs = this.#queue.take(lane, ({ end }) => end({ status: 'unwanted' }))
    if (jobs.length === 0) return false
    try {
      const number = slot.executor.run(jobs.map(({ job }) => job))
      slot.chunks.push({ number, lane, jobs, limitMs: this.#sliceOf(lane, jobs) })
      if (slot.chunks.length === 1) this.#watch.see(slot, idleMark)
    } catch {
      this.#retryAlone(jobs)
      return true
    }
    this.#watch.start()
    return true
  }

  /**
   * The time slice of each job. While other jobs of a function that hung recently wait, its jobs first get an eighth of
   * their limit and the full limit later, so that quick rows do not wait for rows that hang.
   */
  #sliceOf(lane: Lane, { length }: readonly WaitingJob[]): number {
    const { sampleTimeoutMs } = this.#options
    const others = length - 1 + lane.jobs.length
    if (lane.isSlow || others === 0 || !this.#queue.isSuspect(lane)) return sampleTimeoutMs
    return Math.min(sampleTimeoutMs, Math.max(sampleTimeoutMs / 8, 2 * this.#startMs))
  }

  /** One of the jobs cannot be cloned: each is tried alone. */
  #retryAlone(chunk: readonly WaitingJob[]): void {
    if (chunk.length === 1) {
      for (const { end } of chunk) end({ status: 'lost', reason: 'its rows cannot be copied' })
      return
    }
    for (const waiting of chunk) waiting.deaths++
    this.#queue.putBack(chunk)
    this.#schedule()
  }

  #finish({ lane, jobs }: AssignedChunk, { results, ms }: ChunkResult): void {
    let spent = 0
    results.forEach((result, i) => {
      const { job, end } = jobs[i] as WaitingJob
      const took = ms[i] as number
      spent += took
      if (result.type === 'late') this.#queue.suspect(job.name, suspectMs, 0)
      if (job.type === 'call') this.#queue.learn(job.name, took)
      end({ status: 'done', result, ms: took })
    })
    this.#queue.spend(lane, spent)
    if (results.length < jobs.length) {
      this.#queue.putBack(jobs.slice(results.length))
      this.#schedule()
    }
  }

  /** The executor died. The job that it was running may be the cause and runs once more, alone. */
  #replace(slot: ExecutorSlot, reason: string, isBroken: boolean): void {
    if (!slot.isReady && ++this.#failedStarts >= maxFailedStarts) this.#failAll(reason)
    const { suspects, areKnown } = suspectsOf(slot, isBroken)
    if (areKnown) this.#suspectOf(slot, suspects)
    const lost = suspects.filter((suspect) =>
      areKnown ? ++suspect.deaths > 1 : ++suspect.strays > maxStrays,
    )
    const [first] = areKnown ? suspects : []
    this.#remove(slot, lost, 'crash', first?.job.name)
    if (first) this.#queue.defer(first)
    for (const { end } of lost) end({ status: 'lost', reason })
  }

  /** Charges the function for a crash: its run time plus a start. So crashes delay others no more than hangs do. */
  #suspectOf(slot: ExecutorSlot, suspects: readonly WaitingJob[]): void {
    const [first] = suspects
    if (!first || suspects.some(({ job }) => job.name !== first.job.name)) return
    const ranMs = slot.seenAt === 0 ? 0 : this.#options.clock.now() - slot.seenAt
    this.#queue.suspect(first.job.name, suspectMs, ranMs + this.#startMs, first.isSlow)
  }

  #failAll(reason: string): void {
    for (let lane = this.#queue.next(() => true); lane; lane = this.#queue.next(() => true))
      for (const { end } of this.#queue.take(lane, ({ end }) => end({ status: 'unwanted' })))
        end({ status: 'lost', reason })
  }

  /** Removes a dead executor and queues its jobs again, except those in `ended`. */
  #remove(slot: ExecutorSlot, ended: readonly WaitingJob[], why: RestartReason, name = ''): void {
    this.#slots.delete(slot)
    const left = slot.chunks.flatMap(({ jobs }) => jobs)
    this.#queue.putBack(ended.length === 0 ? left : left.filter((waiting) => !ended.includes(waiting)))
    this.#options.onRestart(name, why)
    this.#schedule()
    this.#checkDrained()
  }

  #abandon(slot: ExecutorSlot, reason: string): void {
    void slot.executor.end()
    this.#replace(slot, reason, false)
  }

  #endHung(slot: ExecutorSlot, victim: WaitingJob, limitMs: number, isPreempted: boolean): void {
    const { name, type } = victim.job
    const { isSlow } = victim
    void slot.executor.end()
    if (type === 'call') this.#queue.learn(name, limitMs)
    this.#queue.suspect(name, suspectMs, limitMs, isSlow)
    if (isPreempted) {
      victim.isSlow = true
      if (!this.#queue.push(victim)) victim.end({ status: 'overloaded' })
    }
    this.#remove(slot, [victim], isPreempted ? 'preempted' : 'timeout', name)
    this.#queue.defer({ ...victim, isSlow })
    if (!isPreempted) victim.end({ status: 'timeout', limitMs })
  }

  #checkDrained(): void {
    if (this.#queue.length === 0 && [...this.#slots].every(({ chunks }) => chunks.length === 0))
      this.#drained?.()
  }
}
