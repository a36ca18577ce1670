import { z } from 'zod'
import { defineRule, mode } from '../src/contract/index.ts'
import {
  decimalOf,
  equalsTruth,
  explained,
  firstHashNumber,
  lastLooseNumber,
  numberAnswer,
  progressiveCredit,
  publishedNumbers,
} from '../src/grading/number-answer.ts'
import { promptText } from '../src/grading/prompt-text.ts'

const number = z
  .union([z.string(), z.number()])
  .refine((truth) => decimalOf(truth) !== null, 'is not a number')

/**
 * GSM8K with partial credit. Pays 1 for the right number after `####`, 0.8 for the right last number, 0.1
 * for a marked wrong number, 0.05 for any number, else 0. `variant: flexible` pays 1 for the right number in
 * either place, else 0.
 *
 * Invalid: a ground truth that is not a number. `published` pays at most partial credit for it.
 */
export default defineRule({
  options: z.strictObject({
    mode,
    /** `graded`: partial credit. `flexible`: 1 or 0. */
    variant: z.enum(['graded', 'flexible']).default('graded'),
  }),
  truth: ({ mode }): z.ZodType<unknown> => (mode === 'strict' ? number : z.unknown()),
  range: [0, 1],
  score({ sample: { prompt, response }, truth, options: { mode, variant } }) {
    const strict = mode === 'strict'
    const graded = variant === 'graded'
    const answer = strict
      ? numberAnswer(response, { question: promptText(prompt) })
      : publishedNumbers(graded ? firstHashNumber(response) : null, lastLooseNumber(response, true))
    const isRight = strict ? equalsTruth(truth) : (given: string) => given === truth
    const credit = progressiveCredit(answer, isRight)
    return {
      value: graded || credit === 1 ? credit : Number(credit === 0.8),
      details: explained(answer, isRight),
    }
  },
})
