import type { Clock } from '../clock.ts'

/** `half-open`: one question may try. */
export type BreakerState = 'closed' | 'open' | 'half-open'

const longestOpenMs = 60_000

/** Stops questions to an instance that fails; lets one through from time to time until one comes back. */
export class Breaker {
  state: BreakerState = 'closed'
  #failures = 0
  #opened = 0
  #cancel: (() => void) | null = null
  readonly #clock: Clock
  readonly #limit: number
  readonly #openMs: number
  readonly #changed: (state: BreakerState) => void

  constructor(
    clock: Clock,
    settings: { failures: number; openMs: number },
    changed: (state: BreakerState) => void,
  ) {
    this.#clock = clock
    this.#limit = settings.failures
    this.#openMs = settings.openMs
    this.#changed = changed
  }

  succeeded(): void {
    this.#failures = 0
    if (this.state !== 'closed') this.close()
  }

  /** `atOnce`: nothing listens at the address, so there is no need to see it several times. */
  failed(atOnce = false): void {
    this.#failures += 1
    if (this.state === 'half-open' || (this.state === 'closed' && (atOnce || this.#failures >= this.#limit)))
      this.open()
  }

  open(): void {
    this.#cancel?.()
    const ms = Math.min(this.#openMs * 2 ** Math.min(this.#opened, 16), longestOpenMs)
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
