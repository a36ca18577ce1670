import type { Clock } from '../../../core/clock.ts'

/** `half-open`: one question may try the server. */
export type BreakerState = 'closed' | 'open' | 'half-open'

/** When a circuit breaker opens, and for how long. */
export interface BreakerSettings {
  /** Consecutive failures that open it. */
  readonly failures: number
  /** Milliseconds until one question tries again. Doubles each time, up to a minute. */
  readonly openMs: number
}

const longestOpenMs = 60_000
/** Bounds on how long a server may answer nothing but 503. */
const leastPatienceMs = 1000
const mostPatienceMs = 10_000

/** A circuit breaker: stops questions to a failing server, and lets one through at intervals until one succeeds. */
export class Breaker {
  state: BreakerState = 'closed'
  /** New settings apply from the next failure on. */
  settings: BreakerSettings
  #failures = 0
  /** Since when the server has answered only 503, and how often. */
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

  /** `atOnce`: one failure opens it. */
  failed(atOnce = false): void {
    this.#failures += 1
    this.#refusals = null
    const isEnough = atOnce || this.#failures >= this.settings.failures
    if (this.state === 'half-open' || (this.state === 'closed' && isEnough)) this.open()
  }

  /**
   * The server answered 503. A busy server does so too, but answers some questions, or says in Retry-After (`waitMs`) how
   * long to wait. A server that answers only 503 for `patienceMs` is considered down.
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

  /** Cancels its timer. */
  end(): void {
    this.#cancel?.()
  }

  #enter(state: BreakerState): void {
    if (this.state === state) return
    this.state = state
    this.#changed(state)
  }
}
