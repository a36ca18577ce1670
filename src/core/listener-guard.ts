/**
 * Listeners and callbacks are other people's code, or code that only watches: what they throw must neither end the process
 * nor keep a sample from its outcome. Every call of one goes through a guard.
 */
import type { Clock } from './clock.ts'

/** What a guard tells of listeners that fail. */
export interface ListenerEvents {
  /** For each failure; `listener` is one of a closed set of names. */
  failed?(listener: string): void
  /** At most once a minute for each listener. */
  told?(failure: ListenerFailure): void
}

/** Failures of a listener, told of together. */
export interface ListenerFailure {
  readonly listener: string
  /** What it threw, by name and place: it quotes no text of a sample. */
  readonly fault: string
  /** Since the last time that it was told of. */
  readonly failures: number
}

const quietMs = 60_000

/** Callbacks of guards, which need no second one. */
const guarded = new WeakSet<object>()

/** Calls listeners so that nothing they throw, or reject with, comes through. */
export class ListenerGuard {
  readonly #clock: Clock
  readonly #events: ListenerEvents
  readonly #standing = new Map<string, { failures: number; toldAt: number }>()

  constructor(clock: Clock, events: ListenerEvents = {}) {
    this.#clock = clock
    this.#events = events
  }

  /** Calls `fn`; `listener` names it where it fails. */
  run(listener: string, fn: () => unknown): void {
    try {
      const given = fn()
      if (isThenable(given)) this.#follow(listener, given)
    } catch (error) {
      this.#failed(listener, error)
    }
  }

  /** The same function for callers that must not see it fail; undefined stays undefined. */
  callback<A extends unknown[]>(listener: string, fn: (...args: A) => unknown): (...args: A) => void
  callback<A extends unknown[]>(
    listener: string,
    fn: ((...args: A) => unknown) | undefined,
  ): ((...args: A) => void) | undefined
  callback<A extends unknown[]>(listener: string, fn: ((...args: A) => unknown) | undefined) {
    if (!fn || guarded.has(fn)) return fn
    const callback = (...args: A): void => {
      try {
        const given = fn(...args)
        if (given !== undefined && isThenable(given)) this.#follow(listener, given)
      } catch (error) {
        this.#failed(listener, error)
      }
    }
    guarded.add(callback)
    return callback
  }

  /** The same listeners, of which each one's methods are called through this guard. */
  listeners<T extends object>(listener: string, events: T): T {
    const methods = Object.entries(events).filter(([, method]) => typeof method === 'function')
    return Object.fromEntries(
      methods.map(([name, method]) => [
        name,
        guarded.has(method) ? method : this.callback(listener, method.bind(events)),
      ]),
    ) as T
  }

  #follow(listener: string, given: PromiseLike<unknown>): void {
    // An asynchronous callback that rejects would end the process.
    Promise.resolve(given).then(undefined, (error: unknown) => this.#failed(listener, error))
  }

  #failed(listener: string, error: unknown): void {
    const now = this.#clock.now()
    const known = this.#standing.get(listener) ?? { failures: 0, toldAt: Number.NEGATIVE_INFINITY }
    this.#standing.set(listener, known)
    known.failures += 1
    try {
      this.#events.failed?.(listener)
      if (now - known.toldAt < quietMs) return
      const { failures } = known
      known.toldAt = now
      known.failures = 0
      this.#events.told?.({ listener, fault: faultOf(error), failures })
    } catch {
      // Whoever hears of failures has failed too: there is nobody left to tell.
    }
  }
}

function isThenable(given: unknown): given is PromiseLike<unknown> {
  return (
    typeof given === 'object' && given !== null && typeof (given as { then?: unknown }).then === 'function'
  )
}

/** The name of an error and where it was thrown. Its message is left out, since it may quote a sample. */
function faultOf(error: unknown): string {
  if (!(error instanceof Error)) return `threw a value of type ${typeof error}`
  const name = /^[A-Za-z]{1,60}$/.test(error.name) ? error.name : 'Error'
  const { message, stack } = error
  // The stack begins with the message, which may look like a place itself.
  const frames = typeof stack === 'string' ? stack.indexOf(message) + message.length : -1
  if (typeof stack !== 'string' || frames < message.length) return `threw ${name}`
  const place = /^ {4}at .{0,500}?([\w.-]{1,100}:\d{1,9}:\d{1,9})\)?$/m.exec(
    stack.slice(frames, frames + 5000),
  )
  return place ? `threw ${name} at ${place[1]}` : `threw ${name}`
}
