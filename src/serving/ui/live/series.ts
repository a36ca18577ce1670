import type { ShownPoint, ShownReward, ShownSeries } from '../../telemetry/live/series.ts'

/** The last minutes, or the last hours. */
export type Span = 'recent' | 'long'

/** Slots of each length that are shown. */
const slotCount = 120

interface Stretch {
  readonly width: number
  readonly points: Map<number, ShownPoint>
}

/** One series as it has been told so far. */
export interface KnownSeries {
  range: readonly [number, number]
  readonly recent: Stretch
  readonly long: Stretch
}

interface KnownTerm {
  readonly name: string
  ended: Readonly<Record<string, number>>
  readonly scores: KnownSeries
}

/** One reward as it has been told so far. */
export interface KnownReward {
  readonly version: string
  rows: number
  invalid: Readonly<Record<string, number>>
  readonly rewards: KnownSeries
  readonly terms: readonly KnownTerm[]
}

/** Adds what was told to what is known; another version begins anew. */
export function merged(known: KnownReward | undefined, told: ShownReward): KnownReward {
  if (known?.version !== told.version) return begun(told)
  known.rows = told.rows
  known.invalid = told.invalid
  add(known.rewards, told.rewards)
  for (const [at, term] of told.terms.entries()) {
    const own = known.terms[at]
    if (!own) continue
    own.ended = term.ended
    add(own.scores, term.scores)
  }
  return known
}

const begun = ({ version, rows, invalid, rewards, terms }: ShownReward): KnownReward => ({
  version,
  rows,
  invalid,
  rewards: seriesOf(rewards),
  terms: terms.map(({ name, ended, scores }) => ({ name, ended, scores: seriesOf(scores) })),
})

function seriesOf(told: ShownSeries): KnownSeries {
  const { range, recent, long } = told
  const known: KnownSeries = {
    range,
    recent: { width: recent.width, points: new Map() },
    long: { width: long.width, points: new Map() },
  }
  add(known, told)
  return known
}

function add(known: KnownSeries, told: ShownSeries): void {
  const isOther = known.range[0] !== told.range[0] || known.range[1] !== told.range[1]
  known.range = told.range
  for (const span of ['recent', 'long'] as const) {
    const { points, width } = known[span]
    if (isOther) points.clear()
    for (const point of told[span].points) points.set(point[0], point)
    const newest = Math.max(0, ...told[span].points.map(([at]) => at))
    for (const at of points.keys()) if (at <= newest - slotCount * width) points.delete(at)
  }
}

/** The slots of a span up to now, the oldest first; null: nothing happened in it. */
export function slotsOf(series: KnownSeries, span: Span, now: number): readonly (ShownPoint | null)[] {
  const { width, points } = series[span]
  const last = Math.floor(now / width) * width
  return Array.from({ length: slotCount }, (_, at) => points.get(last - (slotCount - 1 - at) * width) ?? null)
}

/** The mean of each slot; null: nothing happened in it. */
export const meansOf = (slots: readonly (ShownPoint | null)[]): (number | null)[] =>
  slots.map((slot) => (slot ? slot[2] / slot[1] : null))

/** Values, their mean and their distribution over a span. */
export function summed(slots: readonly (ShownPoint | null)[]): {
  n: number
  mean: number | null
  bins: number[]
} {
  const bins = Array<number>(20).fill(0)
  let [n, sum] = [0, 0]
  for (const slot of slots) {
    if (!slot) continue
    n += slot[1]
    sum += slot[2]
    for (let at = 0; at < slot[3].length; at += 2) bins[slot[3][at] ?? 0]! += slot[3][at + 1] ?? 0
  }
  return { n, mean: n === 0 ? null : sum / n, bins }
}
