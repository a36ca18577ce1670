import type { FailureKind, Outcome, Sample, Score, Unreadable } from '../../../core/sample/sample.ts'
import { repeatedSubstringShare } from '../../../core/statistics/repeated-share.ts'
import { binaryEntropy, spreadOf } from '../../../core/statistics/summary.ts'
import type { RequestDone } from '../../../scoring/engine/events.ts'
import { isBounded } from '../../../scoring/plan/fold.ts'

/** A running mean. */
export interface Mean {
  n: number
  sum: number
}

/** The scores of one step of a reward. */
interface Scores extends Mean {
  /** Scores without those that the guard gave in place of a judge; `low` and `high` are theirs. */
  asked: number
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

function observe(mean: Mean, value: number): void {
  mean.n += 1
  mean.sum += value
}

/** Counts a value in its tenth of the range 0 to `high`, or in the nearest tenth. */
function tenth(counts: number[], value: number, high: number): void {
  const at = Math.min(tenths - 1, Math.max(0, Math.floor((value / high) * tenths)))
  counts[at] = (counts[at] ?? 0) + 1
}

/** The scores of a step, created on first use. */
function termScores({ terms }: StepStats, name: string, isJudge: boolean): Scores {
  let scores = terms.get(name)
  if (!scores) {
    scores = { ...noMean(), asked: 0, low: Number.POSITIVE_INFINITY, high: Number.NEGATIVE_INFINITY, isJudge }
    terms.set(name, scores)
  }
  return scores
}

function observeScore(scores: Scores, { value, flags }: Score): void {
  observe(scores, value)
  // A judge that was not asked did not distinguish anything.
  if (flags?.includes('refused') || flags?.includes('no_call')) return
  scores.asked += 1
  if (value < scores.low) scores.low = value
  if (value > scores.high) scores.high = value
}

/** Fewer equal scores mean nothing. */
const minScores = 256

/** Whether there are many scores and all are the same, so that they do not distinguish answers. */
export const isConstant = ({ asked, low, high }: Scores): boolean => asked >= minScores && low === high

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
    own.asked += scores.asked
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

/** What is kept of an answer until its group is complete. */
export interface Member {
  /** Equal for equal answers. */
  readonly print: string
  readonly length: number
  /** As a fraction of the reward's range; null if invalid. */
  readonly reward: number | null
}

/** Only every 128th answer is searched for repetition, which costs more than all other counting. */
const repetitionEvery = 128

/** Adds one row. */
export function countRow(
  stats: StepStats,
  row: Sample | Unreadable,
  outcome: Outcome,
  scaling: PlanScaling,
): void {
  stats.rows += 1
  if (outcome.valid) observe(stats.reward, scaling.share(outcome.reward))
  else stats.invalid.set(outcome.failure.kind, (stats.invalid.get(outcome.failure.kind) ?? 0) + 1)
  for (const term of outcome.terms) {
    if (term.status !== 'scored') continue
    observeScore(termScores(stats, term.name, scaling.asked.has(term.name)), term.score)
    // A population's standard deviation is at most half of the range.
    if (term.draws > 1)
      observe(stats.judgeAgainstJudge, Math.min(1, (2 * term.spread) / (scaling.widths.get(term.name) ?? 1)))
  }
  countDecisions(stats, outcome, scaling)
  if (stats.rows % repetitionEvery === 1 && 'response' in row)
    observe(stats.repeated, repeatedSubstringShare(row.response))
}

function countDecisions(stats: StepStats, { terms }: Outcome, { rule, judges, peers }: PlanScaling): void {
  if (judges.length === 0) return
  const decision = ({ at, share }: PlanScaling['judges'][number]): boolean | null => {
    const term = terms[at]
    return term?.status === 'scored' ? share(term.score.value) >= 0.5 : null
  }
  const ruled = rule && decision(rule)
  for (const judge of ruled === null ? [] : judges) {
    const judged = decision(judge)
    if (judged !== null) observe(stats.ruleAgainstJudge, Number(judged !== ruled))
  }
  for (const [one, other] of peers) {
    const [a, b] = [decision(one), decision(other)]
    if (a !== null && b !== null) observe(stats.judgeAgainstJudge, Number(a !== b))
  }
}

/** Adds one complete group of answers to the same prompt. Yields after every `membersPerSlice` members. */
export function* countGroup(
  stats: StepStats,
  members: readonly Member[],
  membersPerSlice: number,
): Generator<void> {
  if (members.length < 2) return
  const duplicates = yield* repeats(members, membersPerSlice)
  stats.members += members.length
  stats.duplicates += duplicates
  const lengths: number[] = []
  const rewards: number[] = []
  let [low, high, sum] = [Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY, 0]
  for (const { reward, length } of members) {
    if (reward === null) continue
    rewards.push(reward)
    lengths.push(length)
    low = Math.min(low, reward)
    high = Math.max(high, reward)
    sum += reward
  }
  if (rewards.length < 2) return
  // Equal rewards may differ in the last bits, depending on the order of summation.
  if (high - low < 1e-9) stats.flatGroups += 1
  const { xx, yy, xy } = spreadOf(lengths, rewards)
  observe(stats.variance, yy / rewards.length)
  observe(stats.entropy, binaryEntropy(sum / rewards.length))
  tenth(stats.groupMeans, sum / rewards.length, 1)
  tenth(stats.groupVariances, yy / rewards.length, 0.25)
  stats.length.xx += xx
  stats.length.yy += yy
  stats.length.xy += xy
}

/** Of an answer: its length and its last characters, as one small number. */
function endingOf({ length, print }: Member): number {
  let ending = length
  for (let at = Math.max(0, print.length - 12); at < print.length; at++)
    ending = (Math.imul(ending, 31) + print.charCodeAt(at)) | 0
  return ending
}

/**
 * Answers that an earlier member gave, too. Only answers of equal length and ending are compared: a set of all hashes each whole
 * answer, which takes 3 µs of the 20 that a sample in a batch of rules costs (`npm run against`).
 */
function* repeats(members: readonly Member[], membersPerSlice: number): Generator<void, number> {
  const alike = new Map<number, string | Set<string>>()
  let count = 0
  for (let at = 0; at < members.length; at++) {
    if (at % membersPerSlice === membersPerSlice - 1) yield
    const member = members[at] as Member
    const { print } = member
    const key = endingOf(member)
    const known = alike.get(key)
    if (known === undefined) alike.set(key, print)
    else {
      const prints = typeof known === 'string' ? new Set([known]) : known
      if (prints.has(print)) count += 1
      else prints.add(print)
      if (prints !== known) alike.set(key, prints)
    }
  }
  return count
}

/** Indices of a request's readable rows, grouped by group id or else by prompt. Yields after every `rowsPerSlice` rows. */
export function* groupsOf(
  { rows }: RequestDone,
  rowsPerSlice: number,
): Generator<void, Iterable<readonly number[]>> {
  const byId = new Map<string, number[]>()
  const byPrompt = new Map<string, number[]>()
  for (const [index, row] of rows.entries()) {
    if (index % rowsPerSlice === rowsPerSlice - 1) yield
    if ('failure' in row) continue
    const groups = row.group ? byId : byPrompt
    const key = row.group?.id ?? textOf(row)
    const places = groups.get(key)
    if (places) places.push(index)
    else groups.set(key, [index])
  }
  return [...byId.values(), ...byPrompt.values()]
}

const textOf = ({ prompt }: Sample): string => (typeof prompt === 'string' ? prompt : JSON.stringify(prompt))

type Plan = RequestDone['plan']
type Range = readonly [number, number]

/** A step whose score is read as a decision: above the middle of its range or not. */
interface Decider {
  /** Its index among the terms. */
  readonly at: number
  /** The score as a fraction of the step's range, 0 to 1. */
  share(score: number): number
}

/** How to compare the outcomes of a plan: scores as fractions of their ranges, and which steps decide. */
export interface PlanScaling {
  /** A reward as a fraction of its range, 0 to 1; unchanged if the range is unknown or infinite. */
  share(reward: number): number
  /** The first rule, which stands for the run's accuracy. */
  readonly rule: Decider | null
  readonly ruleName: string | null
  /** Model steps with a finite range. */
  readonly judges: readonly Decider[]
  /** Pairs of judges that get the same question. */
  readonly peers: readonly (readonly [Decider, Decider])[]
  /** Names of steps that ask models for verdicts. */
  readonly asked: ReadonlySet<string>
  /** Width of each step's range, by name; 1 if it is infinite. */
  readonly widths: ReadonlyMap<string, number>
}

/** `range`: of the plan's reward; null if unknown. */
export function scalingOf({ steps }: Plan, range: Range | null): PlanScaling {
  const deciders = steps.flatMap((step, at) => {
    const { kind, ask, critique, function: fn } = step
    if (critique || !isBounded(fn.range)) return []
    return [{ at, share: shareOf(fn.range), name: step.name, function: fn.name, isJudge: ask !== null, kind }]
  })
  const judges = deciders.filter(({ isJudge }) => isJudge)
  const rule = deciders.find(({ isJudge }) => !isJudge) ?? null
  return {
    share: range && isBounded(range) ? shareOf(range) : (reward) => reward,
    rule,
    ruleName: rule?.name ?? null,
    judges,
    peers: judges.flatMap((one, index) =>
      judges
        .slice(index + 1)
        .filter((other) => other.function === one.function)
        .map((other) => [one, other] as const),
    ),
    asked: new Set(steps.flatMap(({ name, ask, critique }) => (ask !== null && !critique ? [name] : []))),
    widths: new Map(
      steps.map(({ name, function: { range } }) => [name, isBounded(range) ? range[1] - range[0] : 1]),
    ),
  }
}

const shareOf =
  ([low, high]: Range) =>
  (value: number): number =>
    (value - low) / (high - low)
