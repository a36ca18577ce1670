import type { Clock } from '../../../core/clock.ts'

/** `half-open`: one question may try. */
export type BreakerState = 'closed' | 'open' | 'half-open'

/** When a breaker opens, and for how long. */
export interface BreakerSettings {
  /** Failures in a row that open it. */
  readonly failures: number
  /** Before one question tries again, milliseconds; doubles each time up to a minute. */
  readonly openMs: number
}

const longestOpenMs = 60_000
/** For so long, between these, a server may answer nothing but 503. */
const leastPatienceMs = 1000
const mostPatienceMs = 10_000

/** Stops questions to a server that fails; lets one through from time to time until one comes back. */
export class Breaker {
  state: BreakerState = 'closed'
  /** They count from the next failure on. */
  settings: BreakerSettings
  #failures = 0
  /** Since when nothing but 503 came, and how many. */
  #refusals: { readonly since: number; count: number } | null = null
  #opened = 0
  #cancel: (() => void) | null = null
  readonly #clock: Clock
  readonly #changed: (state: BreakerState) => void

  constructor(clock: Clock, settings: BreakerSettings, changed: (state: BreakerState) => void) {
    this.#clock = clock
    this.settings = settings
    this.#changed = changed
  }

  succeeded(): void {
    this.#failures = 0
    this.#refusals = null
    if (this.state !== 'closed') this.close()
  }

  /** `atOnce`: one failure is enough. */
  failed(atOnce = false): void {
    this.#failures += 1
    this.#refusals = null
    const isEnough = atOnce || this.#failures >= this.settings.failures
    if (this.state === 'half-open' || (this.state === 'closed' && isEnough)) this.open()
  }

  /**
   * The server took no question: it answered 503. One that has too much to do does so too, but answers some, or tells by
   * Retry-After (`waitMs`) how long to leave it alone. Nothing but 503 for `patienceMs`, in which it would have answered others,
   * is a server that is out of work.
   */
  refused(waitMs: number, patienceMs: number): void {
    if (this.state !== 'closed') {
      this.failed()
      return
    }
    if (waitMs > 0) return
    const now = this.#clock.now()
    this.#refusals ??= { since: now, count: 0 }
    this.#refusals.count += 1
    const ms = Math.min(Math.max(patienceMs, leastPatienceMs), mostPatienceMs)
    if (this.#refusals.count >= this.settings.failures && now - this.#refusals.since >= ms) this.open()
  }

  open(): void {
    this.#cancel?.()
    this.#refusals = null
    const ms = Math.min(this.settings.openMs * 2 ** Math.min(this.#opened, 16), longestOpenMs)
    this.#opened += 1
    this.#cancel = this.#clock.after(ms, () => this.#enter('half-open'))
    this.#enter('open')
  }

  close(): void {
    this.#cancel?.()
    this.#cancel = null
    this.#failures = 0
    this.#opened = 0
    this.#enter('closed')
  }

  /** Ends its timer. */
  end(): void {
    this.#cancel?.()
  }

  #enter(state: BreakerState): void {
    if (this.state === state) return
    this.state = state
    this.#changed(state)
  }
}
