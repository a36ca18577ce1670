import type { Clock } from '../../core/clock.ts'
import type { ChunkQueue, Line, Waiting } from './chunk-queue.ts'
import type { Executor } from './job.ts'
import { idleMark } from './progress.ts'

/** A chunk that an executor has. */
export interface Given {
  readonly number: number
  readonly line: Line
  readonly jobs: readonly Waiting[]
  /** What one job may take; less than the time limit where others wait that may be quicker. */
  readonly limitMs: number
}

/** An executor, what it was given, and what the watch saw of it. */
export interface Seat {
  executor: Executor
  readonly startedAt: number
  isReady: boolean
  /** The running chunk first. */
  given: Given[]
  seenMark: number
  seenAt: number
}

/**
 * Which lines may have one more executor. Quick functions share `executors` of them, and so do all others: one more is
 * there than either may have. A function that hung lately has one at most, and those that did leave one to the others.
 * `isBehind`: for a chunk that waits behind another.
 */
export function lineRule(
  seats: Iterable<Seat>,
  queue: ChunkQueue,
  executors: number,
  isBehind: boolean,
): (line: Line) => boolean {
  let quick = 0
  let apart = 0
  let suspects = 0
  const running: string[] = []
  for (const { given } of seats) {
    const line = given[0]?.line
    if (!line) continue
    if (line.name === null) quick++
    else {
      apart++
      running.push(line.name)
      if (queue.isSuspect(line)) suspects++
    }
  }
  return (line) => {
    if (line.name === null) return isBehind || quick < executors
    if (isBehind || apart >= executors) return false
    return !queue.isSuspect(line) || (suspects < Math.max(1, executors - 1) && !running.includes(line.name))
  }
}

/** The jobs that may have ended their executor, and whether it is known that one of them did. */
export function suspectsOf(
  { executor, given }: Seat,
  isBroken: boolean,
): { readonly suspects: readonly Waiting[]; readonly areKnown: boolean } {
  const oldest = given[0]?.jobs ?? []
  if (isBroken) return { suspects: oldest, areKnown: true }
  const stage = executor.stage()
  const victim =
    'index' in stage ? given.find(({ number }) => number === stage.chunk)?.jobs[stage.index] : undefined
  return victim ? { suspects: [victim], areKnown: true } : { suspects: oldest, areKnown: false }
}

/** A look that comes so much too late tells that this thread was blocked. */
const lateMs = 250
/** An executor that does not begin what it was given, though it could, is hung; loaded machines need some time. */
const leastBeginMs = 5000

/** The time limits of a pool's executors. */
export interface WatchLimits {
  readonly sampleTimeoutMs: number
  readonly loadTimeoutMs: number
  readonly clock: Clock
}

/** What the watch has found. */
export interface WatchEvents {
  /** A job has had its limit; `isPreempted`: this was less than its whole time limit. */
  hung(seat: Seat, victim: Waiting, limitMs: number, isPreempted: boolean): void
  broken(seat: Seat, reason: string): void
}

/** Looks at executors while any of them has work. A time limit begins when its job is first seen to run, never at dispatch. */
export class SeatWatch {
  readonly #limits: WatchLimits
  readonly #seats: ReadonlySet<Seat>
  readonly #events: WatchEvents
  #isRunning = false

  constructor(limits: WatchLimits, seats: ReadonlySet<Seat>, events: WatchEvents) {
    this.#limits = limits
    this.#seats = seats
    this.#events = events
  }

  /** Goes on until no executor has work. */
  start(): void {
    if (this.#isRunning) return
    this.#isRunning = true
    const { clock, sampleTimeoutMs } = this.#limits
    const waitMs = Math.min(Math.max(sampleTimeoutMs / 8, 2), 100)
    const due = clock.now() + waitMs
    clock.after(waitMs, () => {
      this.#isRunning = false
      const now = clock.now()
      const busy = [...this.#seats].filter(({ given, isReady }) => given.length > 0 || !isReady)
      for (const seat of busy) this.#look(seat, now, now - due > lateMs)
      if (busy.length > 0) this.start()
    })
  }

  /** What the executor does begins now. */
  see(seat: Seat, mark: number): void {
    seat.seenMark = mark
    seat.seenAt = this.#limits.clock.now()
  }

  #look(seat: Seat, now: number, wasBlocked: boolean): void {
    const { loadTimeoutMs, sampleTimeoutMs } = this.#limits
    if (!seat.isReady) {
      if (now - seat.startedAt >= loadTimeoutMs && !wasBlocked) this.#events.broken(seat, 'it did not start')
      return
    }
    const stage = seat.executor.stage()
    const mark = stage.at === 'idle' ? idleMark : stage.mark
    const [given] = seat.given
    if (mark !== seat.seenMark) {
      this.see(seat, mark)
      return
    }
    // The chunk that it is at decides, not the oldest: results that were sent may not have been read yet.
    const victim = stage.at !== 'idle' && stage.chunk === given?.number ? given.jobs[stage.index] : undefined
    if (stage.at === 'idle' || !given || !victim) {
      // After this thread was blocked, what the executor has said is still to be read.
      if (wasBlocked) this.see(seat, mark)
      else if (now - seat.seenAt >= Math.max(leastBeginMs, sampleTimeoutMs))
        this.#events.broken(seat, 'it did not begin what it was given')
      return
    }
    const limitMs = stage.at === 'running' ? given.limitMs : loadTimeoutMs
    if (now - seat.seenAt < limitMs) return
    this.#events.hung(seat, victim, limitMs, stage.at === 'running' && limitMs < sampleTimeoutMs)
  }
}
