import type { Failure, Term } from '../../../core/sample/sample.ts'
import { mean } from '../../../core/statistics/summary.ts'
import type { CallRow } from '../../functions/function-host.ts'
import type { PlanStep } from '../../plan/plan.ts'
import type { StepContext } from '../context.ts'
import { aggregateVotes, drawAll } from '../judge/aggregate.ts'
import { drawsOf, inquiryOf } from '../judge/judge-query.ts'
import type { Pair } from './pairs.ts'
import type { Match } from './ranking.ts'

/** A comparison that was tried. */
export type Comparison =
  | ({
      readonly status: 'made'
      /** The two orders gave opposite verdicts. */
      readonly isTurned: boolean
      readonly flags: readonly string[]
      /** Probability that the first is better, by model; empty where one model was asked. */
      readonly panel: Panel
    } & Match)
  /** `failure` null: it was skipped as unreadable. */
  | ({ readonly status: 'missing'; readonly failure: Failure | null } & Pair)

/** Model -> how probable it finds that the first of a pair is better. */
export type Panel = ReadonlyMap<string, number>

/** Asks about two answers, in both orders where `swap` says so; one order alone would count its bias. */
export async function compared(
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
  const panels: Panel[] = []
  for (const [index, opinion] of opinions.entries()) {
    if (opinion.status === 'failed') return { status: 'missing', first, second, failure: opinion.failure }
    if (opinion.status === 'skipped') return { status: 'missing', first, second, failure: null }
    const { value, details = {} } = opinion.score
    const asFirst = (probability: number): number => (index === 0 ? probability : 1 - probability)
    probabilities.push(asFirst(value))
    const said = Object.entries((details.panel ?? {}) as Readonly<Record<string, number>>)
    panels.push(new Map(said.map(([model, probability]) => [model, asFirst(probability)])))
  }
  const [forth = 0.5, back = forth] = probabilities
  const isTurned = (forth - 0.5) * (back - 0.5) < 0
  const flags = opinions.flatMap((one) =>
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
  const opinion = aggregateVotes(step, drawn, 0, draws.length)
  return opinion.status === 'scored' ? { ...opinion, noticed: inquiry.noticed() } : opinion
}

/** Each model's mean. */
export function panelMean(panels: readonly Panel[]): Panel {
  const models = new Set(panels.flatMap((panel) => [...panel.keys()]))
  return new Map([...models].map((model) => [model, mean(panels.flatMap((panel) => panel.get(model) ?? []))]))
}

const noQuestion: Failure = {
  kind: 'function_error',
  retryable: false,
  detail: 'rm_preprocess asked no question',
}
