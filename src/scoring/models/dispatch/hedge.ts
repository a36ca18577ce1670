import type { Clock } from '../../../core/clock.ts'
import type { PoolMember } from '../pool/pool-member.ts'
import { LatencyWindow } from '../pool/pool-member.ts'

const mostSaved = 100

/** An answer this many times later than late is hedged even while other questions are queued. */
const veryLate = 3

/** Hedges reserved for very late answers. */
const keptForVeryLate = 8

/** Share of the hedges reserved for the end of a queue. */
const keptForEnd = 0.75

/** At the end of a queue, an answer is never late before this quantile of recent latencies. */
const soonestAtEnd = 0.5

/** At the end of a queue, calls on instances slower than this multiple of the median are hedged at once. */
const slowFactor = 2

/** A call in flight that may become late. */
interface Tracked {
  readonly member: PoolMember
  readonly began: number
  readonly asked: number
  readonly late: () => void
}

/** Watches for late answers and decides which of them get a second call. */
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

  /** `share`: hedges per question. `quantile`: share of answers that are in time. `hasLine`: whether questions are queued. */
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

  /** Refunds a hedge that was paid for but not made. */
  refund(): void {
    this.#purse += 1
  }

  /**
   * Watches a call that begins now, for a question whose first call began at `asked`. Calls `late` at most once, when a hedge
   * is due and paid for.
   */
  track(member: PoolMember, asked: number, late: () => void): () => void {
    const entry = { member, began: this.#clock.now(), asked, late }
    this.#tracked.add(entry)
    this.#look()
    return () => {
      this.#tracked.delete(entry)
    }
  }

  /** Records the latency of an answer. */
  observe(ms: number): void {
    this.#latencies.observe(ms)
  }

  /** Milliseconds after which an answer is late; null until enough answers are known. */
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

  /** Slowest instances first: their calls have the longest to go. */
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
   * When an answer is late at the end of a queue, by instance. The fewer calls are left per affordable hedge, the sooner: slots
   * are free by then, and everybody waits for the last answer.
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
