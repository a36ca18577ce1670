import { z } from 'zod'
import { defineRule, type Score } from '../src/contract/index.ts'
import { answerPlaces } from '../src/grading/answer-place.ts'
import { equalFractions } from '../src/grading/arithmetic.ts'
import { finalNumber, numberAt, soleNumber, valueOfNumber } from '../src/grading/number-answer.ts'
import { promptText } from '../src/grading/prompt-text.ts'

/**
 * Pays 1 if the number in the answer equals the ground truth, exactly or within a tolerance, else 0.
 *
 * Invalid: a ground truth without exactly one number.
 */
export default defineRule({
  truth: z.union([z.string(), z.number()]).transform((truth, context) => {
    const sole = soleNumber(String(truth))
    const value = 'number' in sole ? valueOfNumber(sole.number) : null
    if (value !== null) return value
    context.addIssue({ code: 'custom', message: 'must have exactly one number' })
    return z.NEVER
  }),
  options: z.strictObject({
    /** `final`: the number in the last box, line after `####`, `<answer>` or announcement, or else the last one. */
    place: z.enum(['final', ...answerPlaces]).default('final'),
    /** Largest absolute difference that counts as equal. */
    absolute: z.number().min(0).default(0),
    /** Largest difference that counts as equal, as a share of the ground truth. */
    relative: z.number().min(0).max(1).default(0),
  }),
  range: [0, 1],
  score({ sample: { prompt, response }, truth, options: { place, absolute, relative } }): Score {
    const question = promptText(prompt)
    const found = place === 'final' ? finalNumber(response, question) : numberAt(response, place, question)
    if ('reason' in found) return { value: 0, details: { reason: found.reason } }
    const value = valueOfNumber(found.number)
    if (value === null) return { value: 0, details: { reason: 'no_number' } }
    const wanted = Number(truth.numerator) / Number(truth.denominator)
    const difference = Math.abs(Number(value.numerator) / Number(value.denominator) - wanted)
    const right =
      equalFractions(value, truth) ||
      (absolute + relative > 0 &&
        Number.isFinite(wanted) &&
        difference <= Math.max(absolute, relative * Math.abs(wanted)))
    const extracted = found.number.slice(0, 100)
    return { value: Number(right), details: right ? { extracted } : { extracted, reason: 'unequal' } }
  },
})
