import { z } from 'zod'
import { defineRule, type Score } from '../src/contract/index.ts'
import {
  answerAt,
  answerPlaces,
  countCodePoints,
  isComparable,
  similarityMetrics,
  textSimilarity,
} from '../src/grading/index.ts'

/** A longer reference would take too long to compare with a long answer. */
const maxReference = 20_000

/**
 * Pays the similarity of the answer to the ground truth, 0 to 1, by one of the metrics of OpenAI's
 * text_similarity grader. The closest of several ground truths counts. In scripts without spaces each
 * character is a word, and the rouge metrics also count words that rouge-score leaves out: those in other
 * scripts than Latin.
 *
 * Invalid: a ground truth with nothing to compare or of more than 20,000 characters.
 */
export default defineRule({
  options: z.strictObject({
    metric: z.enum(similarityMetrics).default('rouge_l'),
    /** Where the response states its answer, after its thinking. */
    place: z.enum(answerPlaces).default('whole'),
    /** Scores 1 from this similarity on and 0 below it. If absent, the score is the similarity. */
    pass: z.number().min(0).max(1).optional(),
  }),
  truth: ({ metric }) =>
    z
      .union([z.string(), z.array(z.string()).min(1)])
      .transform((truth) => [truth].flat())
      .refine((truths) => truths.every((text) => isComparable(metric, text)), 'has nothing to compare')
      .refine((truths) => truths.every((text) => countCodePoints(text) <= maxReference), 'is too long'),
  range: [0, 1],
  score({ sample, truth, options: { metric, place, pass } }): Score {
    const answer = answerAt(sample.response, place)
    if (!('text' in answer)) return { value: 0, details: { reason: answer.reason } }
    const similarity = Math.max(...truth.map((reference) => textSimilarity(metric, answer.text, reference)))
    return { value: pass === undefined ? similarity : Number(similarity >= pass), details: { similarity } }
  },
})
