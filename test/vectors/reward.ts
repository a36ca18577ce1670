import type { Json, Rule } from '../../src/contract/index.ts'
import { type RowParts, scored } from '../../src/contract/testing.ts'

/** The value of a rule for the input of a published score function; throws where the border would refuse the sample. */
export function reward<T, O>(
  rule: Rule<T, O>,
  input: Readonly<Record<string, unknown>>,
  options: Json,
  rest: RowParts = {},
): number | null {
  const { solution_str: response, ground_truth: groundTruth = null } = input
  if (typeof response !== 'string') throw new TypeError('a response is a text')
  return scored(rule, { ...rest, response, groundTruth: groundTruth as Json, options })?.value ?? null
}
