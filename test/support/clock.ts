import { type Clock, systemClock } from '../../src/core/clock.ts'

/** A clock that a test moves by hand. */
export interface FakeClock extends Clock {
  /** Moves time on, running what falls due in order; false: nothing did. */
  advance(ms: number): boolean
  /** Moves time on to what falls due next, and runs that; false: nothing does. */
  step(): boolean
  readonly pending: number
}

export function fakeClock(start = 0): FakeClock {
  let now = start
  const timers = new Set<{ at: number; fn: () => void }>()
  return {
    now: () => now,
    after(ms, fn) {
      const timer = { at: now + ms, fn }
      timers.add(timer)
      return () => void timers.delete(timer)
    },
    advance(ms) {
      const until = now + ms
      let hasRun = false
      for (;;) {
        const [next] = [...timers].filter(({ at }) => at <= until).sort((a, b) => a.at - b.at)
        if (!next) break
        timers.delete(next)
        now = Math.max(now, next.at)
        next.fn()
        hasRun = true
      }
      now = until
      return hasRun
    },
    step() {
      let next: { at: number; fn: () => void } | undefined
      for (const timer of timers) if (!next || timer.at < next.at) next = timer
      if (!next) return false
      timers.delete(next)
      now = Math.max(now, next.at)
      next.fn()
      return true
    },
    get pending() {
      return timers.size
    },
  }
}

/** The machine's clock, so many times as quick: for what waits for processes and has long time limits. */
export const quickClock = (times: number): Clock => ({
  now: () => systemClock.now() * times,
  after: (ms, fn) => systemClock.after(ms / times, fn),
})
