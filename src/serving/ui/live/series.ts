import type { ShownPoint, ShownReward, ShownSeries } from '../../telemetry/live/series.ts'

/** The last 10 minutes or the last 4 hours. */
export type Span = 'recent' | 'long'

/** Slots that are shown of each span. */
const slotCount = 120

interface Stretch {
  readonly width: number
  readonly points: Map<number, ShownPoint>
}

/** A series as received so far. */
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

/** A reward as received so far. */
export interface KnownReward {
  readonly version: string
  rows: number
  invalid: Readonly<Record<string, number>>
  readonly rewards: KnownSeries
  readonly terms: readonly KnownTerm[]
}

/** Merges an update into what is known; a new version of the reward starts over. */
export function mergeUpdate(known: KnownReward | undefined, update: ShownReward): KnownReward {
  if (known?.version !== update.version) return started(update)
  known.rows = update.rows
  known.invalid = update.invalid
  add(known.rewards, update.rewards)
  for (const [at, term] of update.terms.entries()) {
    const own = known.terms[at]
    if (!own) continue
    own.ended = term.ended
    add(own.scores, term.scores)
  }
  return known
}

const started = ({ version, rows, invalid, rewards, terms }: ShownReward): KnownReward => ({
  version,
  rows,
  invalid,
  rewards: seriesOf(rewards),
  terms: terms.map(({ name, ended, scores }) => ({ name, ended, scores: seriesOf(scores) })),
})

function seriesOf(update: ShownSeries): KnownSeries {
  const { range, recent, long } = update
  const known: KnownSeries = {
    range,
    recent: { width: recent.width, points: new Map() },
    long: { width: long.width, points: new Map() },
  }
  add(known, update)
  return known
}

function add(known: KnownSeries, update: ShownSeries): void {
  const hasNewRange = known.range[0] !== update.range[0] || known.range[1] !== update.range[1]
  known.range = update.range
  for (const span of ['recent', 'long'] as const) {
    const { points, width } = known[span]
    if (hasNewRange) points.clear()
    for (const point of update[span].points) points.set(point[0], point)
    const newest = Math.max(0, ...update[span].points.map(([at]) => at))
    for (const at of points.keys()) if (at <= newest - slotCount * width) points.delete(at)
  }
}

/** The last slots of a span up to now, oldest first; null if a slot has no values. */
export function slotsOf(
  series: KnownSeries,
  span: Span,
  now: number,
  length = slotCount,
): readonly (ShownPoint | null)[] {
  const { width, points } = series[span]
  const last = Math.floor(now / width) * width
  return Array.from({ length }, (_, at) => points.get(last - (length - 1 - at) * width) ?? null)
}

/** Slots that a chart shows at least. */
const fewestSlots = 12

/** How many slots reach back to the oldest value of these series, so that a chart of a young gateway is not empty. */
export function lengthOf(all: readonly KnownSeries[], span: Span, now: number): number {
  const starts = all.flatMap((series) => [...series[span].points.keys()])
  const width = all[0]?.[span].width ?? 1
  const age = Math.ceil((now - Math.min(now, ...starts)) / width) + 1
  return Math.min(slotCount, Math.max(fewestSlots, age))
}

/** The mean of each slot; null if it has no values. */
export const meansOf = (slots: readonly (ShownPoint | null)[]): (number | null)[] =>
  slots.map((slot) => (slot ? slot[2] / slot[1] : null))

/** The number of values in these slots, their mean and their distribution. */
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
