import type { Term } from '../../../core/sample/sample.ts'
import type { CallRow } from '../../functions/function-host.ts'
import type { PlanStep } from '../../plan/plan.ts'
import type { StepContext } from '../context.ts'
import { called, failedTerm, scoredTerm, skippedTerm, textTerm } from '../step.ts'
import { aggregateVotes, drawAll, termOf } from './aggregate.ts'
import { echoFlags, refusedTerm } from './guarded.ts'
import { drawsOf, inquiryOf } from './judge-query.ts'

/** A model reward's term: question, guard, pool, verdict; once for each draw of each model. Never rejects. */
export async function judgeTerm(context: StepContext, step: PlanStep, row: CallRow): Promise<Term> {
  const refused = refusedTerm(context, step, row)
  if (refused) return refused
  const calling = called(context, { op: 'preprocess', function: step.function, rows: [row] })
  const asked = calling instanceof Promise ? await calling : calling
  if (asked.status === 'failed') return failedTerm(context, step, asked.failure)
  if (asked.status === 'verdicts') {
    const [score = null] = asked.verdicts
    return score
      ? scoredTerm(context, step, { ...score, flags: [...(score.flags ?? []), 'no_call'] })
      : skippedTerm(context, step, 'not_applicable')
  }
  const inquiry = inquiryOf(context, step, [row], asked.question)
  const draws = drawsOf(step)
  const [only] = draws
  const drawn =
    draws.length === 1 && only
      ? [await inquiry.draw(only)]
      : await drawAll(
          step,
          draws.map((draw) => () => inquiry.draw(draw)),
          1,
        )
  const noticed = inquiry.noticed()
  if (drawn.some(({ status }) => status === 'text'))
    return textTerm(
      context,
      step,
      drawn.flatMap((one) => (one.status === 'text' ? [one.text] : [])),
    )
  const echoes = echoFlags(context, step, row)
  const flags = echoes.length > 0 ? [...noticed, ...echoes] : noticed
  return termOf(context, step, aggregateVotes(step, drawn, 0, draws.length), flags)
}
