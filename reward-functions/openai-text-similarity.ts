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
  .refine(isGraderTemplate, 'names neither item.<field> nor sample.output_text or .output_json')

/**
 * OpenAI's text_similarity grader: compares two templates over `item` (the row's `extra_info`) and `sample`
 * with one of its metrics.
 */
export default defineRule({
  truth: z.unknown(),
  options: z.strictObject({
    input: template.default('{{sample.output_text}}'),
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
    if (!isComparable(metric, text)) throw new BadSample('the reference holds nothing to compare')
    if (countCodePoints(text) > maxReference) throw new BadSample('the reference is too long')
    const similarity = textSimilarity(metric, given, text)
    return { value: pass === undefined ? similarity : Number(similarity >= pass), details: { similarity } }
  },
})
