import { z } from 'zod'
import { defineRule, type Score } from '../src/contract/index.ts'
import { statedChoice } from '../src/grading/answer/choice.ts'
import { promptText } from '../src/grading/prompt-text.ts'

/**
 * Pays 1 if the response settles on the letter of the right choice, else 0. A response that names several
 * letters pays 0.
 *
 * Invalid: a ground truth that is not the letter of a choice, such as `B` or `(b)`.
 */
export default defineRule({
  options: z.strictObject({
    /** Number of choices, starting at A. */
    choices: z.int().min(2).max(26).default(10),
  }),
  truth: ({ choices }) =>
    z
      .string()
      .transform((truth) => /^\s*\(?([A-Za-z])[).]?\s*$/.exec(truth)?.[1]?.toUpperCase() ?? '')
      .refine((letter) => labelsOf(choices).includes(letter), 'is not the letter of a choice'),
  range: [0, 1],
  score({ sample, truth, options }): Score {
    const stated = statedChoice(sample.response, labelsOf(options.choices), promptText(sample.prompt))
    if (!('choice' in stated)) return { value: 0, details: { reason: stated.reason } }
    const right = stated.choice === truth
    return {
      value: Number(right),
      details: right ? { extracted: stated.choice } : { extracted: stated.choice, reason: 'unequal' },
    }
  },
})

const labelsOf = (choices: number): string[] =>
  Array.from({ length: choices }, (_, i) => String.fromCharCode(65 + i))
