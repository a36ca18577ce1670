import { lastUserText } from '../../contract/index.ts'
import { marker, questionTexts, withMarker } from '../../contract/question-faults.ts'
import type { Sample } from '../../core/sample/sample.ts'
import { withOwnTexts } from '../../scoring/engine/guard/question.ts'
import type { CallRow, FunctionHost } from '../../scoring/functions/function-host.ts'
import type { PlanStep } from '../../scoring/plan/plan.ts'

/** Where a marker in the response came out of rm_preprocess. */
type MarkerFound =
  /** In a value, which the guard fences. */
  | { readonly status: 'guarded' }
  /** In text that counts as the author's own. */
  | { readonly status: 'unguarded' }
  /** Nowhere: the question does not hold the response. */
  | { readonly status: 'absent' }
  /** No question was made of the sample. */
  | { readonly status: 'no_question'; readonly why: string }

/** Sends a marked response through a step's rm_preprocess. Texts of embeddings have no structure to guard. */
export async function traceMarker(
  step: PlanStep,
  sample: Sample,
  functions: FunctionHost,
): Promise<MarkerFound> {
  const marked = { ...sample, response: withMarker(sample.response) }
  const row: CallRow = { sample: marked, earlier: earlierOf(step) }
  const other: CallRow = { sample: { ...sample, response: 'another answer' }, earlier: row.earlier }
  const rows = step.kind === 'model' ? [row] : [row, other]
  const result = await functions.call({ op: 'preprocess', function: step.function, rows })
  if (result.status === 'failed') return { status: 'no_question', why: result.failure.detail }
  if (result.status === 'verdicts')
    return { status: 'no_question', why: 'a verdict was given without a call' }
  if (step.ask === 'embed') return { status: 'guarded' }
  const { trusted, untrusted } = questionTexts(withOwnTexts(result.question, rows))
  if (trusted.some((text) => text.includes(marker))) return { status: 'unguarded' }
  return { status: untrusted.some((text) => text.includes(marker)) ? 'guarded' : 'absent' }
}

/** Why a step asks nothing about a sample whose prompt is a list of messages, as many trainers send it; null: it asks. */
export async function refusesMessages(
  step: PlanStep,
  sample: Sample,
  functions: FunctionHost,
): Promise<string | null> {
  const prompt = [
    { role: 'system', content: 'Be brief.' },
    { role: 'user', content: lastUserText(sample) },
  ]
  const found = await traceMarker(step, { ...sample, prompt }, functions)
  return found.status === 'no_question' ? found.why : null
}

/** Stand-ins for the steps that a step reads in `earlier`. */
export const earlierOf = ({ after }: PlanStep): CallRow['earlier'] =>
  Object.fromEntries(after.map((name) => [name, { score: { value: 0 }, texts: ['an earlier text'] }]))
