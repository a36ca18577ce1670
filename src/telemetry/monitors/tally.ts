import type { FailureKind } from '../../sample/failure.ts'

/** A mean under way. */
export interface Mean {
  n: number
  sum: number
}

/** Everything that is counted of a stretch of scored rows; two stretches are added field by field. */
export interface Tally {
  rows: number
  readonly invalid: Map<FailureKind, number>
  /** Of the reward, in shares of its range. */
  readonly reward: Mean
  /** Of groups with at least two valid members. */
  readonly variance: Mean
  readonly entropy: Mean
  flatGroups: number
  /** Groups by their mean reward (0 to 1) and by its deviation within them (0 to 0.5), in tenths of these ranges. */
  readonly groupMeans: number[]
  readonly groupDeviations: number[]
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
  readonly terms: Map<string, Mean>
}

const tenths = 10

const noMean = (): Mean => ({ n: 0, sum: 0 })

/** Of nothing yet. */
export const emptyTally = (): Tally => ({
  rows: 0,
  invalid: new Map(),
  reward: noMean(),
  variance: noMean(),
  entropy: noMean(),
  flatGroups: 0,
  groupMeans: Array<number>(tenths).fill(0),
  groupDeviations: Array<number>(tenths).fill(0),
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

/** The mean of a step's scores, made when first asked for. */
export function termMean({ terms }: Tally, name: string): Mean {
  let mean = terms.get(name)
  if (!mean) {
    mean = noMean()
    terms.set(name, mean)
  }
  return mean
}

const means = ['reward', 'variance', 'entropy', 'repeated', 'ruleAgainstJudge', 'judgeAgainstJudge'] as const
const counts = ['rows', 'flatGroups', 'members', 'duplicates'] as const

/** Adds `more` to `tally`. */
export function addTally(tally: Tally, more: Tally): void {
  for (const name of counts) tally[name] += more[name]
  for (const name of means) addMean(tally[name], more[name])
  for (const name of ['groupMeans', 'groupDeviations'] as const)
    for (const [at, count] of more[name].entries()) tally[name][at] = (tally[name][at] ?? 0) + count
  for (const side of ['xx', 'yy', 'xy'] as const) tally.length[side] += more.length[side]
  for (const [kind, count] of more.invalid) tally.invalid.set(kind, (tally.invalid.get(kind) ?? 0) + count)
  for (const [name, mean] of more.terms) addMean(termMean(tally, name), mean)
}

function addMean(mean: Mean, { n, sum }: Mean): void {
  mean.n += n
  mean.sum += sum
}

/** null of nothing. */
export const meanOf = ({ n, sum }: Mean): number | null => (n === 0 ? null : sum / n)
