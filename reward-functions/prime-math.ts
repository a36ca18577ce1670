import { z } from 'zod'
import { defineRule, mode } from '../src/contract/index.ts'
import { afterThink, exactAnswer, primeAnswer, primeEqual, primeGrade } from '../src/grading/index.ts'

const answer = z.union([z.string(), z.number()]).refine((truth) => String(truth).trim() !== '', 'is blank')

/**
 * verl's PRIME mathematics. Pays 1 if the answer stated in the response equals the ground truth, else 0.
 *
 * Invalid: a blank ground truth. `published` accepts any.
 */
export default defineRule({
  options: z.strictObject({ mode }),
  truth: ({ mode }): z.ZodType<unknown> => (mode === 'strict' ? answer : z.unknown()),
  range: [0, 1],
  parts: ['correctness', 'format'],
  score({ sample: { response }, truth, options: { mode } }) {
    const region = mode === 'strict' ? afterThink(response) : response
    if (region === null) {
      return { value: 0, parts: { correctness: 0, format: 0 }, details: { reason: 'thinking_unclosed' } }
    }
    const extracted = primeAnswer(region)
    const wanted = truth === null ? 'None' : String(truth)
    const graded = mode === 'strict' ? exactAnswer(extracted, wanted) : primeGrade(extracted, wanted, false)
    const right = graded || (mode === 'published' && roughlyEqual(extracted, wanted))
    const stepwise = region.includes('Step 2:') && region.includes('\\box')
    const parts = { correctness: Number(right), format: Number(graded || stepwise) }
    return { value: Number(right), parts, details: right ? { extracted } : { extracted, reason: 'unequal' } }
  },
})

/** The published code tries two values of pi and treats an error as a difference. */
function roughlyEqual(given: string, truth: string): boolean {
  try {
    if (!given.includes('\\pi') && !truth.includes('\\pi')) return primeEqual(given, truth, Math.PI)
    return primeEqual(given, truth, Math.PI) || primeEqual(given, truth, 3.14)
  } catch (error) {
    if (error instanceof RangeError) return false
    throw error
  }
}
