import { z } from 'zod'
import { defineRule, mode } from '../src/contract/index.ts'
import {
  decimalOf,
  explained,
  firstHashNumber,
  lastLooseNumber,
  numberAnswer,
  progressiveCredit,
  publishedNumbers,
} from '../src/grading/index.ts'

const number = z
  .union([z.string(), z.number()])
  .refine((truth) => decimalOf(truth) !== null, 'is not a number')

/**
 * GSM8K with partial credit: 1 for the right number after `####`, 0.8 for the right last number, and 0.1 or
 * 0.05 for wrong ones. `variant: flexible` pays 1 for the right number wherever it counts, else 0.
 */
export default defineRule({
  options: z.strictObject({
    mode,
    variant: z.enum(['graded', 'flexible']).default('graded'),
  }),
  truth: ({ mode }): z.ZodType<unknown> => (mode === 'strict' ? number : z.unknown()),
  range: [0, 1],
  score({ sample: { response }, truth, options: { mode, variant } }) {
    const strict = mode === 'strict'
    const graded = variant === 'graded'
    const answer = strict
      ? numberAnswer(response)
      : publishedNumbers(graded ? firstHashNumber(response) : null, lastLooseNumber(response, true))
    const wanted = strict ? decimalOf(truth) : truth
    const isRight = (given: string): boolean => given === wanted
    const credit = progressiveCredit(answer, isRight)
    return {
      value: graded || credit === 1 ? credit : Number(credit === 0.8),
      details: explained(answer, isRight),
    }
  },
})
