import { deviation, mean, pearson } from '../../core/statistics/summary.ts'
import { fixed } from './decimals.ts'
import type { RunMetrics, Series } from './training-log.ts'

/**
 * A centred moving average over up to 2 * floor(window / 2) + 1 points, fewer at the ends. A series shorter
 * than the window is unchanged.
 */
export function movingAverage(series: Series, window: number): Series {
  if (series.length < window) return series
  const half = Math.floor(window / 2)
  return series.map(([step], i) => [
    step,
    mean(series.slice(Math.max(0, i - half), i + half + 1).map(([, value]) => value)),
  ])
}

/** The correlation, and the interval means behind it. */
interface RewardAndAccuracy {
  /** Pearson's r. NaN if one side is constant. */
  readonly correlation: number
  readonly interval_rewards: readonly number[]
  readonly interval_test_scores: readonly number[]
}

/**
 * Correlates the mean reward between two validations with the later score. null for fewer than three
 * intervals.
 */
export function rewardAndAccuracy(testScore: Series, trainReward: Series): RewardAndAccuracy | null {
  const scores = [...new Map(testScore)].sort(([a], [b]) => a - b)
  const rewards = trainReward.toSorted(([a], [b]) => a - b)
  let at = rewards.findIndex(([step]) => step > (scores[0]?.[0] ?? 0))
  const pairs = scores.slice(1).flatMap(([step, score]) => {
    const own: number[] = []
    for (let one = rewards[at]; at >= 0 && one && one[0] <= step; one = rewards[++at]) own.push(one[1])
    return own.length > 0 ? [[mean(own), score] as const] : []
  })
  if (pairs.length < 3) return null
  const [before, accuracies] = [pairs.map(([reward]) => reward), pairs.map(([, score]) => score)]
  return {
    correlation: pearson(before, accuracies) ?? Number.NaN,
    interval_rewards: before,
    interval_test_scores: accuracies,
  }
}

/** Below -0.2, the policy may be earning reward without learning. */
function readingOf(correlation: number): string {
  if (correlation > 0.5) return 'strong-positive'
  if (correlation > 0.2) return 'weak-positive'
  if (correlation > -0.2) return 'none'
  return correlation > -0.5 ? 'weak-negative' : 'strong-negative'
}

/**
 * A run's figures as texts with fixed decimals. Sections without data are absent. A change from 0 is null.
 */
export interface TrainingSummary {
  readonly test_score?: {
    readonly first: string
    readonly last: string
    readonly max: string
    /** The step of the first maximum. */
    readonly max_step: number
    readonly min: string
    readonly gain_percent: string | null
  }
  /** The first and last `window` rewards (a quarter of them, at most 20), and all rewards. */
  readonly train_reward?: {
    readonly window: number
    readonly first_mean: string
    readonly last_mean: string
    readonly mean: string
    readonly std: string
  }
  /** If one side is constant, `value` is null and `reading` is 'constant'. */
  readonly correlation?: { readonly value: string | null; readonly reading: string }
  readonly grad_norm?: {
    readonly mean: string
    readonly std: string
    readonly max: string
    readonly warn_clip: boolean
  }
  readonly entropy?: {
    readonly first: string
    readonly last: string
    readonly change_percent: string | null
    readonly warn_collapse: boolean
  }
}

/** Never throws. Undefined values are null or absent. */
export function trainingSummary(metrics: RunMetrics): TrainingSummary {
  const { test_score = [], train_reward = [], grad_norm = [], entropy_loss = [] } = metrics
  const correlated = rewardAndAccuracy(test_score, train_reward)
  const rewards = rewardFigures(valuesOf(train_reward))
  return {
    ...(test_score.length > 0 && { test_score: scoreFigures(test_score) }),
    ...(rewards && { train_reward: rewards }),
    ...(correlated && { correlation: correlationFigures(correlated.correlation) }),
    ...(grad_norm.length > 0 && { grad_norm: normFigures(valuesOf(grad_norm)) }),
    ...(entropy_loss.length > 0 && { entropy: entropyFigures(valuesOf(entropy_loss)) }),
  }
}

const valuesOf = (series: Series): readonly number[] => series.map(([, value]) => value)

const largest = (values: readonly number[]): number =>
  values.reduce((most, value) => Math.max(most, value), Number.NEGATIVE_INFINITY)

const changeOf = (first: number, last: number): number | null =>
  first === 0 ? null : ((last - first) / first) * 100

function scoreFigures(series: Series): NonNullable<TrainingSummary['test_score']> {
  const values = valuesOf(series)
  const [first = 0, last = 0] = [values[0], values.at(-1)]
  const max = largest(values)
  const gain = changeOf(first, last)
  return {
    first: fixed(first, 4),
    last: fixed(last, 4),
    max: fixed(max, 4),
    max_step: series.find(([, value]) => value === max)?.[0] ?? 0,
    min: fixed(-largest(values.map((value) => -value)), 4),
    gain_percent: gain === null ? null : fixed(gain, 2),
  }
}

function rewardFigures(values: readonly number[]): TrainingSummary['train_reward'] | null {
  const window = Math.min(20, Math.floor(values.length / 4))
  if (window < 3) return null
  return {
    window,
    first_mean: fixed(mean(values.slice(0, window)), 4),
    last_mean: fixed(mean(values.slice(-window)), 4),
    mean: fixed(mean(values), 4),
    std: fixed(deviation(values), 4),
  }
}

const correlationFigures = (correlation: number): NonNullable<TrainingSummary['correlation']> =>
  Number.isNaN(correlation)
    ? { value: null, reading: 'constant' }
    : { value: fixed(correlation, 4), reading: readingOf(correlation) }

function normFigures(values: readonly number[]): NonNullable<TrainingSummary['grad_norm']> {
  const max = largest(values)
  return {
    mean: fixed(mean(values), 4),
    std: fixed(deviation(values), 4),
    max: fixed(max, 4),
    warn_clip: max > 10,
  }
}

function entropyFigures(values: readonly number[]): NonNullable<TrainingSummary['entropy']> {
  const [first = 0, last = 0] = [values[0], values.at(-1)]
  const change = changeOf(first, last)
  return {
    first: fixed(first, 4),
    last: fixed(last, 4),
    change_percent: change === null ? null : `${change < 0 ? '' : '+'}${fixed(change, 2)}`,
    warn_collapse: change !== null && change < -30,
  }
}
