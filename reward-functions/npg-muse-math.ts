import { z } from 'zod'
import { defineRule, mode } from '../src/contract/index.ts'
import { promptText } from '../src/grading/index.ts'
import { verifyBoxed } from '../src/grading/math/index.ts'
import { npgMuseForm, thinksThenAnswers } from '../src/grading/npg-muse-form.ts'
import mathBoxed, { publishedVerdict } from './math-boxed.ts'

/**
 * NPG-Muse's MATH. Pays 2 for a last box that equals the ground truth and 1 for the form, less 1 for a loop:
 * -1 to 3.
 *
 * Invalid: a ground truth that is not an answer. `published` accepts any text.
 */
export default defineRule({
  options: z.strictObject({ mode }),
  truth: ({ mode }) =>
    mode === 'strict' ? mathBoxed.truth({ mode }) : z.string().transform((given) => ({ given, read: null })),
  range: [-1, 3],
  parts: ['outcome_score', 'format_score', 'repeat_score'],
  score({ sample: { prompt, response }, truth: { given, read }, options: { mode } }) {
    const { isFormed, loops } = npgMuseForm[mode]
    const hasForm = mode === 'strict' ? thinksThenAnswers : isFormed
    const { extracted, reason } =
      read === null ? publishedVerdict(response, given) : verifyBoxed(read, response, promptText(prompt))
    const parts = {
      outcome_score: Number(reason === null),
      format_score: Number(hasForm(response)),
      repeat_score: Number(loops(response)),
    }
    return {
      value: parts.format_score + 2 * parts.outcome_score - parts.repeat_score,
      parts,
      details: { extracted: extracted?.slice(0, 500) ?? null, ...(reason ? { reason } : {}) },
    }
  },
})
