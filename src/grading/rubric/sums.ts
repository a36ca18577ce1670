/** How the scores of a rubric's criteria become one. Each sum is a pure function; `published` ones keep the original's faults. */

/** What was found of one criterion. `score`: 0 (does not hold) to 1 (holds). */
export interface Weighed {
  /** Negative: the criterion names a fault. */
  readonly weight: number
  readonly score: number
}

const sumOf = (items: readonly Weighed[], of: (item: Weighed) => number): number =>
  items.reduce((sum, item) => sum + of(item), 0)

const earned = ({ weight, score }: Weighed): number => weight * score
const size = ({ weight }: Weighed): number => Math.abs(weight)
const positive = ({ weight }: Weighed): number => Math.max(weight, 0)

/**
 * The share of the weight that was earned: of the positive weight as HealthBench has it, or of all weight (`absolute`) as
 * Open-Instruct. At most 1; faults make it negative. A list of faults alone has nothing to earn: what is left of 1 is its
 * score. null: no weight at all.
 */
export function weightedShare(
  items: readonly Weighed[],
  normalise: 'positive' | 'absolute' = 'positive',
): number | null {
  const all = sumOf(items, size)
  if (all === 0) return null
  const gain = sumOf(items, positive)
  if (gain === 0) return 1 + sumOf(items, earned) / all
  return sumOf(items, earned) / (normalise === 'positive' ? gain : all)
}

/** HealthBench's score of a row, which may be negative; null: it has no positive points. `met`: 0 or 1. */
export function healthBenchScore(items: readonly Weighed[]): number | null {
  const possible = sumOf(items, positive)
  return possible === 0 ? null : sumOf(items, earned) / possible
}

/** Open-Instruct's: -1 to 1 for scores from 0 to 1. 0 for a list without weight. */
export function openInstructShare(items: readonly Weighed[]): number {
  const all = sumOf(items, size)
  return all === 0 ? 0 : sumOf(items, earned) / all
}

/** The weights of Rubrics as Rewards (arXiv 2507.17746). Its pitfalls are worded so that one that holds is good. */
export const rarWeights: Readonly<Record<RarCategory, number>> = {
  Essential: 1,
  Important: 0.7,
  Optional: 0.3,
  Pitfall: 0.9,
}
export const rarCategories = ['Essential', 'Important', 'Optional', 'Pitfall'] as const
export type RarCategory = (typeof rarCategories)[number]

/** Rubrics as Rewards, equation 1, and the mean of verifiers' RubricJudge: Σ w·s / Σ w. null: the weights add up to nothing. */
export function rarShare(items: readonly Weighed[]): number | null {
  const all = sumOf(items, ({ weight }) => weight)
  return all > 0 ? sumOf(items, earned) / all : null
}

export const rewardkitSums = [
  'weighted-mean',
  'weighted-sum',
  'all-pass',
  'any-pass',
  'threshold',
  'required-pass',
] as const
export type RewardkitSum = (typeof rewardkitSums)[number]

/** What rewardkit adds up. */
export interface RewardkitScore extends Weighed {
  readonly optional: boolean
}

/** rewardkit's score of its criteria. null where it throws: weights that its sum does not take. No criteria: 0. */
export function rewardkitScore(
  items: readonly RewardkitScore[],
  sum: RewardkitSum,
  threshold: number,
): number | null {
  if (items.length === 0) return 0
  if (items.some(({ weight }) => !Number.isFinite(weight) || (weight < 0 && sum !== 'weighted-sum')))
    return null
  const passes = ({ score }: Weighed): boolean => score >= 1
  switch (sum) {
    case 'all-pass':
      return Number(items.every(passes))
    case 'any-pass':
      return Number(items.some(passes))
    case 'required-pass': {
      const required = items.filter(({ optional }) => !optional)
      return Number(required.length > 0 && required.every(passes))
    }
    case 'weighted-sum':
      return finite(sumOf(items, earned))
    default: {
      const all = sumOf(items, ({ weight }) => weight)
      const mean = finite(all === 0 ? 0 : sumOf(items, earned) / all)
      return mean === null || sum === 'weighted-mean' ? mean : Number(mean >= threshold)
    }
  }
}

const finite = (value: number): number | null => (Number.isFinite(value) ? value : null)
