import toolCall from '../../reward-functions/tool-call.ts'
import type { Json } from '../../src/contract/index.ts'
import { scored } from '../../src/contract/testing.ts'
import type { Adapter, Answer } from './vector.ts'

/** Some inputs are no texts; the function itself has the original's answers to these. */
const scoredAs =
  (variant: string): Answer =>
  ({ input: { solution_str, ground_truth } }, mode) =>
    scored(toolCall, {
      response: solution_str as string,
      groundTruth: ground_truth as Json,
      options: { mode, variant },
    })?.value

export const toolCalls: Adapter = {
  answers: { general: scoredAs('general'), grpo: scoredAs('grpo'), egpo: scoredAs('egpo') },
}
