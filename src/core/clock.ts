/** A monotonic clock in milliseconds, injected so that tests control time. */
export interface Clock {
  now(): number
  /**
   * Runs `fn` once after `ms` and returns a function that cancels it. A pending call keeps the process alive.
   */
  after(ms: number, fn: () => void): () => void
}

/** Milliseconds since the process started. Timers round up to whole milliseconds. */
export const systemClock: Clock = {
  now: () => performance.now(),
  after(ms, fn) {
    // Node keeps one timer list per duration, so whole milliseconds let timers share lists.
    const timer = setTimeout(fn, Math.min(Math.ceil(ms), 2 ** 31 - 1))
    return () => clearTimeout(timer)
  },
}

/** Unix time in milliseconds that goes on with a clock: setting the system's time later does not move it. */
export function steadyUnixTime(clock: Clock, systemTime: () => number = Date.now): () => number {
  const ahead = systemTime() - clock.now()
  return () => ahead + clock.now()
}

/**
 * Resolves to whether the work finished in time. Late work continues on its own. Rejects if the work rejects
 * in time.
 */
export function within(clock: Clock, ms: number, work: Promise<unknown>): Promise<boolean> {
  return new Promise((resolve, reject) => {
    const cancel = clock.after(ms, () => resolve(false))
    work.then(() => resolve(true), reject).finally(cancel)
  })
}
