import type { WatchedRun } from './monitors.ts'
import { meanOf, type StepStats } from './step-stats.ts'

/** One training step of a run in figures; null: nothing to reckon it from. */
export interface StepFigures {
  readonly step: number
  readonly rows: number
  readonly invalid: number
  /** In shares of the reward's range. */
  readonly reward: number | null
  /** Within groups, in shares of the reward's range. */
  readonly variance: number | null
  /** Share of groups whose answers all have the same reward. */
  readonly saturated: number | null
  readonly terms: Readonly<Record<string, number | null>>
}

/** The last training steps of a run, and its groups by mean and variance in tenths of 0 to 1 and of 0 to 0.25. */
export interface RunHistory {
  readonly steps: readonly StepFigures[]
  readonly group_means: readonly number[]
  readonly group_variances: readonly number[]
}

/** How a run came to stand where it does. */
export function historyOf({ monitor }: WatchedRun): RunHistory {
  const { recent, steps } = monitor
  return {
    steps: steps.map(({ step, tally }) => ({ step, ...figuresOf(tally) })),
    group_means: recent.groupMeans,
    group_variances: recent.groupVariances,
  }
}

const figuresOf = ({ rows, invalid, reward, variance, flatGroups, terms }: StepStats) => ({
  rows,
  invalid: [...invalid.values()].reduce((sum, count) => sum + count, 0),
  reward: meanOf(reward),
  variance: meanOf(variance),
  saturated: variance.n === 0 ? null : flatGroups / variance.n,
  terms: Object.fromEntries([...terms].map(([name, mean]) => [name, meanOf(mean)])),
})
