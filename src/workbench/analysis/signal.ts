import { binaryEntropy, extent, mean, variance } from '../../core/statistics/summary.ts'
import { fixed, percent } from './decimals.ts'

/** How much the answers to one prompt can teach: nothing where all earn the same. */
export interface GroupSignal {
  readonly mean: number
  /** Population variance. */
  readonly variance: number
  /** Bits, of the mean as a share of successes; 0 at and beyond its ends. */
  readonly entropy: number
}

/** Of the answers to one prompt; NaN of none. */
export function groupSignal(scores: readonly number[]): GroupSignal {
  const center = mean(scores)
  return { mean: center, variance: variance(scores), entropy: binaryEntropy(center) }
}

/** Means over groups, as the study prints them. */
export function signalOver(groups: readonly GroupSignal[]) {
  return {
    avg_accuracy: percent(mean(groups.map((group) => group.mean))),
    avg_variance: fixed(mean(groups.map((group) => group.variance)), 4),
    avg_entropy: fixed(mean(groups.map((group) => group.entropy)), 4),
  }
}

/** Where a group is worth training on: neither solved nor hopeless (verl-study's thresholds). */
export interface HighValue {
  readonly varianceMin: number
  readonly entropyMin: number
  readonly limit: number
}

/** verl-study's thresholds, and as many groups as it shows. */
export const highValueDefaults: HighValue = { varianceMin: 0.05, entropyMin: 0.2, limit: 10 }

/** `top`: the indices of the first `limit` of them, by falling variance, then by index. */
export function highValueRows(
  groups: readonly Pick<GroupSignal, 'variance' | 'entropy'>[],
  { varianceMin, entropyMin, limit }: HighValue = highValueDefaults,
): { readonly found: number; readonly top: readonly number[] } {
  const found = groups
    .map(({ variance, entropy }, index) => ({ variance, entropy, index }))
    .filter(({ variance, entropy }) => variance >= varianceMin && entropy >= entropyMin)
    .sort((a, b) => b.variance - a.variance || a.index - b.index)
  return { found: found.length, top: found.slice(0, limit).map(({ index }) => index) }
}

/** Countdown's report over groups of scores: a group is solved where one of its answers earns 1 or more. */
export function solvedReport(groups: readonly (readonly number[])[]) {
  const signals = groups.map((scores) => {
    const signal = groupSignal(scores)
    return { ...signal, entropy: binaryEntropy(Math.min(1, Math.max(0, signal.mean))) }
  })
  const best = groups.map((scores) => extent(scores)[1])
  const { avg_accuracy, ...rest } = signalOver(signals)
  const failed = best.filter((score) => score === 0).length
  return {
    mean_accuracy: avg_accuracy,
    pass_at_n: percent(mean(best.map((score) => Number(score >= 1)))),
    ...rest,
    failed_groups: failed,
    success_groups: groups.length - failed,
  }
}
