/** Time as the engine and the pools see it, so that tests can own it. Milliseconds, monotonic. */
export interface Clock {
  now(): number
  /** Runs `fn` once after `ms`; the returned function cancels it. Keeps the process alive until then. */
  after(ms: number, fn: () => void): () => void
}

/** Milliseconds since the process began, monotonic; a timer rounds its time up to whole ones. */
export const systemClock: Clock = {
  now: () => performance.now(),
  after(ms, fn) {
    // Node keeps one list a duration: whole milliseconds let timers share them.
    const timer = setTimeout(fn, Math.min(Math.ceil(ms), 2 ** 31 - 1))
    return () => clearTimeout(timer)
  },
}

/** Whether the work was done in time; work that goes on is left to itself. Rejects as the work does until then. */
export function within(clock: Clock, ms: number, work: Promise<unknown>): Promise<boolean> {
  return new Promise((resolve, reject) => {
    const cancel = clock.after(ms, () => resolve(false))
    work.then(() => resolve(true), reject).finally(cancel)
  })
}
