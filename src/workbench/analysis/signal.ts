import { binaryEntropy, mean, variance } from '../../core/statistics/summary.ts'

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
