import { z } from 'zod'
import { defineModelReward, mode } from '../src/contract/index.ts'
import { isBlank } from '../src/grading/index.ts'
import { isList, isObject } from '../src/grading/json/identity.ts'
import { type JsonValue, readJson } from '../src/grading/json/json.ts'
import { braceTrim, lastTurnReply, numberFields, strictReply } from '../src/grading/rider.ts'
import { cosine, spreadSimilarity } from '../src/grading/similarity.ts'

/**
 * Compares a delivery-support agent's reply with the wanted one by embeddings. Pays `1 - weight` for the
 * right form, plus `weight` times the similarity: 0 to 1. A reply without a text pays 0 without a call.
 *
 * Invalid: a ground truth that is not JSON with a text in `Response`, and vectors without a similarity.
 * `published` only requires JSON, but a response without a brace is invalid.
 */
export default defineModelReward({
  ask: 'embed',
  truth: ({ mode }) =>
    z.string().transform((text, context): JsonValue => {
      const target = readJson(text)?.value
      if (target === undefined) context.addIssue('the target is not JSON')
      else if (mode === 'strict' && textOf(target) === null)
        context.addIssue('the target has no text in Response')
      return target ?? null
    }),
  options: z.strictObject({
    mode,
    /** Weight of the similarity. The rest is the floor for a reply in the right form. */
    weight: z.number().min(0).max(1).default(0.7),
  }),
  range: [0, 1],
  parts: ['similarity'],
  rm_preprocess({ sample: { response }, truth, options: { mode } }) {
    if (!isObject(truth) || !truth.has('Response')) return 0
    if (mode === 'strict') {
      const reply = textOf(strictReply(response))
      return reply === null ? 0 : [reply, textOf(truth) ?? '']
    }
    const trimmed = braceTrim(response)
    if (trimmed === null) throw new TypeError('the response has no brace')
    const reply = lastTurnReply(trimmed)
    if (!numberFields.every((field) => isList(reply?.get(field) ?? null))) return 0
    return [asText(reply?.get('Response')), asText(truth.get('Response'))]
  },
  rm_postprocess([given = [], wanted = []], { options: { weight } }) {
    const similarity = spreadSimilarity(cosine(given, wanted))
    if (Number.isNaN(similarity)) return null
    return { value: weight * similarity + (1 - weight), parts: { similarity } }
  },
})

/** The text of `Response`, or null if it is blank. */
function textOf(reply: JsonValue): string | null {
  const text = reply !== null && isObject(reply) ? reply.get('Response') : null
  return typeof text === 'string' && !isBlank(text) ? text : null
}

/** The published code sends whatever the field holds. */
const asText = (value: JsonValue | undefined): string => (typeof value === 'string' ? value : String(value))
