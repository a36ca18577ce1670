import { z } from 'zod'
import { defineRule, RuleTimeout, type Score } from '../src/contract/index.ts'
import { answerAt, answerPlaces, soleFence } from '../src/grading/index.ts'
import { CheckTooLong, schemaCheck } from '../src/grading/json/schema.ts'

/**
 * Pays 1 if the answer is JSON that satisfies the JSON Schema in the options, else 0. Numbers are compared
 * exactly.
 *
 * Invalid: a check over its budget (`rule_timeout`). Reads no ground truth.
 */
export default defineRule({
  truth: z.unknown(),
  options: z.strictObject({
    /**
     * A draft 2020-12 schema, as an object or as JSON text. `format` is not checked; `pattern` uses RE2
     * syntax.
     */
    schema: z.union([z.record(z.string(), z.unknown()), z.string()]).superRefine((schema, context) => {
      try {
        schemaCheck(schema)
      } catch (error) {
        context.addIssue({ code: 'custom', message: error instanceof Error ? error.message : String(error) })
      }
    }),
    /** Where the response states its answer, after its thinking. */
    place: z.enum(answerPlaces).default('whole'),
    /** `forbid`: the answer is only JSON. `allow`: the JSON may be in one ``` block with text around it. */
    fence: z.enum(['forbid', 'allow']).default('allow'),
  }),
  range: [0, 1],
  score({ sample, options: { schema, place, fence } }): Score {
    const answer = answerAt(sample.response, place)
    if (!('text' in answer)) return { value: 0, details: { reason: answer.reason } }
    const fenced = fence === 'allow' ? soleFence(answer.text) : null
    const reason = reasonBy(schema, fenced ?? answer.text)
    return reason === null ? { value: 1 } : { value: 0, details: { reason } }
  },
})

function reasonBy(schema: object | string, text: string): string | null {
  try {
    return schemaCheck(schema)(text)
  } catch (error) {
    if (error instanceof CheckTooLong)
      throw new RuleTimeout('the schema has too many ways to read the answer')
    throw error
  }
}
