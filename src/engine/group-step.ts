import type { CallRow } from '../functions/function-host.ts'
import type { PlanStep } from '../plan/plan.ts'
import type { Term } from '../sample/outcome.ts'
import type { Sample } from '../sample/sample.ts'
import { failed, off, type StepContext, scored } from './step.ts'

/** A step over all answers to one prompt. null where this sample takes no part (`row` is null). Never rejects. */
export function groupTerm(
  context: StepContext,
  step: PlanStep,
  sample: Sample,
  row: CallRow | null,
): Promise<Term | null> {
  return context.groups.together(step.name, sample, row, (rows: readonly CallRow[]) =>
    groupRuleTerms(context, step, rows),
  )
}

/** One term a row, in the order of the rows. */
async function groupRuleTerms(
  context: StepContext,
  step: PlanStep,
  rows: readonly CallRow[],
): Promise<readonly Term[]> {
  const result = await context.functions.call({ op: 'score', function: step.function, rows })
  if (result.status !== 'verdicts') {
    const failure =
      result.status === 'failed'
        ? result.failure
        : ({ kind: 'function_error', retryable: false, detail: 'a group rule asked a question' } as const)
    return rows.map(() => failed(context, step, failure))
  }
  return rows.map((_row, index) => {
    const score = result.verdicts[index]
    return score ? scored(context, step, score) : off(context, step, 'not_applicable')
  })
}
