import { correlationOf } from '../../../core/statistics/summary.ts'
import { isConstant, meanOf, type StepStats } from './step-stats.ts'

/** A figure of the monitors: what it says, and when it is out of bounds. docs/monitoring.md tells what to do then. */
export interface Figure {
  readonly name: string
  readonly help: string
  /** Below or above: something is wrong. */
  readonly low?: number
  readonly high?: number
  /** null: nothing to reckon it from. */
  read(stats: StepStats): number | null
}

const share = (part: number, whole: number): number | null => (whole === 0 ? null : part / whole)

/** All of them, over the last training steps of a run. */
export const figures: readonly Figure[] = [
  {
    name: 'invalid_ratio',
    help: 'Share of rows without a reward.',
    high: 0.05,
    read: ({ invalid, rows }) =>
      share(
        [...invalid.values()].reduce((sum, count) => sum + count, 0),
        rows,
      ),
  },
  {
    name: 'reward_mean',
    help: 'Mean reward, in shares of its range.',
    low: 0.05,
    high: 0.95,
    read: ({ reward }) => meanOf(reward),
  },
  {
    name: 'saturated_groups_ratio',
    help: 'Share of groups whose answers all have the same reward: they teach nothing.',
    high: 0.8,
    read: ({ flatGroups, variance }) => share(flatGroups, variance.n),
  },
  {
    name: 'group_variance',
    help: 'Mean population variance of the reward within a group, where 1 is the width of its range: at most 0.25.',
    low: 0.01,
    read: ({ variance }) => meanOf(variance),
  },
  {
    name: 'group_entropy_bits',
    help: "Mean entropy of a group's mean reward.",
    low: 0.2,
    read: ({ entropy }) => meanOf(entropy),
  },
  {
    name: 'length_correlation',
    help: "Pearson's r of length and reward within groups.",
    low: -0.5,
    high: 0.5,
    read: ({ length }) => correlationOf(length),
  },
  {
    name: 'duplicate_answers_ratio',
    help: 'Share of answers that another answer of the group gave word by word.',
    high: 0.5,
    read: ({ duplicates, members }) => share(duplicates, members),
  },
  {
    name: 'repetition_ratio',
    help: 'Mean share of an answer that repeats itself.',
    high: 0.3,
    read: ({ repeated }) => meanOf(repeated),
  },
  {
    name: 'rule_judge_disagreement_ratio',
    help: 'Share of verdicts where rule and judge decide otherwise.',
    high: 0.3,
    read: ({ ruleAgainstJudge }) => meanOf(ruleAgainstJudge),
  },
  {
    name: 'judge_disagreement_ratio',
    help: 'How much verdicts on one question differ: 0 they agree, 1 they are opposite.',
    high: 0.3,
    read: ({ judgeAgainstJudge }) => meanOf(judgeAgainstJudge),
  },
  {
    name: 'constant_judges_ratio',
    help: 'Share of judges whose verdicts are all the same: they tell no answer from another.',
    high: 0,
    read({ terms }) {
      const judges = [...terms.values()].filter(({ isJudge }) => isJudge)
      return share(judges.filter(isConstant).length, judges.length)
    },
  },
]

/** Which side of its bounds a figure is on. */
type FigureStatus = 'ok' | 'low' | 'high' | 'unknown'

/** Rows that a figure must speak of before it is judged. */
const least = 256

/** How a figure stands. */
export function figureStatus({ low, high }: Figure, value: number | null, { rows }: StepStats): FigureStatus {
  if (value === null || rows < least) return 'unknown'
  if (low !== undefined && value < low) return 'low'
  return high !== undefined && value > high ? 'high' : 'ok'
}
