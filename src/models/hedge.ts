import type { Clock } from '../clock.ts'
import type { Instance } from './instance.ts'

const windowSize = 256
const leastSamples = 20
const mostSaved = 100
const lateInLine = 1.2

/** Second calls that are kept for answers so many times later than late, as far as a quarter of all earned goes. */
const kept = { calls: 8, times: 3 }

/** A call under way that may become late. */
interface Tracked {
  readonly instance: Instance
  readonly began: number
  readonly late: () => void
}

/** Watches for late answers, and says for which of them a second call is made. */
export class Hedge {
  readonly #clock: Clock
  readonly #share: number
  readonly #quantile: number
  readonly #hasLine: () => boolean
  readonly #tracked = new Set<Tracked>()
  readonly #window: number[] = []
  #next = 0
  #purse = 0
  #kept = 0
  #lateAfterMs: number | null = null
  #unseen = 0
  #cancelTimer: (() => void) | null = null

  /** `share`: second calls per question; `quantile`: the share of answers that come in time; `hasLine`: others wait. */
  constructor(clock: Clock, settings: { share: number; quantile: number; hasLine: () => boolean }) {
    this.#clock = clock
    this.#share = settings.share
    this.#quantile = settings.quantile
    this.#hasLine = settings.hasLine
  }

  /** Counts a question. */
  earn(): void {
    this.#kept = Math.min(this.#kept + this.#share / 4, kept.calls)
    this.#purse = Math.min(this.#purse + this.#share, mostSaved)
  }

  /** Takes back what a second call was paid that was not made. */
  refund(): void {
    this.#purse += 1
  }

  /** Watches a call that begins now; `late` is called at most once, when a second call is due and paid for. */
  track(instance: Instance, late: () => void): () => void {
    const entry = { instance, began: this.#clock.now(), late }
    this.#tracked.add(entry)
    this.#look()
    return () => {
      this.#tracked.delete(entry)
    }
  }

  /** Counts an answer that took so long. */
  observe(ms: number): void {
    this.#window[this.#next] = ms
    this.#next = (this.#next + 1) % windowSize
    this.#unseen += 1
  }

  /** Milliseconds after which an answer is late; null: too few came to tell. */
  get lateAfterMs(): number | null {
    if (this.#window.length < leastSamples) return null
    // Sorting for every answer would cost more than the estimate is worth.
    if (this.#lateAfterMs === null || this.#unseen >= 16) {
      const sorted = this.#window.toSorted((a, b) => a - b)
      this.#lateAfterMs =
        sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * this.#quantile))] ?? null
      this.#unseen = 0
    }
    return this.#lateAfterMs
  }

  end(): void {
    this.#cancelTimer?.()
  }

  #look(): void {
    if (this.#cancelTimer) return
    const ms = Math.min(Math.max((this.lateAfterMs ?? 500) / 10, 1), 1000)
    this.#cancelTimer = this.#clock.after(ms, () => {
      this.#cancelTimer = null
      this.#payForLate()
      if (this.#tracked.size > 0) this.#look()
    })
  }

  /** Those at the slowest instances first: they have the longest to go. */
  #payForLate(): void {
    const limit = this.lateAfterMs
    if (limit === null || this.#purse < 1) return
    // While others wait for a place, a second call is for what is very late: the rest is saved for the end of the line.
    const since = this.#clock.now() - (this.#hasLine() ? lateInLine * limit : limit)
    const late: Tracked[] = []
    for (const entry of this.#tracked) {
      if (entry.began > since) break
      late.push(entry)
    }
    late.sort((a, b) => b.instance.latencyMs - a.instance.latencyMs)
    for (const entry of late) {
      const isVeryLate = entry.began <= this.#clock.now() - kept.times * limit
      if (this.#purse < (isVeryLate ? 1 : 1 + this.#kept)) continue
      this.#purse -= 1
      this.#tracked.delete(entry)
      entry.late()
    }
  }
}
