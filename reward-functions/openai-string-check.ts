import { z } from 'zod'
import { BadSample, defineRule, type Score } from '../src/contract/index.ts'
import { fillGrader, graderMistakes, graderText, graderValues } from '../src/extract/index.ts'

const template = z
  .string()
  .refine(
    (text) => graderMistakes(text).length === 0,
    'names neither item.<field> nor sample.output_text or .output_json',
  )

/** OpenAI's string_check grader: two templates over `item` (the row's extra_info) and `sample`, compared as texts. */
export default defineRule({
  truth: z.unknown(),
  options: z.strictObject({
    input: template.default('{{sample.output_text}}'),
    reference: template.default('{{item.ground_truth}}'),
    /** like: the input holds the reference; ilike: in any case. */
    operation: z.enum(['eq', 'ne', 'like', 'ilike']).default('eq'),
  }),
  range: [0, 1],
  score({ sample, options: { input, reference, operation } }): Score {
    const values = graderValues(sample)
    if (!values) return { value: 0, details: { reason: 'thinking_unclosed' } }
    const filled = [input, reference].map((template) => fillGrader(template, values))
    for (const one of filled) {
      if ('lacks' in one) throw new BadSample(one.lacks)
      if ('unreadable' in one) return { value: 0, details: { reason: one.unreadable } }
    }
    const [given = '', wanted = ''] = filled.map((one) => ('literals' in one ? graderText(one).trim() : ''))
    if (wanted === '') throw new BadSample('the reference is empty')
    const holds = {
      eq: () => given === wanted,
      ne: () => given !== wanted,
      like: () => given.includes(wanted),
      ilike: () => given.toLowerCase().includes(wanted.toLowerCase()),
    }
    return { value: Number(holds[operation]()) }
  },
})
