import type { Failure, Term } from '../../../core/sample/sample.ts'
import { workInSlices } from '../../../core/slices.ts'
import { deviation } from '../../../core/statistics/summary.ts'
import type { CallRow } from '../../functions/function-host.ts'
import type { PlanStep } from '../../plan/plan.ts'
import type { StepContext } from '../context.ts'
import { callRoom, drawRoom } from '../gate.ts'
import { echoFlags } from '../judge/guarded.ts'
import { drawsOf, refusedAmong } from '../judge/judge-query.ts'
import { failedTerm, scoredTerm, skippedTerm } from '../step.ts'
import { type Comparison, compared, type Panel, panelMean } from './comparison.ts'
import { type Pair, pairsOf } from './pairs.ts'
import { probabilityOf, type Ranking, standingsOf } from './ranking.ts'

/** One term a contestant, in their order: how it stands in comparison with the others. Never rejects. */
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
    // Nobody waits for what is left of them.
    if (end.signal.aborted) return { status: 'missing', ...pair, failure: apart }
    return compared(context, step, contestants, refused, pair)
  })
  const made = tried.filter((one) => one.status === 'made')
  const standings = await workInSlices(standingsOf(contestants.length, made, step.pairs.aggregate))
  const own = contestants.map((): Comparison[] => [])
  for (const one of tried) {
    own[one.first]?.push(one)
    own[one.second]?.push(one)
  }
  return contestants.map(
    (row, index) =>
      refused[index] ?? termOf(context, step, row, own[index] ?? [], index, standings[index] ?? null),
  )
}

function termOf(
  context: StepContext,
  step: PlanStep,
  row: CallRow,
  own: readonly Comparison[],
  index: number,
  standing: Ranking | null,
): Term {
  const made = own.filter((one) => one.status === 'made')
  if (!standing) {
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
    value: Math.min(Math.max(low + (high - low) * standing.share, low), high),
    details: {
      comparisons: made.length,
      wins: probabilities.reduce((sum, probability) => sum + probability, 0),
      missing: own.length - made.length,
      ...(step.pairs.swap && { order_changed: turned }),
      ...(standing.strength !== null && { strength: standing.strength }),
      ...(panel.size > 0 && { panel: Object.fromEntries(panel) }),
    },
    ...(flags.size > 0 && { flags: [...flags] }),
  }
  return scoredTerm(context, step, score, made.length, deviation(probabilities))
}

/** By model: the probability that this one is better. */
const panelFor = (index: number, { first, panel }: Made): Panel =>
  index === first ? panel : new Map([...panel].map(([model, probability]) => [model, 1 - probability]))

type Made = Extract<Comparison, { status: 'made' }>

const apart: Failure = {
  kind: 'group_incomplete',
  retryable: true,
  detail:
    "too many comparisons failed: no chain of them leads from this answer to most of the group's others",
}
