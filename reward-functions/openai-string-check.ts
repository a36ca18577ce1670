import { z } from 'zod'
import { BadSample, defineRule, type Score } from '../src/contract/index.ts'
import {
  fillGraders,
  graderText,
  isBlank,
  isGraderTemplate,
  textHolds,
  textOperations,
} from '../src/grading/index.ts'

const template = z
  .string()
  .refine(isGraderTemplate, 'must name item.<field>, sample.output_text or sample.output_json')

/**
 * OpenAI's string_check grader. Compares two templates over `item` (the row's `extra_info`) and `sample` as
 * texts. Pays 1 if the comparison holds, else 0, also for a response that is not the JSON that a template
 * reads.
 *
 * Invalid: a row without a field that a template names, or with an empty reference.
 */
export default defineRule({
  truth: z.unknown(),
  options: z.strictObject({
    /** The text to check. */
    input: template.default('{{sample.output_text}}'),
    /** The text to compare it with. */
    reference: template.default('{{item.ground_truth}}'),
    /** `like`: the input contains the reference. `ilike`: the same, ignoring case. `ne`: they differ. */
    operation: z.enum(textOperations).default('eq'),
  }),
  range: [0, 1],
  score({ sample, options: { input, reference, operation } }): Score {
    const filled = fillGraders(sample, [input, reference])
    if ('lacks' in filled) throw new BadSample(filled.lacks)
    if ('unreadable' in filled) return { value: 0, details: { reason: filled.unreadable } }
    const [given = '', wanted = ''] = filled.map((one) => graderText(one).trim())
    if (isBlank(wanted)) throw new BadSample('the reference is empty')
    return { value: Number(textHolds(operation, given, wanted)) }
  },
})
