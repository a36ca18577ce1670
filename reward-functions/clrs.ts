import { z } from 'zod'
import { defineRule, mode } from '../src/contract/index.ts'
import { afterThink, trimSpace } from '../src/grading/index.ts'

/** CLRS-Text: the final result, equal as text; a trace of hints may stand before it, divided by `|`. */
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

/** What follows the last ` | ` of the hints. */
function resultOf(text: string): string {
  const stripped = trimSpace(text)
  const end = stripped.lastIndexOf(' | ')
  return end === -1 ? stripped : trimSpace(stripped.slice(end + 3))
}
