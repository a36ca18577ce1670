import { z } from 'zod'
import { defineRule, mode } from '../src/contract/index.ts'
import { boxContent, lastBox, mathNormal, promptText, publishedSpelling } from '../src/grading/index.ts'
import { type MathTruth, readMathTruth, verifyBoxed } from '../src/grading/math/index.ts'

/** In `published` mode the ground truth as given. */
export interface Truth {
  readonly given: unknown
  readonly read: MathTruth | null
}

const answer = z
  .union([z.string(), z.number()])
  .transform(String)
  .refine((text) => (mathNormal(text) ?? '') !== '', 'is not an answer')
  .transform((given, context): Truth => {
    const read = readMathTruth(given)
    if (read !== null) return { given, read }
    context.addIssue('is not an answer')
    return z.NEVER
  })
const anything = z.unknown().transform((given): Truth => ({ given, read: null }))

/**
 * verl's MATH. Pays 1 if the last `\boxed{}` equals the ground truth, else 0. `strict` compares as
 * `math-verify` does; `published` by MATH's normalisation.
 *
 * Invalid: a ground truth that is not an answer. `published` pays 0 for one that is not a text.
 */
export default defineRule({
  options: z.strictObject({ mode }),
  truth: ({ mode }): z.ZodType<Truth> => (mode === 'strict' ? answer : anything),
  range: [0, 1],
  parts: ['correctness'],
  score({ sample: { prompt, response }, truth: { given, read }, options: { mode } }) {
    const { extracted, reason } =
      mode === 'strict' && read !== null
        ? verifyBoxed(read, response, promptText(prompt))
        : publishedVerdict(response, given)
    if (reason === 'no_box') return { value: 0, parts: { correctness: 0 }, details: { reason } }
    const right = reason === null
    const details = right ? { extracted } : { extracted, reason }
    return { value: Number(right), parts: { correctness: Number(right) }, details }
  },
})

/** MATH's verdict on the last box. */
export function publishedVerdict(response: string, truth: unknown) {
  const box = lastBox(response)
  const extracted = box === null ? null : boxContent(box)
  if (extracted === null) return { extracted, reason: 'no_box' }
  const right = typeof truth === 'string' && publishedSpelling(extracted, truth)
  return { extracted, reason: right ? null : 'unequal' }
}
