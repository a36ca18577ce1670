import type { Series, Slot, Slots } from './series.ts'
import type { TrackedReward } from './tracked-reward.ts'

/** A slot of a series: when it began (milliseconds since the epoch), values, their sum, and pairs of bin and count. */
export type ShownPoint = readonly [at: number, n: number, sum: number, bins: readonly number[]]

/** A series as the page gets it; `width` is that of a slot in milliseconds. */
export interface ShownSeries {
  readonly range: readonly [number, number]
  readonly recent: { readonly width: number; readonly points: readonly ShownPoint[] }
  readonly long: { readonly width: number; readonly points: readonly ShownPoint[] }
}

/** A reward's counts and series as the page gets them. */
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

/** Slots that ended before `since` (milliseconds since the epoch) are left out; 0: none is. */
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
  // Other bins than before: every slot is told again.
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
