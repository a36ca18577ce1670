import { z } from 'zod'
import { BadSample, defineRule, type Score } from '../src/contract/index.ts'
import { fillGraders, graderText, isGraderTemplate, textHolds, textOperations } from '../src/grading/index.ts'

const template = z
  .string()
  .refine(isGraderTemplate, 'names neither item.<field> nor sample.output_text or .output_json')

/**
 * OpenAI's string_check grader: compares two templates over `item` (the row's `extra_info`) and `sample` as
 * texts.
 */
export default defineRule({
  truth: z.unknown(),
  options: z.strictObject({
    input: template.default('{{sample.output_text}}'),
    reference: template.default('{{item.ground_truth}}'),
    operation: z.enum(textOperations).default('eq'),
  }),
  range: [0, 1],
  score({ sample, options: { input, reference, operation } }): Score {
    const filled = fillGraders(sample, [input, reference])
    if ('lacks' in filled) throw new BadSample(filled.lacks)
    if ('unreadable' in filled) return { value: 0, details: { reason: filled.unreadable } }
    const [given = '', wanted = ''] = filled.map((one) => graderText(one).trim())
    if (wanted === '') throw new BadSample('the reference is empty')
    return { value: Number(textHolds(operation, given, wanted)) }
  },
})
