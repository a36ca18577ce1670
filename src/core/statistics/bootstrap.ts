import { normalShare, quantile, studentT } from './quantiles.ts'
import { seeded } from './seeded.ts'

/** Low and high end. */
export type Interval = readonly [low: number, high: number]

/** Units that are drawn together, by column: the sum of a column's values in each unit, and how many they are. */
export interface Clusters {
  readonly sums: readonly Float64Array[]
  readonly counts: readonly Float64Array[]
}

/** What makes the draws the same again, and how many samples there are. */
export interface BootstrapOptions {
  readonly seed: number
  readonly rounds: number
}

/**
 * The mean of each column in so many samples of as many units, drawn with replacement; the units of one sample are the
 * same for all columns. NaN where none of them has a value. The same for the same seed.
 */
export function bootstrapMeans(
  { sums, counts }: Clusters,
  { seed, rounds }: BootstrapOptions,
): Float64Array[] {
  const units = sums[0]?.length ?? 0
  const random = seeded(seed)
  const means = sums.map(() => new Float64Array(rounds))
  const drawn = new Int32Array(units)
  for (let round = 0; round < rounds; round++) {
    for (let at = 0; at < units; at++) drawn[at] = Math.floor(random() * units)
    for (const [column, own] of means.entries()) {
      const [sum, count] = [sums[column] as Float64Array, counts[column] as Float64Array]
      let [total, n] = [0, 0]
      for (let at = 0; at < units; at++) {
        const unit = drawn[at] as number
        total += sum[unit] as number
        n += count[unit] as number
      }
      own[round] = total / n
    }
  }
  return means
}

/**
 * The 95 % interval from means of `units` drawn units: percentiles, moved out as far as few units need it (Hesterberg
 * 2015, the expanded percentile interval). null of fewer than two units.
 */
export function bootstrapInterval(means: Float64Array, units: number): Interval | null {
  const sorted = means.filter((value) => !Number.isNaN(value)).sort()
  if (units < 2 || sorted.length === 0) return null
  const share = normalShare(-Math.sqrt(units / (units - 1)) * studentT(units - 1))
  return [quantile(sorted, share), quantile(sorted, 1 - share)]
}
