import { z } from 'zod'
import { BadSample, defineRule, type Score } from '../src/contract/index.ts'
import {
  countCodePoints,
  fillGrader,
  graderMistakes,
  graderText,
  graderValues,
  isComparable,
  similarityMetrics,
  textSimilarity,
} from '../src/extract/index.ts'

/** A longer reference would cost too much against a long answer. */
const maxReference = 20_000

const template = z
  .string()
  .refine(
    (text) => graderMistakes(text).length === 0,
    'names neither item.<field> nor sample.output_text or .output_json',
  )

/** OpenAI's text_similarity grader: two templates over `item` (the row's extra_info) and `sample`, by one of its metrics. */
export default defineRule({
  truth: z.unknown(),
  options: z.strictObject({
    input: template.default('{{sample.output_text}}'),
    reference: template.default('{{item.ground_truth}}'),
    metric: z.enum(similarityMetrics).default('rouge_l'),
    /** The score is 1 from here on and 0 below; absent: the similarity itself. */
    pass: z.number().min(0).max(1).optional(),
  }),
  range: [0, 1],
  score({ sample, options: { input, reference, metric, pass } }): Score {
    const values = graderValues(sample)
    if (!values) return { value: 0, details: { reason: 'thinking_unclosed' } }
    const given = fillGrader(input, values)
    const wanted = fillGrader(reference, values)
    if ('lacks' in wanted) throw new BadSample(wanted.lacks)
    if ('lacks' in given) throw new BadSample(given.lacks)
    if ('unreadable' in wanted) return { value: 0, details: { reason: wanted.unreadable } }
    if ('unreadable' in given) return { value: 0, details: { reason: given.unreadable } }
    const text = graderText(wanted)
    if (!isComparable(metric, text)) throw new BadSample('the reference holds nothing to compare')
    if (countCodePoints(text) > maxReference) throw new BadSample('the reference is too long')
    const similarity = textSimilarity(metric, graderText(given), text)
    return { value: pass === undefined ? similarity : Number(similarity >= pass), details: { similarity } }
  },
})
