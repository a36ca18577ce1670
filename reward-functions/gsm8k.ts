import { z } from 'zod'
import { defineRule, mode, type Score } from '../src/contract/index.ts'
import {
  equalsTruth,
  explained,
  lastHashNumber,
  numberAnswer,
  publishedNumbers,
} from '../src/grading/number-answer.ts'
import { promptText } from '../src/grading/prompt-text.ts'
import gsm8kProgressive from './gsm8k-progressive.ts'

/** An answer earns full credit only if it starts within this many code points of the end. */
const window = 300

/**
 * GSM8K as a study scores it. Pays 1.1 for the right number after the last `####` near the end, 0.1 for
 * another marked number or an earlier one, else 0. `published` pays 0.05 for `####` without a number.
 *
 * Invalid: a ground truth that is not a number. `published` pays at most 0.1 for it, and 0 for a
 * `data_source` other than `gsm8k`.
 */
export default defineRule({
  options: z.strictObject({ mode }),
  truth: ({ mode }) => gsm8kProgressive.truth({ mode, variant: 'graded' }),
  range: [0, 1.1],
  score({ sample: { prompt, response, dataSource }, truth, options: { mode } }): Score {
    const published = mode === 'published'
    if (published && dataSource !== 'gsm8k') return { value: 0, details: { reason: 'other_data_source' } }
    const answer = published
      ? publishedNumbers(lastHashNumber(response), null)
      : numberAnswer(response, { question: promptText(prompt) })
    const isRight = published ? (given: string) => given === truth : equalsTruth(truth)
    const details = explained(answer, isRight)
    const { marked, tail = 0 } = answer
    if (marked === undefined) return { value: published && response.includes('####') ? 0.05 : 0, details }
    if (marked === null || !isRight(marked)) return { value: 0.1, details }
    return tail > window
      ? { value: 0.1, details: { ...details, reason: 'too_early' } }
      : { value: 1.1, details }
  },
})
