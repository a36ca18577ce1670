import type { FailureKind, Outcome } from '../../../core/sample/sample.ts'
import type { RequestDone } from '../../../scoring/engine/events.ts'
import { isBounded } from '../../../scoring/plan/fold.ts'

type Plan = RequestDone['plan']

/** A step of a reward: its terms by status, and its scores over time. */
interface TrackedTerm {
  readonly name: string
  readonly ended: Record<'scored' | 'text' | 'off' | 'failed', number>
  readonly scores: Series
}

/** What is counted of one version of a reward since it was first served. */
export class TrackedReward {
  readonly version: string
  readonly terms: readonly TrackedTerm[]
  readonly rewards: Series
  readonly invalid = new Map<FailureKind, number>()
  rows = 0

  constructor(plan: Plan, range: readonly [number, number] | null) {
    this.version = plan.version
    this.rewards = new Series(range)
    this.terms = plan.steps.map((step) => ({
      name: step.name,
      ended: { scored: 0, text: 0, off: 0, failed: 0 },
      scores: new Series(step.function.range),
    }))
  }

  count(outcome: Outcome, now: number): void {
    this.rows += 1
    if (outcome.valid) this.rewards.add(now, outcome.reward)
    else this.invalid.set(outcome.failure.kind, (this.invalid.get(outcome.failure.kind) ?? 0) + 1)
    const { terms } = outcome
    for (let at = 0; at < terms.length; at += 1) {
      const term = terms[at]
      const tracked = this.terms[at]
      if (!term || !tracked) continue
      tracked.ended[term.status] += 1
      if (term.status === 'scored') tracked.scores.add(now, term.score.value)
    }
  }
}

/** Slots that a series keeps of each length. */
const slotCount = 120
/** Bins of a distribution over a reward's range. */
const binCount = 20

/** The values of one interval. */
interface Slot {
  /** The number of the interval since the epoch. */
  readonly at: number
  n: number
  sum: number
  bins: Uint32Array
}

/** A ring of the newest intervals of one length; intervals without values have no slot. */
class Slots {
  readonly ms: number
  readonly #ring = new Array<Slot | undefined>(slotCount)

  constructor(ms: number) {
    this.ms = ms
  }

  add(now: number, bin: number, value: number): void {
    const at = Math.floor(now / this.ms)
    const place = at % slotCount
    let slot = this.#ring[place]
    if (slot?.at !== at) {
      slot = { at, n: 0, sum: 0, bins: new Uint32Array(binCount) }
      this.#ring[place] = slot
    }
    slot.n += 1
    slot.sum += value
    slot.bins[bin] = (slot.bins[bin] ?? 0) + 1
  }

  /** Slots in order of time, without expired ones and those before slot number `since`. */
  read(now: number, since = 0): Slot[] {
    const oldest = Math.max(since, Math.floor(now / this.ms) - slotCount + 1)
    return this.#ring
      .filter((slot) => slot !== undefined && slot.at >= oldest)
      .sort((a, b) => a!.at - b!.at) as Slot[]
  }

  /** Doubles the range: merges pairs of bins into its upper or lower half. */
  widen(half: 'lower' | 'upper'): void {
    const first = half === 'upper' ? binCount / 2 : 0
    for (const slot of this.#ring) {
      if (!slot) continue
      const bins = new Uint32Array(binCount)
      for (const [bin, count] of slot.bins.entries()) bins[first + (bin >> 1)]! += count
      slot.bins = bins
    }
  }
}

/** How often a range may double; values beyond count in the outermost bins. */
const maxDoublings = 60

/** Values over time: 10 minutes in slots of 5 s, 4 hours in slots of 2 min. */
class Series {
  readonly recent = new Slots(5000)
  readonly long = new Slots(120_000)
  #low: number
  #high: number
  #doublings = 0
  #widened = 0

  /** Without a finite range, the range grows with the values. */
  constructor(range: readonly [number, number] | null) {
    const bounds = range !== null && isBounded(range) ? range : null
    ;[this.#low, this.#high] = bounds ?? [0, 1]
    if (bounds) this.#doublings = maxDoublings
  }

  get range(): readonly [number, number] {
    return [this.#low, this.#high]
  }

  /** When the range last grew, in milliseconds since the epoch; 0 if never. */
  get widened(): number {
    return this.#widened
  }

  /** `value`: finite. `now`: milliseconds since the epoch. */
  add(now: number, value: number): void {
    while ((value < this.#low || value > this.#high) && this.#doublings < maxDoublings)
      this.#widen(now, value)
    const share = (value - this.#low) / (this.#high - this.#low)
    const bin = Math.min(binCount - 1, Math.max(0, Math.floor(share * binCount)))
    this.recent.add(now, bin, value)
    this.long.add(now, bin, value)
  }

  #widen(now: number, value: number): void {
    this.#doublings += 1
    this.#widened = now
    const width = this.#high - this.#low
    const half = value < this.#low ? 'upper' : 'lower'
    if (half === 'upper') this.#low -= width
    else this.#high += width
    this.recent.widen(half)
    this.long.widen(half)
  }
}

/** A slot of a series: its start (milliseconds since the epoch), number of values, sum, and pairs of bin and count. */
export type ShownPoint = readonly [at: number, n: number, sum: number, bins: readonly number[]]

/** A series as sent to the page; `width` is the length of a slot in milliseconds. */
export interface ShownSeries {
  readonly range: readonly [number, number]
  readonly recent: { readonly width: number; readonly points: readonly ShownPoint[] }
  readonly long: { readonly width: number; readonly points: readonly ShownPoint[] }
}

/** A reward's counts and series as sent to the page. */
export interface ShownReward {
  readonly version: string
  readonly rows: number
  readonly invalid: Readonly<Record<string, number>>
  readonly rewards: ShownSeries
  readonly terms: readonly {
    readonly name: string
    readonly ended: Readonly<Record<string, number>>
    readonly scores: ShownSeries
  }[]
}

/** Leaves out slots that ended before `since` (milliseconds since the epoch); 0 keeps all. */
export function shownReward(tracked: TrackedReward, now: number, since: number): ShownReward {
  return {
    version: tracked.version,
    rows: tracked.rows,
    invalid: Object.fromEntries(tracked.invalid),
    rewards: shownSeries(tracked.rewards, now, since),
    terms: tracked.terms.map(({ name, ended, scores }) => ({
      name,
      ended,
      scores: shownSeries(scores, now, since),
    })),
  }
}

function shownSeries({ range, recent, long, widened }: Series, now: number, since: number): ShownSeries {
  // The bins have changed, so every slot is sent again.
  const first = widened >= since ? 0 : since
  const shown = (slots: Slots) => ({
    width: slots.ms,
    points: slots.read(now, Math.floor(first / slots.ms)).map((slot) => pointOf(slot, slots.ms)),
  })
  return { range, recent: shown(recent), long: shown(long) }
}

const pointOf = ({ at, n, sum, bins }: Slot, ms: number): ShownPoint => [
  at * ms,
  n,
  Number(sum.toPrecision(9)),
  [...bins].flatMap((count, bin) => (count > 0 ? [bin, count] : [])),
]
