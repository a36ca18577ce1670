import type { GraderValues } from './grader-template.ts'
import { afterThink } from './think.ts'

interface Graded {
  readonly response: string
  readonly groundTruth: unknown
  readonly extraInfo: Readonly<Record<string, unknown>>
}

/** What a grader sees of a sample: the row is its extra_info, beside `ground_truth`; null: its thinking never ends. */
export function graderValues({ response, groundTruth, extraInfo }: Graded): GraderValues | null {
  const answer = afterThink(response)
  return answer === null
    ? null
    : { item: { ground_truth: groundTruth, ...extraInfo }, outputText: answer.trim() }
}
