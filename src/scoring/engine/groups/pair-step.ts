import type { Failure, Term } from '../../../core/sample/sample.ts'
import { turnFor, workInSlices } from '../../../core/slices.ts'
import { deviation, mean } from '../../../core/statistics/summary.ts'
import type { CallRow } from '../../functions/function-host.ts'
import type { PlanStep } from '../../plan/plan.ts'
import type { StepContext } from '../context.ts'
import { callRoom, drawRoom } from '../job.ts'
import { judgeQuery } from '../judge/ask.ts'
import { echoFlags, refusedAmong } from '../judge/step-question.ts'
import { aggregateVotes, collectVotes, drawsOf } from '../judge/votes.ts'
import { called, failedTerm, scoredTerm, skippedTerm } from '../step.ts'
import { type Match, type Pair, pairsOf, probabilityOf, type Ranking, rankingsOf } from './ranking.ts'

/** One term per contestant, in order, from its comparisons with the others. Never rejects. */
export async function pairTerms(
  context: StepContext,
  step: PlanStep,
  contestants: readonly CallRow[],
): Promise<readonly Term[]> {
  const { gates, end } = context
  const refused = await gates.calls.all(contestants.length, callRoom, (index) =>
    refusedAmong(context, step, contestants[index] as CallRow),
  )
  const [low, high] = step.function.range
  // All answers of the group are equal.
  const tie = { value: (low + high) / 2, flags: ['no_call'] }
  if (contestants.length === 1) return [refused[0] ?? scoredTerm(context, step, tie)]
  const pairs = pairsOf(contestants.length, step.pairs)
  const room = drawsOf(step).length * (step.pairs.swap ? 2 : 1) * drawRoom
  const tried = await gates.of(step.models).all(pairs.length, room, async (index): Promise<Comparison> => {
    const pair = pairs[index] as Pair
    // The request is over: skip the remaining comparisons.
    if (end.signal.aborted) return { status: 'missing', ...pair, failure: apart }
    return compared(context, step, contestants, refused, pair)
  })
  const made = tried.filter((one) => one.status === 'made')
  const rankings = await workInSlices(rankingsOf(contestants.length, made, step.pairs.aggregate))
  const own = contestants.map((): Comparison[] => [])
  for (const one of tried) {
    own[one.first]?.push(one)
    own[one.second]?.push(one)
  }
  return contestants.map(
    (row, index) =>
      refused[index] ?? termOf(context, step, row, own[index] ?? [], index, rankings[index] ?? null),
  )
}

function termOf(
  context: StepContext,
  step: PlanStep,
  row: CallRow,
  own: readonly Comparison[],
  index: number,
  ranking: Ranking | null,
): Term {
  const made = own.filter((one) => one.status === 'made')
  if (!ranking) {
    const missing = own.filter((one) => one.status === 'missing')
    const failure = missing.find((one) => one.failure)?.failure
    if (made.length === 0 && missing.length > 0 && !failure) return skippedTerm(context, step, 'skipped')
    return failedTerm(context, step, made.length === 0 && failure ? failure : apart)
  }
  const [low, high] = step.function.range
  const probabilities = made.flatMap((match) => probabilityOf(index, match))
  const panel = panelMean(made.map((match) => panelFor(index, match)))
  const turned = made.filter(({ isTurned }) => isTurned).length
  const flags = new Set([
    ...made.flatMap((one) => one.flags),
    ...echoFlags(context, step, row),
    ...(turned > 0 ? ['position_bias'] : []),
  ])
  const score = {
    value: Math.min(Math.max(low + (high - low) * ranking.share, low), high),
    details: {
      comparisons: made.length,
      wins: probabilities.reduce((sum, probability) => sum + probability, 0),
      missing: own.length - made.length,
      ...(step.pairs.swap && { order_changed: turned }),
      ...(ranking.strength !== null && { strength: ranking.strength }),
      ...(panel.size > 0 && { panel: Object.fromEntries(panel) }),
    },
    ...(flags.size > 0 && { flags: [...flags] }),
  }
  return scoredTerm(context, step, score, made.length, deviation(probabilities))
}

/** The probability that this answer is better, by model. */
const panelFor = (index: number, { first, panel }: Made): Panel =>
  index === first ? panel : new Map([...panel].map(([model, probability]) => [model, 1 - probability]))

