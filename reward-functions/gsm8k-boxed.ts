import { z } from 'zod'
import { defineRule } from '../src/contract/index.ts'
import {
  decimalOf,
  explained,
  firstStatedNumber,
  lastLooseNumber,
  numberAnswer,
  progressiveCredit,
  publishedAnswer,
} from '../src/extract/index.ts'

const number = z
  .union([z.string(), z.number()])
  .refine((truth) => decimalOf(truth) !== null, 'is not a number')

/** `gsm8k-progressive` that also takes `\boxed{...}`, and in reference mode `the answer is`, for the mark of the answer. */
export default defineRule({
  options: z.strictObject({ mode: z.enum(['sound', 'reference']).default('sound') }),
  truth: ({ mode }): z.ZodType<unknown> => (mode === 'sound' ? number : z.unknown()),
  range: [0, 1],
  score({ sample: { response }, truth, options: { mode } }) {
    const sound = mode === 'sound'
    const answer = sound
      ? numberAnswer(response, true)
      : publishedAnswer(firstStatedNumber(response), lastLooseNumber(response, false))
    const wanted = sound ? decimalOf(truth) : truth
    const isRight = (given: string): boolean => given === wanted
    return { value: progressiveCredit(answer, isRight), details: explained(answer, isRight) }
  },
})
