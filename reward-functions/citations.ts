import { z } from 'zod'
import { defineRule, type Score } from '../src/contract/index.ts'
import { citationId, citationsOf } from '../src/grading/citations.ts'
import { answerAt, answerPlaces, f1Of } from '../src/grading/index.ts'

const id = z
  .union([z.int().min(0), z.string().trim().min(1).max(100)])
  .transform((one) => citationId(String(one)))
const ids = z.array(id).max(10_000)

/** The documents that an answer must cite, and those that it may. */
const wanted = z
  .union(
    [
      ids.transform((all) => ({ wanted: all, allowed: all })),
      z
        .object({ wanted: ids, allowed: ids.optional() })
        .transform(({ wanted, allowed = wanted }) => ({ wanted, allowed })),
    ],
    { error: 'is no list of ids (numbers or texts) and no object with such a list in wanted' },
  )
  .refine(({ wanted, allowed }) => {
    const known = new Set(allowed)
    return wanted.every((one) => known.has(one))
  }, 'has a wanted id that is not in allowed')

/**
 * Pays how well the `[n]` marks of an answer name the wanted documents: precision is the share of its citations that are
 * allowed, recall the share of the wanted documents that it cites. A mark counts behind a statement, not at the beginning of
 * a line (a list of references). Too many marks behind one statement, or one of them twice, pay nothing. If no document is wanted, an answer
 * without marks pays 1.
 *
 * Invalid: a ground truth that is no list of ids and no object with `wanted`.
 */
export default defineRule({
  truth: wanted,
  options: z.strictObject({
    /** What is paid. The parts have all three. */
    score: z.enum(['f1', 'precision', 'recall']).default('f1'),
    /** Where the answer stands, after the thinking. */
    place: z.enum(answerPlaces).default('whole'),
    /** Marks behind one statement that are not spam. */
    most_together: z.int().min(1).max(100).default(3),
    /** Words that a statement has at least. In scripts without spaces, each character is one. */
    least_words: z.int().min(1).max(100).default(3),
  }),
  range: [0, 1],
  parts: ['precision', 'recall', 'f1'],
  score({ sample, truth, options }): Score {
    const { score, place, most_together, least_words } = options
    const nothing = (reason: string, details = {}): Score => ({
      value: 0,
      parts: { precision: 0, recall: 0, f1: 0 },
      details: { ...details, reason },
    })
    const answer = answerAt(sample.response, place)
    if ('reason' in answer) return nothing(answer.reason)
    const allowed = new Set(truth.allowed)
    const { cited, loose, mostTogether, isRepeated } = citationsOf(answer.text, allowed, least_words)
    const details = { cited: cited.length, ...(loose > 0 && { loose }) }
    if (mostTogether > most_together || isRepeated) return nothing('spam', details)
    const all = new Set(truth.wanted)
    if (all.size === 0 && cited.length + loose === 0)
      return { value: 1, parts: { precision: 1, recall: 1, f1: 1 }, details }
    if (cited.length === 0) return nothing('uncited', details)
    const precision = cited.filter((one) => allowed.has(one)).length / cited.length
    const recall = all.size === 0 ? 0 : cited.filter((one) => all.has(one)).length / all.size
    const parts = { precision, recall, f1: f1Of(precision, recall) }
    return { value: parts[score], parts, details }
  },
})
