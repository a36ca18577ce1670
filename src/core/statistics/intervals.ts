import { seeded } from './random.ts'

/** The value below which this share of sorted numbers lies, between neighbours linearly; NaN of nothing. */
export function quantile(sorted: ArrayLike<number>, share: number): number {
  const at = share * (sorted.length - 1)
  const [low, high] = [sorted[Math.floor(at)] ?? Number.NaN, sorted[Math.ceil(at)] ?? Number.NaN]
  return low + (high - low) * (at - Math.floor(at))
}

/** The standard normal distribution's share below z, within 1e-7 (Abramowitz and Stegun 7.1.26). */
function normalShare(z: number): number {
  const x = Math.abs(z) / Math.SQRT2
  const t = 1 / (1 + 0.3275911 * x)
  const series =
    t * (0.254829592 + t * (-0.284496736 + t * (1.421413741 + t * (-1.453152027 + t * 1.061405429))))
  const tail = (series * Math.exp(-x * x)) / 2
  return z > 0 ? 1 - tail : tail
}

/** Student's t at which the upper tail is 2.5 %, for so many degrees of freedom, at least 1; within 1 % from 2 on. */
function studentT(freedom: number): number {
  const z = 1.959964
  if (freedom === 1) return 12.706
  if (freedom === 2) return 4.303
  const [one, two, three] = [
    (z ** 3 + z) / 4,
    (5 * z ** 5 + 16 * z ** 3 + 3 * z) / 96,
    (3 * z ** 7 + 19 * z ** 5 + 17 * z ** 3 - 15 * z) / 384,
  ]
  return z + one / freedom + two / freedom ** 2 + three / freedom ** 3
}

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

/**
 * Wilson's score interval of a share: `successes` of `trials`, with `z` standard deviations (1.96: 95 %). [0, 1] of no
 * trial. Wilson 1927.
 */
export function wilson(successes: number, trials: number, z = 1.96): readonly [low: number, high: number] {
  if (trials === 0) return [0, 1]
  const share = successes / trials
  const scale = 1 + z ** 2 / trials
  const center = (share + z ** 2 / (2 * trials)) / scale
  const reach = (z / scale) * Math.sqrt((share * (1 - share)) / trials + z ** 2 / (4 * trials ** 2))
  return [Math.max(0, center - reach), Math.min(1, center + reach)]
}
