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
  const timers = new Set<{ readonly at: number; readonly fn: () => void }>()
  /** Runs what falls due next, by `until`; false: nothing does. */
  const runNext = (until: number): boolean => {
    let next: { readonly at: number; readonly fn: () => void } | undefined
    for (const timer of timers) if (timer.at <= until && (!next || timer.at < next.at)) next = timer
    if (!next) return false
    timers.delete(next)
    now = Math.max(now, next.at)
    next.fn()
    return true
  }
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
      while (runNext(until)) hasRun = true
      now = until
      return hasRun
    },
    step: () => runNext(Number.POSITIVE_INFINITY),
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
