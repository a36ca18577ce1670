import type { Term } from '../../../core/sample/sample.ts'
import type { CallRow } from '../../functions/function-host.ts'
import type { PlanStep } from '../../plan/plan.ts'
import type { StepContext } from '../context.ts'
import { callRoom, drawRoom } from '../job.ts'
import { type JudgeQuery, judgeQuery } from '../judge/ask.ts'
import { echoFlags, refusedAmong } from '../judge/step-question.ts'
import { aggregateVotes, collectVotes, type Draw, drawsOf, termOf, type Vote } from '../judge/votes.ts'
import { called } from '../step.ts'

/** One term per contestant, from one question about all of them. Each draw shows them in another order. Never rejects. */
export async function listTerms(
  context: StepContext,
  step: PlanStep,
  contestants: readonly CallRow[],
): Promise<readonly Term[]> {
  const refused = await context.gates.calls.all(contestants.length, callRoom, (index) =>
    refusedAmong(context, step, contestants[index] as CallRow),
  )
  const shown = contestants.filter((_row, index) => !refused[index])
  const orders = Array.from({ length: step.votes.n }, (_, draw) => turned(shown, draw, step.votes.n))
  const asked = new Map<number, Promise<JudgeQuery | Vote>>()
  const queryFor = (draw: Draw): Promise<JudgeQuery | Vote> => {
    const known = asked.get(draw.draw) ?? question(context, step, orders[draw.draw] ?? shown, draw)
    asked.set(draw.draw, known)
    return known
  }
  const draws = shown.length === 0 ? [] : drawsOf(step)
  const votes = await context.gates.of(step.models).through(Math.max(1, draws.length) * drawRoom, async () =>
    collectVotes(
      step,
      draws.map((draw) => async () => {
        const query = await queryFor(draw)
        if ('status' in query) return { ...query, model: draw.model }
        return turnedBack(await query.ask(draw), orders[draw.draw] ?? shown, shown)
      }),
      shown.length,
    ),
  )
  const queries = await Promise.all(asked.values())
  const flags = [...new Set(queries.flatMap((one) => ('status' in one ? [] : one.noticed())))]
  const columns = new Map(shown.map((row, column) => [row, column]))
  return contestants.map(
    (row, index) =>
      refused[index] ??
      termOf(context, step, aggregateVotes(step, votes, columns.get(row) ?? -1, draws.length), [
        ...flags,
        ...echoFlags(context, step, row),
      ]),
  )
}

/** The question about the rows in this order, or the failure that replaces its answer. */
async function question(
  context: StepContext,
  step: PlanStep,
  rows: readonly CallRow[],
  { model }: Draw,
): Promise<JudgeQuery | Vote> {
  const asked = await called(context, { op: 'preprocess', function: step.function, rows })
  if (asked.status === 'question') return judgeQuery(context, step, rows, asked.question)
  const failure =
    asked.status === 'failed'
      ? asked.failure
      : ({ kind: 'function_error', retryable: false, detail: 'rm_preprocess asked no question' } as const)
  return { model, status: 'failed', failure }
}

/** Rotated by an equal share for each draw, so that over all draws each answer appears in every part of the list. */
function turned<T>(items: readonly T[], draw: number, draws: number): readonly T[] {
  const by = Math.floor((draw * items.length) / draws)
  return [...items.slice(by), ...items.slice(0, by)]
}

/** Puts the verdicts back in the order of `shown`. */
function turnedBack(vote: Vote, order: readonly CallRow[], shown: readonly CallRow[]): Vote {
  if (vote.status !== 'read') return vote
  const places = new Map(order.map((row, place) => [row, place]))
  return { ...vote, verdicts: shown.map((row) => vote.verdicts[places.get(row) ?? -1] ?? null) }
}
