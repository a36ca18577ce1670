import type { CallRow } from '../functions/function-host.ts'
import type { PlanStep } from '../plan/plan.ts'
import type { Failure } from '../sample/failure.ts'
import type { Term } from '../sample/outcome.ts'
import { deviation } from '../statistics/moments.ts'
import { echoFlags } from './guarded.ts'
import { drawsOf, inquiryOf, refusedAmong } from './inquiry.ts'
import { drawAll, opinionOf } from './opinion.ts'
import { type Pair, pairsOf } from './pairs.ts'
import { type Match, probabilityOf, type Standing, standingsOf } from './standings.ts'
import { failed, off, type StepContext, scored } from './step.ts'

/** A comparison that was tried. `failure` null: it was skipped as unreadable. */
type Tried =
  | ({ readonly status: 'made'; readonly isTurned: boolean; readonly flags: readonly string[] } & Match)
  | ({ readonly status: 'missing'; readonly failure: Failure | null } & Pair)

/** One term a contestant, in their order: how it stands in comparison with the others. Never rejects. */
export async function pairTerms(
  context: StepContext,
  step: PlanStep,
  contestants: readonly CallRow[],
): Promise<readonly Term[]> {
  const refused = await Promise.all(contestants.map((row) => refusedAmong(context, step, row)))
  const [low, high] = step.function.range
  // All answers of the group are equal.
  const tie = { value: (low + high) / 2, flags: ['no_call'] }
  if (contestants.length === 1) return [refused[0] ?? scored(context, step, tie)]
  const tried = await Promise.all(
    pairsOf(contestants.length, step.pairs).map((pair) =>
      compared(context, step, contestants, refused, pair),
    ),
  )
  const made = tried.filter((one) => one.status === 'made')
  const standings = standingsOf(contestants.length, made, step.pairs.aggregate)
  const own = contestants.map((): Tried[] => [])
  for (const one of tried) for (const index of [one.first, one.second]) own[index]?.push(one)
  return contestants.map(
    (row, index) =>
      refused[index] ?? termOf(context, step, row, own[index] ?? [], index, standings[index] ?? null),
  )
}

/** Asks about two answers, in both orders where `swap` says so; one order alone would count its bias. */
async function compared(
  context: StepContext,
  step: PlanStep,
  contestants: readonly CallRow[],
  refused: readonly (Term | null)[],
  { first, second }: Pair,
): Promise<Tried> {
  if (refused[first] || refused[second]) {
    const probability = refused[first] && refused[second] ? 0.5 : refused[first] ? 0 : 1
    return { status: 'made', first, second, probability, isTurned: false, flags: [] }
  }
  const orders = step.pairs.swap
    ? [[first, second] as const, [second, first] as const]
    : [[first, second] as const]
  const opinions = await Promise.all(
    orders.map((order) =>
      preferred(
        context,
        step,
        order.map((index) => contestants[index] as CallRow),
      ),
    ),
  )
  const probabilities: number[] = []
  for (const [index, opinion] of opinions.entries()) {
    if (opinion.status === 'failed') return { status: 'missing', first, second, failure: opinion.failure }
    if (opinion.status === 'skipped') return { status: 'missing', first, second, failure: null }
    const { value } = opinion.score
    probabilities.push(index === 0 ? value : 1 - value)
  }
  const [forth = 0.5, back = forth] = probabilities
  const isTurned = (forth - 0.5) * (back - 0.5) < 0
  const flags = opinions.flatMap((one) =>
    one.status === 'scored' ? [...(one.score.flags ?? []), ...one.noticed] : [],
  )
  return { status: 'made', first, second, probability: (forth + back) / 2, isTurned, flags }
}

/** How probable it is that the first of two rows is better. */
async function preferred(context: StepContext, step: PlanStep, rows: readonly CallRow[]) {
  const asked = await context.functions.call({ op: 'preprocess', function: step.function, rows })
  if (asked.status !== 'question') {
    return { status: 'failed', failure: asked.status === 'failed' ? asked.failure : noQuestion } as const
  }
  const inquiry = inquiryOf(context, step, rows, asked.question)
  const draws = drawsOf(step)
  const drawn = await drawAll(
    step,
    draws.map((draw) => () => inquiry.draw(draw)),
    1,
  )
  const opinion = opinionOf(step, drawn, 0, draws.length)
  return opinion.status === 'scored' ? { ...opinion, noticed: inquiry.noticed() } : opinion
}

function termOf(
  context: StepContext,
  step: PlanStep,
  row: CallRow,
  own: readonly Tried[],
  index: number,
  standing: Standing | null,
): Term {
  const made = own.filter((one) => one.status === 'made')
  if (!standing) {
    const missing = own.filter((one) => one.status === 'missing')
    const failure = missing.find((one) => one.failure)?.failure
    if (made.length === 0 && missing.length > 0 && !failure) return off(context, step, 'skipped')
    return failed(context, step, made.length === 0 && failure ? failure : apart)
  }
  const [low, high] = step.function.range
  const probabilities = made.flatMap((match) => probabilityOf(index, match))
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
    },
    ...(flags.size > 0 && { flags: [...flags] }),
  }
  return scored(context, step, score, made.length, deviation(probabilities))
}

const noQuestion: Failure = {
  kind: 'function_error',
  retryable: false,
  detail: 'rm_preprocess asked no question',
}

const apart: Failure = {
  kind: 'group_incomplete',
  retryable: true,
  detail:
    "too many comparisons failed: no chain of them leads from this answer to most of the group's others",
}
