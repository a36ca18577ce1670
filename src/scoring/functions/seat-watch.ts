import type { Clock } from '../../core/clock.ts'
import type { Waiting } from './job-list.ts'
import { idleMark } from './progress.ts'
import type { Seat } from './seat.ts'

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
