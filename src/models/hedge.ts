const windowSize = 256
const leastSamples = 20
const burst = 100

/** When an answer is late, and how many second calls there may be. */
export class Hedge {
  readonly #share: number
  readonly #quantile: number
  readonly #window: number[] = []
  #next = 0
  #purse = 0
  #delay: number | null = null
  #stale = 0

  /** `share`: second calls per call; `quantile`: the share of answers that come in time. */
  constructor(share: number, quantile: number) {
    this.#share = share
    this.#quantile = quantile
  }

  /** Counts a call. */
  earn(): void {
    this.#purse = Math.min(this.#purse + this.#share, burst)
  }

  /** Pays for a second call; false: there is nothing left. */
  spend(): boolean {
    if (this.#purse < 1) return false
    this.#purse -= 1
    return true
  }

  observe(ms: number): void {
    this.#window[this.#next] = ms
    this.#next = (this.#next + 1) % windowSize
    this.#stale += 1
  }

  /** Milliseconds after which a call is late; null: too few answers to tell. */
  lateAfterMs(): number | null {
    if (this.#window.length < leastSamples) return null
    // Sorting for every call would cost more than the estimate is worth.
    if (this.#delay === null || this.#stale >= 16) {
      const sorted = this.#window.toSorted((a, b) => a - b)
      this.#delay = sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * this.#quantile))] ?? null
      this.#stale = 0
    }
    return this.#delay
  }
}
