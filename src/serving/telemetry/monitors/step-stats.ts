import type { FailureKind } from '../../../core/sample/sample.ts'

/** A mean under way. */
export interface Mean {
  n: number
  sum: number
}

/** The scores of a step. */
export interface Scores extends Mean {
  low: number
  high: number
  /** A model's verdicts, which are expected to differ. */
  readonly isJudge: boolean
}

/** Everything that is counted of a stretch of scored rows; two stretches are added field by field. */
export interface StepStats {
  rows: number
  readonly invalid: Map<FailureKind, number>
  /** Of the reward, in shares of its range. */
  readonly reward: Mean
  /** Of groups with at least two valid members. */
  readonly variance: Mean
  readonly entropy: Mean
  flatGroups: number
  /** Groups by their mean reward (0 to 1) and by its variance within them (0 to 0.25), in tenths of these ranges. */
  readonly groupMeans: number[]
  readonly groupVariances: number[]
  /** Members of groups of at least two, and those whose answer another member gave before. */
  members: number
  duplicates: number
  /** Length and reward within groups, around the groups' means. */
  readonly length: { xx: number; yy: number; xy: number }
  readonly repeated: Mean
  /** 1 where they decide otherwise. */
  readonly ruleAgainstJudge: Mean
  readonly judgeAgainstJudge: Mean
  /** Scores by step. */
  readonly terms: Map<string, Scores>
}

const tenths = 10

const noMean = (): Mean => ({ n: 0, sum: 0 })

/** Of nothing yet. */
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

/** Adds a value to a mean. */
export function observe(mean: Mean, value: number): void {
  mean.n += 1
  mean.sum += value
}

/** Counts a value in the tenth of the range 0 to `high` that it lies in, or in the nearest. */
export function tenth(counts: number[], value: number, high: number): void {
  const at = Math.min(tenths - 1, Math.max(0, Math.floor((value / high) * tenths)))
  counts[at] = (counts[at] ?? 0) + 1
}

/** The scores of a step, made when first asked for. */
export function termScores({ terms }: StepStats, name: string, isJudge: boolean): Scores {
  let scores = terms.get(name)
  if (!scores) {
    scores = { ...noMean(), low: Number.POSITIVE_INFINITY, high: Number.NEGATIVE_INFINITY, isJudge }
    terms.set(name, scores)
  }
  return scores
}

/** Adds a score. */
export function observeScore(scores: Scores, value: number): void {
  observe(scores, value)
  if (value < scores.low) scores.low = value
  if (value > scores.high) scores.high = value
}

/** Scores that must be there before it means something that they are all the same. */
const minScores = 256

/** Whether all of many scores are the same: they tell no answer from another. */
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

/** null of nothing. */
export const meanOf = ({ n, sum }: Mean): number | null => (n === 0 ? null : sum / n)
