import { z } from 'zod'
import type { WatchedRun } from './monitors.ts'
import { figureStatus, figures } from './run-figures.ts'
import { isConstant, meanOf, type StepStats } from './step-stats.ts'
import type { Trends } from './trend-detector.ts'

const nullable = z.number().nullable()

/** One run of a reward, as GET /v1/rewards/{name}/stats returns it. */
export const runStats = z.object({
  run: z.string(),
  training_step: z.number().nullable().describe('The newest training step.'),
  rows: z.number().describe('Rows that the figures cover.'),
  groups: z.number().describe('Groups with at least two valid members.'),
  figures: z.record(
    z.string(),
    z.object({
      value: nullable,
      standing: z.enum(['ok', 'low', 'high', 'unknown']),
      low: nullable,
      high: nullable,
      help: z.string(),
    }),
  ),
  invalid: z.record(z.string(), z.number()).describe('Rows without a reward, by kind.'),
  terms: z.record(
    z.string(),
    z.object({
      mean: nullable,
      scored: z.number(),
      constant: z
        .boolean()
        .describe(
          'True if there are many scores and all are the same: the term does not distinguish answers.',
        ),
    }),
  ),
  trends: z
    .object({
      steps: z.number(),
      reward: nullable,
      accuracy: nullable,
      together: nullable,
      reading: z.string().nullable(),
      suspect: z.boolean(),
    })
    .describe(
      "Pearson's r of the reward and of the first rule with the training step, and of both with each other.",
    ),
  alarms: z
    .array(
      z.object({
        figure: z.enum(['drift', 'reward_without_accuracy']),
        step: z.string().nullable(),
        direction: z.enum(['up', 'down']),
        training_step: z.number(),
      }),
    )
    .describe('Newest first.'),
})

/** A run's figures, as the API returns them. */
export type RunStats = z.output<typeof runStats>

export function statsOf({ run, monitor }: WatchedRun): RunStats {
  const { recent, trends, alarms, newestStep } = monitor
  return {
    run,
    training_step: newestStep < 0 ? null : newestStep,
    rows: recent.rows,
    groups: recent.variance.n,
    figures: Object.fromEntries(
      figures.map((figure) => {
        const value = figure.read(recent)
        const { name, low = null, high = null, help } = figure
        return [name, { value, standing: figureStatus(figure, value, recent), low, high, help }]
      }),
    ),
    invalid: Object.fromEntries(recent.invalid),
    terms: Object.fromEntries(
      [...recent.terms].map(([name, scores]) => [
        name,
        { mean: meanOf(scores), scored: scores.n, constant: isConstant(scores) },
      ]),
    ),
    trends: trendStats(trends),
    alarms: [...alarms],
  }
}

const trendStats = ({ steps, reward, accuracy, together, isSuspect }: Trends): RunStats['trends'] => ({
  steps,
  reward,
  accuracy,
  together,
  reading: together === null ? null : readingOf(together),
  suspect: isSuspect,
})

/** How reward and accuracy move together. A negative reading suggests reward hacking. */
function readingOf(r: number): string {
  if (r > 0.5) return 'strong-positive'
  if (r > 0.2) return 'weak-positive'
  if (r > -0.2) return 'none'
  return r > -0.5 ? 'weak-negative' : 'strong-negative'
}

/** Figures of one training step; null if there is nothing to compute them from. */
interface StepFigures {
  readonly step: number
  readonly rows: number
  readonly invalid: number
  /** Mean, as a fraction of the reward's range. */
  readonly reward: number | null
  /** Mean variance within groups, with the reward scaled to 0 to 1. */
  readonly variance: number | null
  /** Share of groups whose answers all have the same reward. */
  readonly saturated: number | null
  readonly terms: Readonly<Record<string, number | null>>
}

/** The last training steps of a run; its groups by mean (tenths of 0 to 1) and by variance (tenths of 0 to 0.25). */
export interface RunHistory {
  readonly steps: readonly StepFigures[]
  readonly group_means: readonly number[]
  readonly group_variances: readonly number[]
}

export function historyOf({ monitor }: WatchedRun): RunHistory {
  const { recent, steps } = monitor
  return {
    steps: steps.map(({ step, stats }) => ({ step, ...figuresOf(stats) })),
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
