import { type Clock, systemClock } from '../../core/clock.ts'
import type { FunctionEvent } from '../../scoring/functions/events.ts'
import { add, redacted, textsOf } from './redacted.ts'

type Failed = Extract<FunctionEvent, { type: 'failed' }>

/** Different failures of one function that get a line of their own within a window. */
const mostDifferent = 5
const windowMs = 60_000

/** What a log line of a function's failures holds. */
export type FaultLine =
  | {
      readonly function: string
      readonly op: Failed['op']
      readonly cause: Failed['cause']
      readonly failure: string
      readonly detail: string
      readonly error?: string
    }
  | { readonly function: string; readonly failures: number; readonly seconds: number }

interface Window {
  readonly until: number
  readonly details: Set<string>
  failures: number
}

/**
 * Failures of reward functions as log lines: each different one of a function at once, and once a minute how many more
 * there were. No line holds a sample's words.
 */
export class FunctionFaults {
  readonly #windows = new Map<string, Window>()
  readonly #write: (line: FaultLine) => void
  readonly #clock: Clock

  constructor(write: (line: FaultLine) => void, clock: Clock = systemClock) {
    this.#write = write
    this.#clock = clock
  }

  /** A listener of function events. */
  readonly note = (event: FunctionEvent): void => {
    if (event.type !== 'failed') return
    const { name, op, cause, failure } = event
    const window = this.#windowOf(name)
    const key = `${cause} ${failure.detail}`
    if (window.details.has(key) || window.details.size >= mostDifferent) {
      window.failures++
      return
    }
    window.details.add(key)
    const error = event.error === null ? undefined : redacted(event.error, textsIn(event))
    this.#write({
      function: name,
      op,
      cause,
      failure: failure.kind,
      detail: failure.detail,
      ...(error && { error }),
    })
  }

  #windowOf(name: string): Window {
    const now = this.#clock.now()
    let window = this.#windows.get(name)
    if (window && now < window.until) return window
    if (window) this.#tell(name, window)
    window = { until: now + windowMs, details: new Set(), failures: 0 }
    this.#windows.set(name, window)
    return window
  }

  /** Says what has been counted since the last lines; windows that are over go. */
  flush(): void {
    const now = this.#clock.now()
    for (const [name, window] of this.#windows) {
      if (now < window.until) continue
      this.#tell(name, window)
      this.#windows.delete(name)
    }
  }

  #tell(name: string, { failures }: Window): void {
    if (failures > 0) this.#write({ function: name, failures, seconds: windowMs / 1000 })
  }
}

function textsIn({ rows, answer }: Failed): string[] {
  const texts: string[] = []
  for (const { sample, earlier } of rows) {
    for (const text of textsOf(sample)) texts.push(text)
    for (const step of Object.values(earlier)) for (const text of step.texts) texts.push(text)
  }
  add(answer as Parameters<typeof add>[0], texts, 0)
  return texts
}
