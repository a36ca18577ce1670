import { binaryEntropy, extent, mean, variance } from '../../core/statistics/summary.ts'
import { fixed, percent } from './decimals.ts'

/** How much the answers to one prompt can teach. Zero variance teaches nothing. */
export interface GroupSignal {
  readonly mean: number
  /** Population variance. */
  readonly variance: number
  /** In bits, of the mean as a success rate. 0 if the mean is not strictly between 0 and 1. */
  readonly entropy: number
}

/** NaN if there are no scores. */
export function groupSignal(scores: readonly number[]): GroupSignal {
  const center = mean(scores)
  return { mean: center, variance: variance(scores), entropy: binaryEntropy(center) }
}

/** Means over groups, in the form that the recorded cases of Countdown have (test/vectors/verl-study.ts). */
export function signalOver(groups: readonly GroupSignal[]) {
  return {
    avg_accuracy: percent(mean(groups.map((group) => group.mean))),
    avg_variance: fixed(mean(groups.map((group) => group.variance)), 4),
    avg_entropy: fixed(mean(groups.map((group) => group.entropy)), 4),
  }
}

/** Thresholds for groups worth training on, which are neither solved nor hopeless. */
export interface HighValue {
  readonly varianceMin: number
  readonly entropyMin: number
  readonly limit: number
}

/** Thresholds for rewards from 0 to 1, and the number of groups that are shown. */
export const highValueDefaults: HighValue = { varianceMin: 0.05, entropyMin: 0.2, limit: 10 }

/** `top`: the indices of the first `limit` groups, by falling variance, then by index. */
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

/**
 * The report of the recorded cases of Countdown: rewards as they are, means outside of 0 to 1 count as its ends. A group is
 * solved if one of its answers earns at least 1.
 */
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
