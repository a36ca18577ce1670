import { z } from 'zod'
import { BadSample, defineRule, type Score } from '../src/contract/index.ts'
import {
  countCodePoints,
  fillGraders,
  graderText,
  isComparable,
  isGraderTemplate,
  similarityMetrics,
  textSimilarity,
} from '../src/grading/index.ts'

/** A longer reference would take too long to compare with a long answer. */
const maxReference = 20_000

const template = z
  .string()
  .refine(isGraderTemplate, 'must name item.<field>, sample.output_text or sample.output_json')

/**
 * OpenAI's text_similarity grader. Pays the similarity of two templates over `item` (the row's `extra_info`)
 * and `sample`, 0 to 1, by one of its metrics, which count words of every script (see `text-similarity`).
 *
 * Invalid: a row without a field that a template names, and a reference with nothing to compare or of more
 * than 20,000 characters.
 */
export default defineRule({
  truth: z.unknown(),
  options: z.strictObject({
    /** The text to check. */
    input: template.default('{{sample.output_text}}'),
    /** The text to compare it with. */
    reference: template.default('{{item.ground_truth}}'),
    metric: z.enum(similarityMetrics).default('rouge_l'),
    /** Scores 1 from this similarity on and 0 below it. If absent, the score is the similarity. */
    pass: z.number().min(0).max(1).optional(),
  }),
  range: [0, 1],
  score({ sample, options: { input, reference, metric, pass } }): Score {
    const filled = fillGraders(sample, [input, reference])
    if ('lacks' in filled) throw new BadSample(filled.lacks)
    if ('unreadable' in filled) return { value: 0, details: { reason: filled.unreadable } }
    const [given = '', text = ''] = filled.map(graderText)
    if (!isComparable(metric, text)) throw new BadSample('the reference has nothing to compare')
    if (countCodePoints(text) > maxReference) throw new BadSample('the reference is too long')
    const similarity = textSimilarity(metric, given, text)
    return { value: pass === undefined ? similarity : Number(similarity >= pass), details: { similarity } }
  },
})
