import { correlationOf } from '../../../core/statistics/summary.ts'
import { isConstant, meanOf, type StepStats } from './step-stats.ts'

/** A figure of the monitors and its bounds. docs/monitoring.md says what to do when a figure is out of bounds. */
export interface Figure {
  readonly name: string
  readonly help: string
  /** Outside of these bounds something is wrong. */
  readonly low?: number
  readonly high?: number
  /** null if there is nothing to compute it from. */
  read(stats: StepStats): number | null
}

const share = (part: number, whole: number): number | null => (whole === 0 ? null : part / whole)

/** All figures; each covers the last training steps of a run. */
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
    help: 'Mean reward, as a fraction of its range.',
    low: 0.05,
    high: 0.95,
    read: ({ reward }) => meanOf(reward),
  },
  {
    name: 'saturated_groups_ratio',
    help: 'Share of groups whose answers all have the same reward. They give no learning signal.',
    high: 0.8,
    read: ({ flatGroups, variance }) => share(flatGroups, variance.n),
  },
  {
    name: 'group_variance',
    help: 'Mean population variance of the reward within a group, with the reward scaled to 0 to 1. At most 0.25.',
    low: 0.01,
    read: ({ variance }) => meanOf(variance),
  },
  {
    name: 'group_entropy_bits',
    help: "Mean binary entropy of a group's mean reward, in bits.",
    low: 0.2,
    read: ({ entropy }) => meanOf(entropy),
  },
  {
    name: 'length_correlation',
    help: 'Correlation (Pearson) of length and reward within groups.',
    low: -0.5,
    high: 0.5,
    read: ({ length }) => correlationOf(length),
  },
  {
    name: 'duplicate_answers_ratio',
    help: 'Share of answers that repeat another answer of the group word for word.',
    high: 0.5,
    read: ({ duplicates, members }) => share(duplicates, members),
  },
  {
    name: 'repetition_ratio',
    help: 'Mean share of an answer that is repeated text.',
    high: 0.3,
    read: ({ repeated }) => meanOf(repeated),
  },
  {
    name: 'rule_judge_disagreement_ratio',
    help: 'Share of verdicts on which rule and judge disagree.',
    high: 0.3,
    read: ({ ruleAgainstJudge }) => meanOf(ruleAgainstJudge),
  },
  {
    name: 'judge_disagreement_ratio',
    help: 'How much verdicts on the same question differ: 0 if they agree, 1 if they are opposite.',
    high: 0.3,
    read: ({ judgeAgainstJudge }) => meanOf(judgeAgainstJudge),
  },
  {
    name: 'constant_judges_ratio',
    help: 'Share of judges whose verdicts are all the same. They do not distinguish answers.',
    high: 0,
    read({ terms }) {
      const judges = [...terms.values()].filter(({ isJudge }) => isJudge)
      return share(judges.filter(isConstant).length, judges.length)
    },
  },
]

type FigureStatus = 'ok' | 'low' | 'high' | 'unknown'

/** Rows that a figure must cover before it is compared with its bounds. */
const least = 256

/** Compares a figure with its bounds. */
export function figureStatus({ low, high }: Figure, value: number | null, { rows }: StepStats): FigureStatus {
  if (value === null || rows < least) return 'unknown'
  if (low !== undefined && value < low) return 'low'
  return high !== undefined && value > high ? 'high' : 'ok'
}
