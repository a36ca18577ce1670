import type { Clock } from '../../../core/clock.ts'
import type { QuestionTimes } from '../../../core/stalls/request-times.ts'

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

/** Work that several callers wait for. It is cancelled when the last of them has left. */
export class SingleFlight<T> {
  readonly stop = new CancelToken()
  /** What it waits for; undefined if its first caller did not ask. */
  readonly times: QuestionTimes | undefined
  readonly #work: Promise<T>
  #callers = 0

  /** `over` is called when the work has succeeded or failed. */
  constructor(work: (stop: CancelToken) => Promise<T>, over: () => void, times?: QuestionTimes) {
    this.times = times
    this.#work = work(this.stop)
    this.#work.then(over, over)
  }

  /** Rejects as the work does, or with `missed` at the deadline and when the caller has left. */
  join(
    clock: Clock,
    deadline: number,
    signal: AbortSignal | CancelToken,
    missed: (why: 'deadline' | 'cancelled') => Error,
  ): Promise<T> {
    return new Promise((resolve, reject) => {
      let isOver = false
      const over = (): boolean => {
        if (isOver) return false
        isOver = true
        cancelTimer()
        off()
        return true
      }
      const leave = (why: 'deadline' | 'cancelled') => {
        if (!over()) return
        reject(missed(why))
        this.#callers -= 1
        if (this.#callers === 0) this.stop.stop()
      }
      this.#callers += 1
      let off = () => {}
      const cancelTimer = clock.after(Math.max(deadline - clock.now(), 0), () => leave('deadline'))
      off = whenAborted(signal, () => leave('cancelled'))
      this.#work.then(
        (value) => {
          if (over()) resolve(value)
        },
        (error) => {
          if (over()) reject(error)
        },
      )
    })
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
