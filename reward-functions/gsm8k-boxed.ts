import { z } from 'zod'
import { defineRule, mode } from '../src/contract/index.ts'
import {
  decimalOf,
  explained,
  firstStatedNumber,
  lastLooseNumber,
  numberAnswer,
  progressiveCredit,
  publishedNumbers,
} from '../src/grading/index.ts'
import gsm8kProgressive from './gsm8k-progressive.ts'

/**
 * Pays as `gsm8k-progressive` does, 0 to 1. A number in `\boxed{...}` counts as marked too, and in
 * `published` mode a number after `the answer is`.
 *
 * Invalid: a ground truth that is not a number. `published` pays at most partial credit for it.
 */
export default defineRule({
  options: z.strictObject({ mode }),
  truth: ({ mode }) => gsm8kProgressive.truth({ mode, variant: 'graded' }),
  range: [0, 1],
  score({ sample: { response }, truth, options: { mode } }) {
    const strict = mode === 'strict'
    const answer = strict
      ? numberAnswer(response, true)
      : publishedNumbers(firstStatedNumber(response), lastLooseNumber(response, false))
    const wanted = strict ? decimalOf(truth) : truth
    const isRight = (given: string): boolean => given === wanted
    return { value: progressiveCredit(answer, isRight), details: explained(answer, isRight) }
  },
})
