import { z } from 'zod'
import { defineRule, RuleTimeout, type Score } from '../src/contract/index.ts'
import { answerAt, answerPlaces, soleFence } from '../src/grading/index.ts'
import { CheckTooLong, schemaCheck } from '../src/grading/json/schema.ts'

/** The answer is JSON, alone or as the only fenced block, that satisfies the options' JSON Schema: 1 or 0. Numbers are exact. */
export default defineRule({
  truth: z.unknown(),
  options: z.strictObject({
    /** Draft 2020-12, as an object or as its JSON text. `format` is not checked; `pattern` is RE2 syntax. */
    schema: z.union([z.record(z.string(), z.unknown()), z.string()]).superRefine((schema, context) => {
      try {
        schemaCheck(schema)
      } catch (error) {
        context.addIssue({ code: 'custom', message: error instanceof Error ? error.message : String(error) })
      }
    }),
    place: z.enum(answerPlaces).default('whole'),
    /** forbid: the answer is JSON and nothing else; allow: it may stand in one ``` block with text around. */
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
