import { deviation, mean } from '../statistics/moments.ts'
import { pearson } from '../statistics/pearson.ts'
import { fixed } from './decimals.ts'
import type { RunMetrics, Series } from './training-log.ts'

/** Centred means: of up to 2 * floor(window / 2) + 1 points, fewer at the ends; a shorter series comes back unchanged. */
export function movingAverage(series: Series, window: number): Series {
  if (series.length < window) return series
  const half = Math.floor(window / 2)
  return series.map(([step], i) => [
    step,
    mean(series.slice(Math.max(0, i - half), i + half + 1).map(([, value]) => value)),
  ])
}

export interface RewardAndAccuracy {
  /** Pearson's r; NaN where one side does not vary. */
  readonly correlation: number
  readonly interval_rewards: readonly number[]
  readonly interval_test_scores: readonly number[]
}

/** The mean reward between two validations against the later one's score; null of fewer than three such intervals. */
export function rewardAndAccuracy(testScore: Series, trainReward: Series): RewardAndAccuracy | null {
  const scores = [...new Map(testScore)].sort(([a], [b]) => a - b)
  const pairs = scores.slice(1).flatMap(([step, score], i) => {
    const before = scores[i]?.[0] ?? 0
    const rewards = trainReward.filter(([at]) => before < at && at <= step).map(([, reward]) => reward)
    return rewards.length > 0 ? [[mean(rewards), score] as const] : []
  })
  if (pairs.length < 3) return null
  const [rewards, accuracies] = [pairs.map(([reward]) => reward), pairs.map(([, score]) => score)]
  return {
    correlation: pearson(rewards, accuracies) ?? Number.NaN,
    interval_rewards: rewards,
    interval_test_scores: accuracies,
  }
}

/** What a correlation of reward and accuracy says; below -0.2 the policy may be earning reward without learning. */
export function readingOf(correlation: number): string {
  if (correlation > 0.5) return 'strong-positive'
  if (correlation > 0.2) return 'weak-positive'
  if (correlation > -0.2) return 'none'
  return correlation > -0.5 ? 'weak-negative' : 'strong-negative'
}

/** Figures of a run as texts with fixed decimals; a section without data is absent. Throws RangeError where a course begins at 0. */
export function trainingSummary(metrics: RunMetrics): Readonly<Record<string, object>> {
  const { test_score = [], train_reward = [], grad_norm = [], entropy_loss = [] } = metrics
  const correlated = rewardAndAccuracy(test_score, train_reward)
  const rewards = rewardFigures(valuesOf(train_reward))
  return {
    ...(test_score.length > 0 && { test_score: scoreFigures(test_score) }),
    ...(rewards && { train_reward: rewards }),
    ...(correlated && {
      correlation: { value: fixed(correlated.correlation, 4), reading: readingOf(correlated.correlation) },
    }),
    ...(grad_norm.length > 0 && { grad_norm: normFigures(valuesOf(grad_norm)) }),
    ...(entropy_loss.length > 0 && { entropy: entropyFigures(valuesOf(entropy_loss)) }),
  }
}

const valuesOf = (series: Series): readonly number[] => series.map(([, value]) => value)

function change(first: number, last: number): number {
  if (first === 0) throw new RangeError('a change from 0 has no percentage')
  return ((last - first) / first) * 100
}

function scoreFigures(series: Series): object {
  const values = valuesOf(series)
  const [first = 0, last = 0] = [values[0], values.at(-1)]
  const max = Math.max(...values)
  return {
    first: fixed(first, 4),
    last: fixed(last, 4),
    max: fixed(max, 4),
    max_step: series.find(([, value]) => value === max)?.[0],
    min: fixed(Math.min(...values), 4),
    gain_percent: fixed(change(first, last), 2),
  }
}

function rewardFigures(values: readonly number[]): object | null {
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

function normFigures(values: readonly number[]): object {
  const max = Math.max(...values)
  return {
    mean: fixed(mean(values), 4),
    std: fixed(deviation(values), 4),
    max: fixed(max, 4),
    warn_clip: max > 10,
  }
}

function entropyFigures(values: readonly number[]): object {
  const [first = 0, last = 0] = [values[0], values.at(-1)]
  const percent = change(first, last)
  return {
    first: fixed(first, 4),
    last: fixed(last, 4),
    change_percent: `${percent < 0 ? '' : '+'}${fixed(percent, 2)}`,
    warn_collapse: percent < -30,
  }
}
