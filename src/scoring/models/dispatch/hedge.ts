import type { Clock } from '../../../core/clock.ts'
import type { PoolMember } from '../pool/pool-member.ts'
import { LatencyWindow } from '../pool/pool-member.ts'

const mostSaved = 100

/** An answer so many times later than late is asked for again even while other questions wait in line. */
const veryLate = 3

/** Second calls that only very late answers get. */
const keptForVeryLate = 8

/** Share of the second calls that is kept for the end of a line. */
const keptForEnd = 0.75

/** What is left of a line is late after this share of the latest answers at the soonest. */
const soonestAtEnd = 0.5

/** An instance so many times slower than the latest answers has no answer to wait for at the end of a line. */
const slowFactor = 2

/** A call under way that may become late. */
interface Tracked {
  readonly member: PoolMember
  readonly began: number
  readonly asked: number
  readonly late: () => void
}

/** Watches for late answers, and says for which of them a second call is made. */
export class Hedge {
  readonly #clock: Clock
  readonly #share: number
  readonly #quantile: number
  readonly #hasLine: () => boolean
  readonly #tracked = new Set<Tracked>()
  readonly #latencies = new LatencyWindow()
  #purse = 0
  #keptForVeryLate = 0
  #keptForEnd = 0
  #lastLine = Number.NEGATIVE_INFINITY
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
    this.#keptForVeryLate = Math.min(this.#keptForVeryLate + this.#share / 4, keptForVeryLate)
    this.#keptForEnd = Math.min(this.#keptForEnd + this.#share * keptForEnd, mostSaved * keptForEnd)
    this.#purse = Math.min(this.#purse + this.#share, mostSaved)
  }

  /** Takes back what a second call was paid that was not made. */
  refund(): void {
    this.#purse += 1
  }

  /**
   * Watches a call that begins now, for a question whose first call began at `asked`; `late` is called at most once, when
   * a second call is due and paid for.
   */
  track(member: PoolMember, asked: number, late: () => void): () => void {
    const entry = { member, began: this.#clock.now(), asked, late }
    this.#tracked.add(entry)
    this.#look()
    return () => {
      this.#tracked.delete(entry)
    }
  }

  /** Counts an answer that took so long. */
  observe(ms: number): void {
    this.#latencies.observe(ms)
  }

  /** Milliseconds after which an answer is late; null: too few came to tell. */
  get lateAfterMs(): number | null {
    return this.#latencies.quantile(this.#quantile)
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
    const now = this.#clock.now()
    const hasLine = this.#hasLine()
    if (hasLine) this.#lastLine = now
    const limit = this.lateAfterMs
    if (limit === null || this.#purse < 1) return
    const atEnd = this.#atEnd()
    const due: { entry: Tracked; kept: number }[] = []
    for (const entry of this.#tracked) {
      const age = now - entry.began
      const isVeryLate = age >= veryLate * limit
      if (hasLine) {
        if (!isVeryLate) break
        due.push({ entry, kept: this.#keptForEnd })
      } else if (entry.asked <= this.#lastLine) {
        if (age >= atEnd.limit(entry.member)) due.push({ entry, kept: isVeryLate ? 0 : atEnd.kept })
      } else if (age >= limit) due.push({ entry, kept: isVeryLate ? 0 : this.#keptForVeryLate })
    }
    due.sort((a, b) => b.entry.member.latencyMs - a.entry.member.latencyMs)
    for (const { entry, kept } of due) {
      if (this.#purse < 1 + kept) continue
      this.#purse -= 1
      this.#tracked.delete(entry)
      entry.late()
    }
  }

  /**
   * What of a line is late at its end, by instance: the less there is left for each second call that is, the sooner, since
   * places are free by then and the last answer is what everybody waits for.
   */
  #atEnd(): { kept: number; limit(member: PoolMember): number } {
    const left = this.#tracked.size
    const kept = Math.min(keptForVeryLate, left / 2)
    const share = 1 - Math.max(this.#purse - kept, 0) / (2 * left)
    const late = this.#latencies.quantile(Math.min(Math.max(share, soonestAtEnd), this.#quantile)) ?? 0
    const typical = this.#latencies.quantile(0.5) ?? 0
    return { kept, limit: ({ latencyMs }) => (latencyMs > slowFactor * typical ? 0 : late) }
  }
}