type Made = Extract<Comparison, { status: 'made' }>

const apart: Failure = {
  kind: 'group_incomplete',
  retryable: true,
  detail: 'too many comparisons failed: no chain of comparisons connects this answer to most of the group',
}

export type Comparison =
  | ({
      readonly status: 'made'
      /** True if the two orders gave opposite verdicts. */
      readonly isTurned: boolean
      readonly flags: readonly string[]
      /** The probability that the first is better, by model; empty if only one model was asked. */
      readonly panel: Panel
    } & Match)
  /** `failure` null: skipped because it was unreadable. */
  | ({ readonly status: 'missing'; readonly failure: Failure | null } & Pair)

/** Maps a model to the probability it gives that the first of a pair is better. */
export type Panel = ReadonlyMap<string, number>

/** Compares two answers, in both orders if `swap` is set: a single order would include the judge's position bias. */
async function compared(
  context: StepContext,
  step: PlanStep,
  contestants: readonly CallRow[],
  refused: readonly (Term | null)[],
  { first, second }: Pair,
): Promise<Comparison> {
  if (refused[first] || refused[second]) {
    const probability = refused[first] && refused[second] ? 0.5 : refused[first] ? 0 : 1
    return { status: 'made', first, second, probability, isTurned: false, flags: [], panel: new Map() }
  }
  const orders = step.pairs.swap
    ? [[first, second] as const, [second, first] as const]
    : [[first, second] as const]
  const aggregates = await Promise.all(
    orders.map((order) =>
      preferred(
        context,
        step,
        order.map((index) => contestants[index] as CallRow),
      ),
    ),
  )
  const probabilities: number[] = []
  const panels: Panel[] = []
  for (const [index, aggregate] of aggregates.entries()) {
    if (aggregate.status === 'failed') return { status: 'missing', first, second, failure: aggregate.failure }
    if (aggregate.status === 'skipped') return { status: 'missing', first, second, failure: null }
    const { value, details = {} } = aggregate.score
    const asFirst = (probability: number): number => (index === 0 ? probability : 1 - probability)
    probabilities.push(asFirst(value))
    const said = Object.entries((details.panel ?? {}) as Readonly<Record<string, number>>)
    panels.push(new Map(said.map(([model, probability]) => [model, asFirst(probability)])))
  }
  const [forth = 0.5, back = forth] = probabilities
  const isTurned = (forth - 0.5) * (back - 0.5) < 0
  const flags = aggregates.flatMap((one) =>
    one.status === 'scored' ? [...(one.score.flags ?? []), ...one.noticed] : [],
  )
  return {
    status: 'made',
    first,
    second,
    probability: (forth + back) / 2,
    isTurned,
    flags,
    panel: panelMean(panels),
  }
}

/** The probability that the first of two rows is better. */
async function preferred(context: StepContext, step: PlanStep, rows: readonly CallRow[]) {
  // Long answers are copied to the function's thread: one pair in each turn of the event loop.
  const turn = turnFor(rows.reduce((sum, { sample }) => sum + sample.response.length, 0))
  if (turn !== null) await turn
  const asked = await called(context, { op: 'preprocess', function: step.function, rows })
  if (asked.status !== 'question') {
    return { status: 'failed', failure: asked.status === 'failed' ? asked.failure : noQuestion } as const
  }
  const query = judgeQuery(context, step, rows, asked.question)
  const draws = drawsOf(step)
  const votes = await collectVotes(
    step,
    draws.map((draw) => () => query.ask(draw)),
    1,
  )
  const aggregate = aggregateVotes(step, votes, 0, draws.length)
  return aggregate.status === 'scored' ? { ...aggregate, noticed: query.noticed() } : aggregate
}

/** The mean probability of each model. */
function panelMean(panels: readonly Panel[]): Panel {
  const models = new Set(panels.flatMap((panel) => [...panel.keys()]))
  return new Map([...models].map((model) => [model, mean(panels.flatMap((panel) => panel.get(model) ?? []))]))
}

const noQuestion: Failure = {
  kind: 'function_error',
  retryable: false,
  detail: 'rm_preprocess asked no question',
}
