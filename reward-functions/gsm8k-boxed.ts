import { z } from 'zod'
import { defineRule, mode } from '../src/contract/index.ts'
import {
  equalsTruth,
  explained,
  firstStatedNumber,
  lastLooseNumber,
  numberAnswer,
  progressiveCredit,
  publishedNumbers,
} from '../src/grading/number-answer.ts'
import { promptText } from '../src/grading/prompt-text.ts'
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
  score({ sample: { prompt, response }, truth, options: { mode } }) {
    const strict = mode === 'strict'
    const answer = strict
      ? numberAnswer(response, { boxes: true, question: promptText(prompt) })
      : publishedNumbers(firstStatedNumber(response), lastLooseNumber(response, false))
    const isRight = strict ? equalsTruth(truth) : (given: string) => given === truth
    return { value: progressiveCredit(answer, isRight), details: explained(answer, isRight) }
  },
})
