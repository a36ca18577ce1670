import { memoizeByObject } from '../../../core/memoize.ts'
import type { Failure, Score, Term } from '../../../core/sample/sample.ts'
import type { MaybePromise } from '../../../core/slices.ts'
import { deviation, mean } from '../../../core/statistics/summary.ts'
import type { PlanStep, Votes } from '../../plan/plan.ts'
import type { StepContext } from '../context.ts'
import { failedTerm, scoredTerm, skippedTerm } from '../step.ts'

/** What an answer says: a verdict for each row of its question. null: unreadable, and `unreadable` says why. */
export type Read =
  | {
      readonly status: 'read'
      readonly verdicts: readonly (Score | null)[]
      readonly unreadable?: Failure | undefined
      /** The probability of the most likely answer; only of decisions. */
      readonly confidence?: number | undefined
    }
  | { readonly status: 'failed'; readonly failure: Failure }

/** One model's vote: verdicts, or one text for later steps. */
export type Vote = { readonly model: string } & Said

export type Said = Read | { readonly status: 'text'; readonly text: string }

/** One time that a model is asked a question. Its result is a vote. */
export interface Draw {
  readonly model: string
  readonly draw: number
  /** The only instance that is asked; absent: any. */
  readonly instance?: string | undefined
}

/** The draws of a step for one question: the first of each model, then the second of each model, and so on. */
export const drawsOf = memoizeByObject(({ models, votes }: PlanStep): readonly Draw[] =>
  Array.from({ length: votes.n }, (_, draw) => models.map((model) => ({ model, draw }))).flat(),
)

/** What all votes on a question together say about one of its rows. */
export type Aggregate =
  | { readonly status: 'scored'; readonly score: Score; readonly draws: number; readonly spread: number }
  | { readonly status: 'skipped' }
  | { readonly status: 'failed'; readonly failure: Failure }

type Judging = Pick<PlanStep, 'votes' | 'onUnreadable' | 'models'>

/**
 * Asks for all votes at once. With `early_stop`, asks in order for as many as could settle the aggregates, until they
 * are settled: which votes count never depends on which call was faster. `columns`: verdicts per vote.
 */
export function collectVotes(
  step: Judging,
  draws: readonly (() => MaybePromise<Vote>)[],
  columns: number,
): MaybePromise<readonly Vote[]> {
  const [only] = draws
  if (draws.length !== 1 || !only) return collectAll(step, draws, columns)
  // Most steps have one draw.
  const vote = only()
  return vote instanceof Promise ? vote.then(alone) : alone(vote)
}

const alone = (vote: Vote): readonly Vote[] => [vote]

async function collectAll(
  step: Judging,
  draws: readonly (() => MaybePromise<Vote>)[],
  columns: number,
): Promise<readonly Vote[]> {
  const cast: Vote[] = []
  const { votes } = step
  for (;;) {
    const left = draws.length - cast.length
    const needed = (column: number): number => {
      const values = scoresOf(step, cast, column).map(({ score }) => score.value)
      return votesToSettle(values, left, draws.length, votes)
    }
    const more = votes.earlyStop ? Math.max(...Array.from({ length: columns }, (_, i) => needed(i))) : left
    if (more <= 0) return cast
    const next = draws.slice(cast.length, cast.length + more)
    cast.push(...(await Promise.all(next.map((draw) => draw()))))
  }
}

/** Aggregates one column of the votes. `asked`: the votes that the config allows, cast or not. */
export function aggregateVotes(
  step: Judging,
  votes: readonly Vote[],
  column: number,
  asked: number,
): Aggregate {
  const scores = scoresOf(step, votes, column)
  const verdict = aggregated(
    scores.map(({ score }) => score),
    asked,
    step.votes,
  )
  if (verdict) {
    const { score, spread } = verdict
    const shown =
      step.models.length > 1 ? { ...score, details: { ...score.details, panel: panelOf(scores) } } : score
    return { status: 'scored', score: shown, draws: scores.length, spread }
  }
  const failure = votes.find((one) => one.status === 'failed')
  if (failure) return failure
  const unreadable = votes.find((one) => one.status === 'read' && !one.verdicts[column])
  if (unreadable?.status !== 'read') return { status: 'failed', failure: undecided }
  if (step.onUnreadable === 'skip') return { status: 'skipped' }
  return { status: 'failed', failure: unreadable.unreadable ?? unparseable }
}

