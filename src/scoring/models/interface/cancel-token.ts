import type { Clock } from '../../../core/clock.ts'

const listeners = new WeakMap<AbortSignal, Set<() => void>>()

/** Runs `fn` when `signal` aborts, or now if it has. Call the returned function to unsubscribe. */
export function whenAborted(signal: AbortSignal | CancelToken, fn: () => void): () => void {
  if (signal instanceof CancelToken) return signal.on(fn)
  if (signal.aborted) {
    fn()
    return () => {}
  }
  // One real listener per signal: adding the n-th listener to a signal that thousands of questions share takes n steps.
  let waiting = listeners.get(signal)
  if (!waiting) {
    const all = new Set<() => void>()
    waiting = all
    listeners.set(signal, all)
    signal.addEventListener('abort', () => runAll(all), { once: true })
  }
  const all = waiting
  // A new function, since the same `fn` may be passed twice.
  const entry = () => fn()
  all.add(entry)
  return () => {
    all.delete(entry)
  }
}

function runAll(all: Set<() => void>): void {
  for (const fn of all) fn()
  all.clear()
}

/**
 * Cancels the questions of a request, or the calls of one question. Two AbortControllers and a dozen spreads were
 * a quarter of a judged sample that comes alone (`npm run judged` in bench/).
 */
export class CancelToken {
  aborted = false
  /** The run whose questions these are, which counts in queues; '' if none is named. */
  readonly run: string
  readonly #listeners = new Set<() => void>()

  constructor(run = '') {
    this.run = run
  }

  /** Runs `fn` on cancellation, or now if already cancelled. Call the returned function to unsubscribe. */
  on(fn: () => void): () => void {
    if (this.aborted) {
      fn()
      return () => {}
    }
    this.#listeners.add(fn)
    return () => {
      this.#listeners.delete(fn)
    }
  }

  stop(): void {
    if (this.aborted) return
    this.aborted = true
    runAll(this.#listeners)
  }
}

/** The results of all pieces, in order. The first failure cancels the others and is what this rejects with. */
export async function allOrNone<T>(
  signal: AbortSignal | CancelToken,
  pieces: readonly ((stop: CancelToken) => Promise<T>)[],
): Promise<T[]> {
  const own = new CancelToken()
  const off = whenAborted(signal, () => own.stop())
  try {
    return await Promise.all(pieces.map((piece) => piece(own)))
  } finally {
    off()
    own.stop()
  }
}

/** Resolves after `ms`, or on cancellation. */
export function pause(clock: Clock, ms: number, stop: CancelToken): Promise<void> {
  return new Promise((resolve) => {
    const cancel = clock.after(ms, () => {
      off()
      resolve()
    })
    const off = stop.on(() => {
      cancel()
      resolve()
    })
  })
}
