/**
 * Listeners and callbacks are foreign code, or code that only observes. An error in one must neither end the
 * process nor cost a sample its outcome. So every call goes through a guard.
 */
import type { Clock } from './clock.ts'
import { errorPlace } from './error-place.ts'

/** Events about failing listeners. */
interface ListenerEvents {
  /** Called for each failure. `listener` is one of a closed set of names. */
  failed?(listener: string): void
  /** Called at most once a minute per listener. */
  told?(failure: ListenerFailure): void
}

/** Failures of one listener, reported together. */
export interface ListenerFailure {
  readonly listener: string
  /** The error's name and place. It quotes no text of a sample. */
  readonly fault: string
  /** Failures since the last report. */
  readonly failures: number
}

const quietMs = 60_000

/** Callbacks that are already guarded. */
const guarded = new WeakSet<object>()

/** Calls listeners and contains everything that they throw or reject with. */
export class ListenerGuard {
  readonly #clock: Clock
  readonly #events: ListenerEvents
  readonly #failures = new Map<string, { failures: number; toldAt: number }>()

  constructor(clock: Clock, events: ListenerEvents = {}) {
    this.#clock = clock
    this.#events = events
  }

  /** Calls `fn`. `listener` names it in failure reports. */
  run(listener: string, fn: () => unknown): void {
    try {
      const given = fn()
      if (isThenable(given)) this.#follow(listener, given)
    } catch (error) {
      this.#failed(listener, error)
    }
  }

  /** Wraps a callback so that its caller never sees it fail. undefined stays undefined. */
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

  /** Wraps an object of listeners so that each method is called through this guard. */
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
    // An unhandled rejection would end the process.
    Promise.resolve(given).then(undefined, (error: unknown) => this.#failed(listener, error))
  }

  #failed(listener: string, error: unknown): void {
    const now = this.#clock.now()
    const known = this.#failures.get(listener) ?? { failures: 0, toldAt: Number.NEGATIVE_INFINITY }
    this.#failures.set(listener, known)
    known.failures += 1
    try {
      this.#events.failed?.(listener)
      if (now - known.toldAt < quietMs) return
      const { failures } = known
      known.toldAt = now
      known.failures = 0
      this.#events.told?.({ listener, fault: errorPlace(error), failures })
    } catch {
      // The listener for failures failed too. There is nobody left to report to.
    }
  }
}

function isThenable(given: unknown): given is PromiseLike<unknown> {
  return (
    typeof given === 'object' && given !== null && typeof (given as { then?: unknown }).then === 'function'
  )
}

/**
 * Combines listeners of these events into one. Each is called through the guard under its own name, so that
 * what one throws affects no other. An event without listeners costs nothing.
 */
export function allOf<E extends object>(
  guard: ListenerGuard,
  names: readonly (keyof E & string)[],
  listeners: Readonly<Record<string, E | null | undefined>>,
): E {
  const told = names.flatMap((name) => {
    const tells = Object.entries(listeners).flatMap(([who, listener]) => {
      const tell = listener?.[name] as Tell | undefined
      return tell ? guard.callback(who, tell.bind(listener)) : []
    })
    const [only] = tells
    if (!only) return []
    const all: Tell = (event) => {
      for (const tell of tells) tell(event)
    }
    guarded.add(all)
    return [[name, tells.length === 1 ? only : all]]
  })
  return Object.fromEntries(told) as E
}

type Tell = (event: unknown) => void

/** The listeners of these rooms, each wrapped by the guard under its room's name. */
export function guardedEvents<E extends object>(
  guard: ListenerGuard,
  events: E,
  rooms: readonly (keyof E & string)[],
): E {
  const behind = rooms.flatMap((room) => {
    const given = events[room] as object | undefined
    return given ? [[room, guard.listeners(room, given)]] : []
  })
  return Object.fromEntries(behind) as E
}