/** The term that an aggregate is; `flags` are the question's. */
export function termOf(
  context: StepContext,
  step: PlanStep,
  aggregate: Aggregate,
  flags: readonly string[],
): Term {
  if (aggregate.status === 'failed') return failedTerm(context, step, aggregate.failure)
  if (aggregate.status === 'skipped') return skippedTerm(context, step, 'skipped')
  const { score, draws, spread } = aggregate
  const own = score.flags ?? []
  const all = own.length + flags.length > 1 ? [...new Set([...own, ...flags])] : [...own, ...flags]
  return scoredTerm(context, step, { ...score, flags: all }, draws, spread)
}

interface ModelScore {
  readonly model: string
  readonly score: Score
}

/** The valid verdicts on a row, in the order of the votes. */
function scoresOf({ onUnreadable }: Judging, votes: readonly Vote[], column: number): readonly ModelScore[] {
  const said: ModelScore[] = []
  for (const one of votes) {
    if (one.status !== 'read') continue
    const { model } = one
    const score = one.verdicts[column]
    if (score) said.push({ model, score })
    else if (typeof onUnreadable === 'number')
      said.push({ model, score: { value: onUnreadable, flags: ['unreadable'] } })
  }
  return said
}

/** The mean of each model. */
function panelOf(scores: readonly ModelScore[]): Readonly<Record<string, number>> {
  const models = [...new Set(scores.map(({ model }) => model))].sort()
  return Object.fromEntries(
    models.map((name) => [
      name,
      mean(scores.filter(({ model }) => model === name).map(({ score }) => score.value)),
    ]),
  )
}

const undecided: Failure = {
  kind: 'judge_unparseable',
  retryable: true,
  detail: 'too few valid votes, or no majority or quorum; see votes.min and votes.aggregate',
}

/**
 * null if fewer than `votes.min` of `asked` votes are valid, or if a majority or quorum is not reached. Parts are those
 * of the vote nearest to the aggregate; flags are joined.
 */
function aggregated(
  scores: readonly Score[],
  asked: number,
  votes: Votes,
): { readonly score: Score; readonly spread: number } | null {
  const [first] = scores
  if (!first || scores.length < Math.min(votes.min, asked)) return null
  if (scores.length === 1 && asked === 1) return { score: first, spread: 0 }
  const values = scores.map(({ value }) => value)
  const value = combinedValue(values, asked, votes.aggregate)
  if (value === null) return null
  const nearest = scores.reduce((best, score) =>
    Math.abs(score.value - value) < Math.abs(best.value - value) ? score : best,
  )
  const flags = [...new Set(scores.flatMap((score) => score.flags ?? []))]
  return { score: { ...nearest, value, flags }, spread: deviation(values) }
}

function combinedValue(
  values: readonly number[],
  asked: number,
  aggregate: Votes['aggregate'],
): number | null {
  switch (aggregate) {
    case 'mean':
      return mean(values)
    case 'median':
    case 'lower_median':
      return middle(
        [...values].sort((a, b) => a - b),
        values.length,
        0,
        aggregate,
      )
    case 'majority':
      return majorityOf(values, values.length)
    case 'quorum':
      return majorityOf(values, asked)
  }
}

/** The value that more than half of `of` votes agree on; null if there is none. */
function majorityOf(values: readonly number[], of: number): number | null {
  for (const [value, count] of countsOf(values)) if (count * 2 > of) return value
  return null
}

/**
 * The smallest number of further votes that could settle the aggregate; 0 if none of the `remaining` can change it.
 * `values`: the valid votes so far, of `asked` in total.
 */
export function votesToSettle(
  values: readonly number[],
  remaining: number,
  asked: number,
  { aggregate, min }: Pick<Votes, 'aggregate' | 'min'>,
): number {
  if (remaining === 0 || values.length + remaining < Math.min(min, asked)) return 0
  if (aggregate === 'mean') return remaining
  if (!isMedian(aggregate)) {
    const voters = aggregate === 'quorum' ? asked : values.length + remaining
    if ((largestCount(values) + remaining) * 2 <= voters) return 0
  }
  const hopeful = [...values]
  const favourite = mostFrequent(values) ?? 0
  for (let more = 0; more < remaining; more++) {
    const isEnough = hopeful.length >= Math.min(min, asked)
    if (isEnough && isSettled(hopeful, remaining - more, asked, aggregate)) return more
    hopeful.push(favourite)
  }
  return remaining
}

