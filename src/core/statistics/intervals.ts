import { seeded } from './random.ts'

/** The value at this share of sorted numbers, with linear interpolation. NaN if there are none. */
export function quantile(sorted: ArrayLike<number>, share: number): number {
  const at = share * (sorted.length - 1)
  const [low, high] = [sorted[Math.floor(at)] ?? Number.NaN, sorted[Math.ceil(at)] ?? Number.NaN]
  return low + (high - low) * (at - Math.floor(at))
}

/** The standard normal distribution function, accurate to 1e-7 (Abramowitz and Stegun 7.1.26). */
function normalShare(z: number): number {
  const x = Math.abs(z) / Math.SQRT2
  const t = 1 / (1 + 0.3275911 * x)
  const series =
    t * (0.254829592 + t * (-0.284496736 + t * (1.421413741 + t * (-1.453152027 + t * 1.061405429))))
  const tail = (series * Math.exp(-x * x)) / 2
  return z > 0 ? 1 - tail : tail
}

/**
 * The 97.5 % quantile of Student's t distribution for at least 1 degree of freedom, accurate to 1 % from 2
 * on.
 */
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

export type Interval = readonly [low: number, high: number]

/** Clusters for a bootstrap, by column: each cluster's sum and its number of values. */
export interface Clusters {
  readonly sums: readonly Float64Array[]
  readonly counts: readonly Float64Array[]
}

/** The seed and the number of resamples. */
export interface BootstrapOptions {
  readonly seed: number
  readonly rounds: number
}

/**
 * The mean of each column in each resample. Clusters are drawn with replacement, and all columns share the
 * draws. NaN if a resample has no value. Deterministic for a seed.
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
 * The 95 % interval from bootstrap means of `units` clusters, as an expanded percentile interval (Hesterberg
 * 2015). null for fewer than two clusters.
 */
export function bootstrapInterval(means: Float64Array, units: number): Interval | null {
  const sorted = means.filter((value) => !Number.isNaN(value)).sort()
  if (units < 2 || sorted.length === 0) return null
  const share = normalShare(-Math.sqrt(units / (units - 1)) * studentT(units - 1))
  return [quantile(sorted, share), quantile(sorted, 1 - share)]
}

/**
 * Wilson's score interval of a proportion (Wilson 1927), with `z` standard deviations (1.96: 95 %). [0, 1]
 * without trials.
 */
export function wilson(successes: number, trials: number, z = 1.96): readonly [low: number, high: number] {
  if (trials === 0) return [0, 1]
  const share = successes / trials
  const scale = 1 + z ** 2 / trials
  const center = (share + z ** 2 / (2 * trials)) / scale
  const reach = (z / scale) * Math.sqrt((share * (1 - share)) / trials + z ** 2 / (4 * trials ** 2))
  return [Math.max(0, center - reach), Math.min(1, center + reach)]
}
