import { z } from 'zod'
import { defineRule, mode } from '../src/contract/index.ts'
import { afterThink, trimSpace } from '../src/grading/index.ts'

/**
 * CLRS-Text. Pays 1 if the final result equals the ground truth as text, else 0. A trace of hints may stand
 * before the result, separated by ` | `.
 *
 * Invalid: a ground truth that is not a text.
 */
export default defineRule({
  truth: z.string(),
  options: z.strictObject({ mode }),
  range: [0, 1],
  score({ sample: { response }, truth, options: { mode } }) {
    const answer = resultOf(mode === 'strict' ? (afterThink(response) ?? '') : response)
    const isRight = answer !== '' && answer === resultOf(truth)
    return { value: Number(isRight), details: { extracted: answer.slice(0, 500) } }
  },
})

/** The text after the last ` | `. */
function resultOf(text: string): string {
  const stripped = trimSpace(text)
  const end = stripped.lastIndexOf(' | ')
  return end === -1 ? stripped : trimSpace(stripped.slice(end + 3))
}
