const windowSize = 256
const leastSamples = 20

/** How long the latest answers took. */
export class LatencyWindow {
  readonly #window: number[] = []
  #next = 0
  #sorted: readonly number[] = []
  #unseen = 0

  /** Counts an answer that took so many milliseconds. */
  observe(ms: number): void {
    this.#window[this.#next] = ms
    this.#next = (this.#next + 1) % windowSize
    this.#unseen += 1
  }

  /** What this share of them took at most, milliseconds; null: fewer than 20 came. */
  quantile(share: number): number | null {
    if (this.#window.length < leastSamples) return null
    // Sorting for every answer would cost more than the estimate is worth.
    if (this.#sorted.length === 0 || this.#unseen >= 16) {
      this.#sorted = this.#window.toSorted((a, b) => a - b)
      this.#unseen = 0
    }
    const at = Math.min(this.#sorted.length - 1, Math.floor(this.#sorted.length * share))
    return this.#sorted[at] ?? null
  }
}
