import { z } from 'zod'
import { defineRule, mode } from '../src/contract/index.ts'
import { afterThink, primeAnswer, primeEqual, primeGrade, promptText } from '../src/grading/index.ts'
import { type MathTruth, readMathTruth, usualComparison, verifyMath } from '../src/grading/math/index.ts'

/** In `published` mode the text that Python makes of the ground truth. */
export interface Truth {
  readonly wanted: string
  readonly read: MathTruth | null
}

const answer = z.union([z.string(), z.number()]).transform((given, context): Truth => {
  const read = readMathTruth(String(given))
  if (read !== null) return { wanted: String(given), read }
  context.addIssue('is blank')
  return z.NEVER
})
const anything = z
  .unknown()
  .transform((given): Truth => ({ wanted: given === null ? 'None' : String(given), read: null }))

/**
 * verl's PRIME mathematics. Pays 1 if the answer stated in the response equals the ground truth, else 0. `strict`
 * compares as `math-verify` does.
 *
 * Invalid: a blank ground truth. `published` accepts any.
 */
export default defineRule({
  options: z.strictObject({ mode }),
  truth: ({ mode }): z.ZodType<Truth> => (mode === 'strict' ? answer : anything),
  range: [0, 1],
  parts: ['correctness', 'format'],
  score({ sample: { prompt, response }, truth: { wanted, read }, options: { mode } }) {
    const region = mode === 'strict' ? afterThink(response) : response
    if (region === null) {
      return { value: 0, parts: { correctness: 0, format: 0 }, details: { reason: 'thinking_unclosed' } }
    }
    const strict = read === null ? null : verifyMath(read, response, usualComparison, promptText(prompt))
    const extracted = strict === null ? primeAnswer(region) : strict.extracted
    const graded = strict === null ? primeGrade(extracted ?? '', wanted, false) : strict.reason === null
    const right = graded || (mode === 'published' && roughlyEqual(extracted ?? '', wanted))
    const stepwise = region.includes('Step 2:') && region.includes('\\box')
    const parts = { correctness: Number(right), format: Number(graded || stepwise) }
    return {
      value: Number(right),
      parts,
      details: right ? { extracted } : { extracted, reason: strict?.reason ?? 'unequal' },
    }
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