/** Whether further votes, valid or not, leave the aggregate as it is. */
function isSettled(
  values: readonly number[],
  remaining: number,
  asked: number,
  aggregate: Exclude<Votes['aggregate'], 'mean'>,
): boolean {
  if (isMedian(aggregate)) {
    const sorted = [...values].sort((a, b) => a - b)
    // The median moves farthest if all remaining votes lie on one side.
    const most = sorted.length + remaining
    const low = middle(sorted, most, -remaining, aggregate)
    const high = middle(sorted, most, 0, aggregate)
    return low !== null && low === high
  }
  return largestCount(values) * 2 > (aggregate === 'quorum' ? asked : values.length + remaining)
}

type Median = 'median' | 'lower_median'

const isMedian = (aggregate: Votes['aggregate']): aggregate is Median =>
  aggregate === 'median' || aggregate === 'lower_median'

/**
 * The median of `count` values, of which `sorted` are those from `shift` on; null: it depends on the others. `lower_median`: of two
 * in the middle, the lower one, as rewardkit takes it, so that the score is one that a judge gave.
 */
function middle(sorted: readonly number[], count: number, shift: number, which: Median): number | null {
  const lower = sorted[((count - 1) >> 1) + shift]
  const upper = which === 'median' ? sorted[(count >> 1) + shift] : lower
  return upper === undefined || lower === undefined ? null : (lower + upper) / 2
}

function mostFrequent(values: readonly number[]): number | null {
  let [best, most]: [number | null, number] = [null, 0]
  for (const [value, count] of countsOf(values)) if (count > most) [best, most] = [value, count]
  return best
}

const largestCount = (values: readonly number[]): number => Math.max(0, ...countsOf(values).values())

function countsOf(values: readonly number[]): ReadonlyMap<number, number> {
  const counts = new Map<number, number>()
  for (const value of values) counts.set(value, (counts.get(value) ?? 0) + 1)
  return counts
}

/** One possible reply of a judge: its verdict on a row (null: none) and its probability. */
interface Possibility {
  readonly label: string
  readonly score: Score | null
  readonly probability: number
}

/** Probabilities may add up to slightly more than 1 by rounding. */
const mostTotal = 1.01

/**
 * The probability-weighted mean of the scores and their parts. Replies without a verdict are left out. null if those are
 * more likely than the others, or if the probabilities are not a distribution.
 */
export function expectedScore(possibilities: readonly Possibility[]): Score | null {
  const whole = possibilities.reduce((sum, { probability }) => sum + probability, 0)
  if (!(whole <= mostTotal) || possibilities.some(({ probability }) => probability < 0)) return null
  const readable = possibilities.flatMap(({ score, probability }) => (score ? [{ score, probability }] : []))
  const total = readable.reduce((sum, { probability }) => sum + probability, 0)
  if (!(total > 0.5)) return null
  const weighted = (numberOf: (score: Score) => number): number =>
    readable.reduce((sum, { score, probability }) => sum + probability * numberOf(score), 0) / total
  const [first, ...others] = readable.map(({ score }) => score)
  const names = Object.keys(first?.parts ?? {}).filter((name) =>
    others.every(({ parts = {} }) => Object.hasOwn(parts, name)),
  )
  const values = readable.map(({ score }) => score.value)
  // Rounding must not leave the range.
  const value = Math.min(
    Math.max(
      weighted((score) => score.value),
      Math.min(...values),
    ),
    Math.max(...values),
  )
  const flags = new Set(
    readable.flatMap(({ score, probability }) => (probability > 0 ? (score.flags ?? []) : [])),
  )
  return {
    value,
    ...(names.length > 0 && {
      parts: Object.fromEntries(names.map((name) => [name, weighted(({ parts }) => parts?.[name] ?? 0)])),
    }),
    details: {
      probabilities: Object.fromEntries(possibilities.map(({ label, probability }) => [label, probability])),
    },
    ...(flags.size > 0 && { flags: [...flags] }),
  }
}

/** The failure of an answer without a verdict. */
export const unparseable: Failure = {
  kind: 'judge_unparseable',
  retryable: true,
  detail: "no verdict was found in the judge's reply",
}
