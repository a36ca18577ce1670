/** Time as the engine and the pools see it, so that tests can own it. Milliseconds, monotonic. */
export interface Clock {
  now(): number
  /** Runs `fn` once after `ms`; the returned function cancels it. Does not keep the process alive. */
  after(ms: number, fn: () => void): () => void
}

export const systemClock: Clock = {
  now: () => performance.now(),
  after(ms, fn) {
    const timer = setTimeout(fn, Math.min(ms, 2 ** 31 - 1))
    timer.unref()
    return () => clearTimeout(timer)
  },
}
