import type { AskName, Asks } from '../../../contract/index.ts'
import { memoizeByObject } from '../../../core/memoize.ts'
import type { Score, Term } from '../../../core/sample/sample.ts'
import { turnFor } from '../../../core/slices.ts'
import type { CallRow } from '../../functions/function-host.ts'
import type { PlanStep } from '../../plan/plan.ts'
import type { StepContext } from '../context.ts'
import { scoredTerm } from '../step.ts'
import { questionsOf, refusedTerm } from './guarded.ts'
import { type Fitted, fitted, overflows } from './prompt-budget.ts'
import { castVote, type Vote, type VoteResult } from './vote.ts'

/** A question about some rows, on its way to a step's models. */
export interface JudgeQuery {
  /** Never rejects. */
  draw(draw: Vote): Promise<VoteResult> | VoteResult
  /** Flags for what was noticed about the question while it was made ready for those models that were asked. Call it once. */
  noticed(): readonly string[]
}

/** The question is made ready once for each model, when that is first asked. */
export function inquiryOf(
  context: StepContext,
  step: PlanStep,
  rows: readonly CallRow[],
  question: Asks[AskName]['input'],
): JudgeQuery {
  const made: { readonly model: string; readonly fitting: Fitted | Promise<Fitted> }[] = []
  const questions = questionsOf(context, step, rows, question)
  let isCut = false
  const ready = (model: string): Fitted | Promise<Fitted> => {
    const known = made.find((one) => one.model === model)
    if (known) return known.fitting
    const fit = () => fitted(context, step, model, rows, question, questions)
    const fitting = questions.ready(model)?.then(fit) ?? fit()
    made.push({ model, fitting })
    return fitting
  }
  const drawn = (fitting: Fitted, draw: Vote): Promise<VoteResult> | VoteResult => {
    const { model } = draw
    if (fitting.status === 'failed') return { model, status: 'failed', failure: fitting.failure }
    if (fitting.status === 'refused')
      return { model, status: 'read', verdicts: rows.map(() => refusedBy(step)) }
    isCut ||= fitting.isCut
    const ask = () => castVote(context, step, rows, fitting.question, draw)
    // To write it for a server is one piece of work.
    return turnFor(questions.chars)?.then(ask) ?? ask()
  }
  return {
    draw(draw) {
      const fitting = ready(draw.model)
      return fitting instanceof Promise ? fitting.then((fitted) => drawn(fitted, draw)) : drawn(fitting, draw)
    },
    noticed: () => (isCut ? [...questions.noticed(), 'truncated'] : questions.noticed()),
  }
}

/** The draws of a step over one question: each model's first, then each model's second, ... */
export const drawsOf = memoizeByObject(({ models, votes }: PlanStep): readonly Vote[] =>
  Array.from({ length: votes.n }, (_, draw) => models.map((model) => ({ model, draw }))).flat(),
)

/** The term of an answer of a group that no judge is shown: it says nothing, or alone is too long; null: it is shown. */
export async function refusedAmong(context: StepContext, step: PlanStep, row: CallRow): Promise<Term | null> {
  const refused = refusedTerm(context, step, row)
  const hasLow = Number.isFinite(step.function.range[0])
  if (refused || !hasLow || !(await overflows(context, step, row))) return refused
  return scoredTerm(context, step, refusedBy(step))
}

/** The verdict on an answer that no judge is shown. */
const refusedBy = ({ function: { range } }: PlanStep): Score => ({ value: range[0], flags: ['refused'] })
