import type { FailureKind } from '../../../core/sample/sample.ts'

/** A running mean. */
export interface Mean {
  n: number
  sum: number
}

/** The scores of one step of a reward. */
export interface Scores extends Mean {
  low: number
  high: number
  /** Whether the scores are verdicts of a model, which should vary. */
  readonly isJudge: boolean
}

/** Everything that is counted of a set of scored rows. Two sets are added field by field. */
export interface StepStats {
  rows: number
  readonly invalid: Map<FailureKind, number>
  /** The reward as a fraction of its range. */
  readonly reward: Mean
  /** Over groups with at least two valid members. */
  readonly variance: Mean
  readonly entropy: Mean
  flatGroups: number
  /** Number of groups by mean reward (tenths of 0 to 1) and by variance of the reward (tenths of 0 to 0.25). */
  readonly groupMeans: number[]
  readonly groupVariances: number[]
  /** Members of groups of at least two, and those who repeat another member's answer. */
  members: number
  duplicates: number
  /** Sums of squares and products of length and reward around each group's means. */
  readonly length: { xx: number; yy: number; xy: number }
  readonly repeated: Mean
  /** 1 for each pair of verdicts that disagree, else 0. */
  readonly ruleAgainstJudge: Mean
  readonly judgeAgainstJudge: Mean
  /** Scores by step. */
  readonly terms: Map<string, Scores>
}

const tenths = 10

const noMean = (): Mean => ({ n: 0, sum: 0 })

export const emptyStats = (): StepStats => ({
  rows: 0,
  invalid: new Map(),
  reward: noMean(),
  variance: noMean(),
  entropy: noMean(),
  flatGroups: 0,
  groupMeans: Array<number>(tenths).fill(0),
  groupVariances: Array<number>(tenths).fill(0),
  members: 0,
  duplicates: 0,
  length: { xx: 0, yy: 0, xy: 0 },
  repeated: noMean(),
  ruleAgainstJudge: noMean(),
  judgeAgainstJudge: noMean(),
  terms: new Map(),
})

export function observe(mean: Mean, value: number): void {
  mean.n += 1
  mean.sum += value
}

/** Counts a value in its tenth of the range 0 to `high`, or in the nearest tenth. */
export function tenth(counts: number[], value: number, high: number): void {
  const at = Math.min(tenths - 1, Math.max(0, Math.floor((value / high) * tenths)))
  counts[at] = (counts[at] ?? 0) + 1
}

/** The scores of a step, created on first use. */
export function termScores({ terms }: StepStats, name: string, isJudge: boolean): Scores {
  let scores = terms.get(name)
  if (!scores) {
    scores = { ...noMean(), low: Number.POSITIVE_INFINITY, high: Number.NEGATIVE_INFINITY, isJudge }
    terms.set(name, scores)
  }
  return scores
}

export function observeScore(scores: Scores, value: number): void {
  observe(scores, value)
  if (value < scores.low) scores.low = value
  if (value > scores.high) scores.high = value
}

/** Fewer equal scores mean nothing. */
const minScores = 256

/** Whether there are many scores and all are the same, so that they do not distinguish answers. */
export const isConstant = ({ n, low, high }: Scores): boolean => n >= minScores && low === high

const means = ['reward', 'variance', 'entropy', 'repeated', 'ruleAgainstJudge', 'judgeAgainstJudge'] as const
const counts = ['rows', 'flatGroups', 'members', 'duplicates'] as const

/** Adds `more` to `stats`. */
export function addStats(stats: StepStats, more: StepStats): void {
  for (const name of counts) stats[name] += more[name]
  for (const name of means) addMean(stats[name], more[name])
  for (const name of ['groupMeans', 'groupVariances'] as const)
    for (const [at, count] of more[name].entries()) stats[name][at] = (stats[name][at] ?? 0) + count
  for (const side of ['xx', 'yy', 'xy'] as const) stats.length[side] += more.length[side]
  for (const [kind, count] of more.invalid) stats.invalid.set(kind, (stats.invalid.get(kind) ?? 0) + count)
  for (const [name, scores] of more.terms) {
    const own = termScores(stats, name, scores.isJudge)
    addMean(own, scores)
    own.low = Math.min(own.low, scores.low)
    own.high = Math.max(own.high, scores.high)
  }
}

function addMean(mean: Mean, { n, sum }: Mean): void {
  mean.n += n
  mean.sum += sum
}

/** null if there are no values. */
export const meanOf = ({ n, sum }: Mean): number | null => (n === 0 ? null : sum / n)
