import { z } from 'zod'
import { defineRule, type Score } from '../src/contract/index.ts'
import { answerAt, answerPlaces } from '../src/grading/answer-place.ts'
import {
  ignorable,
  isBlank,
  plainText,
  textHolds,
  textOperations,
  undecorated,
} from '../src/grading/characters.ts'
import { promptText } from '../src/grading/prompt-text.ts'

const wanted = z.union([z.string(), z.number(), z.array(z.string()).min(1)])

/**
 * Pays 1 if the answer equals a ground truth, apart from what `ignore` lists and from marks of Markdown or LaTeX around
 * the whole answer, else 0. `operation` chooses
 * another comparison.
 *
 * Invalid: a ground truth with nothing left to compare. It is a text, a number or a list of texts.
 */
export default defineRule({
  truth: ({ ignore }) =>
    wanted
      .transform((truth) => [truth].flat().map((text) => plainText(String(text), ignore).trim()))
      .refine((truths) => !truths.some(isBlank), 'has nothing to compare'),
  options: z.strictObject({
    /**
     * `like`: contains a ground truth. `ilike`: the same, ignoring case. `ne`: differs from every ground
     * truth.
     */
    operation: z.enum(textOperations).default('eq'),
    /** Where the response states its answer, after its thinking. */
    place: z.enum(answerPlaces).default('whole'),
    /** What the comparison ignores. */
    ignore: z.array(z.enum(ignorable)).default([]),
  }),
  range: [0, 1],
  score({ sample, truth, options: { operation, place, ignore } }): Score {
    const answer = answerAt(sample.response, place, promptText(sample.prompt))
    if (!('text' in answer)) return { value: 0, details: { reason: answer.reason } }
    const forms = [answer.text, undecorated(answer.text)].map((text) => plainText(text, ignore).trim())
    const holds = (text: string): boolean =>
      operation === 'ne'
        ? forms.every((form) => textHolds(operation, form, text))
        : forms.some((form) => textHolds(operation, form, text))
    const equal = operation === 'ne' ? truth.every(holds) : truth.some(holds)
    return { value: Number(equal), details: equal ? {} : { reason: 'unequal' } }
  },
})
