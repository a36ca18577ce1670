import type { Failure, Score, Term } from '../../../core/sample/sample.ts'
import { mean } from '../../../core/statistics/summary.ts'
import type { PlanStep } from '../../plan/plan.ts'
import type { StepContext } from '../context.ts'
import { failedTerm, scoredTerm, skippedTerm } from '../step.ts'
import { aggregated } from './draws.ts'
import { drawsToSettle } from './early-stop.ts'
import { unparseable, type VoteResult } from './vote.ts'

/** What all draws of a question together say of one of its rows. */
export type Aggregate =
  | { readonly status: 'scored'; readonly score: Score; readonly draws: number; readonly spread: number }
  | { readonly status: 'skipped' }
  | { readonly status: 'failed'; readonly failure: Failure }

type Judging = Pick<PlanStep, 'votes' | 'onUnreadable' | 'models'>

/**
 * Runs the draws, all at once; with `early_stop` no more than could settle the aggregates at a time, in order, until
 * they do: which draws count never hangs on which of them was quicker. `columns`: verdicts of a draw.
 */
export async function drawAll(
  step: Judging,
  draws: readonly (() => Promise<VoteResult> | VoteResult)[],
  columns: number,
): Promise<readonly VoteResult[]> {
  // Most steps draw once: there is nothing to settle.
  const [only] = draws
  if (draws.length === 1 && only) return [await only()]
  const drawn: VoteResult[] = []
  const { votes } = step
  for (;;) {
    const left = draws.length - drawn.length
    const needed = (column: number): number => {
      const values = scoresOf(step, drawn, column).map(({ score }) => score.value)
      return drawsToSettle(values, left, draws.length, votes)
    }
    const more = votes.earlyStop ? Math.max(...Array.from({ length: columns }, (_, i) => needed(i))) : left
    if (more <= 0) return drawn
    const next = draws.slice(drawn.length, drawn.length + more)
    drawn.push(...(await Promise.all(next.map((draw) => draw()))))
  }
}

/** `asked`: the draws that `votes` allows, made or not. */
export function aggregateVotes(
  step: Judging,
  drawn: readonly VoteResult[],
  column: number,
  asked: number,
): Aggregate {
  const scores = scoresOf(step, drawn, column)
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
  const failure = drawn.find((one) => one.status === 'failed')
  if (failure) return failure
  const unreadable = drawn.find((one) => one.status === 'read' && !one.verdicts[column])
  if (unreadable?.status !== 'read') return { status: 'failed', failure: undecided }
  if (step.onUnreadable === 'skip') return { status: 'skipped' }
  return { status: 'failed', failure: unreadable.unreadable ?? unparseable }
}

/** The term that an opinion is; `flags` are the question's. */
export function termOf(
  context: StepContext,
  step: PlanStep,
  opinion: Aggregate,
  flags: readonly string[],
): Term {
  if (opinion.status === 'failed') return failedTerm(context, step, opinion.failure)
  if (opinion.status === 'skipped') return skippedTerm(context, step, 'skipped')
  const { score, draws, spread } = opinion
  const own = score.flags ?? []
  const all = own.length + flags.length > 1 ? [...new Set([...own, ...flags])] : [...own, ...flags]
  return scoredTerm(context, step, { ...score, flags: all }, draws, spread)
}

interface Said {
  readonly model: string
  readonly score: Score
}

/** The valid verdicts on a row, in the order of the draws. */
function scoresOf({ onUnreadable }: Judging, drawn: readonly VoteResult[], column: number): readonly Said[] {
  const said: Said[] = []
  for (const one of drawn) {
    if (one.status !== 'read') continue
    const { model } = one
    const score = one.verdicts[column]
    if (score) said.push({ model, score })
    else if (typeof onUnreadable === 'number')
      said.push({ model, score: { value: onUnreadable, flags: ['unreadable'] } })
  }
  return said
}

/** Each model's mean. */
function panelOf(scores: readonly Said[]): Readonly<Record<string, number>> {
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
  detail: 'the verdicts of the draws do not agree as votes.aggregate asks for',
}
