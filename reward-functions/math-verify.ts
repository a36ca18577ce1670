import { z } from 'zod'
import { defineRule } from '../src/contract/index.ts'
import { promptText } from '../src/grading/index.ts'
import { decisions, type MathTruth, readMathTruth, verifyMath } from '../src/grading/math/index.ts'

const truth = z.union([z.string(), z.number()]).transform((given, context): MathTruth => {
  const read = readMathTruth(String(given))
  if (read !== null) return read
  context.addIssue('has no answer that can be read')
  return z.NEVER
})

/**
 * Pays 1 if the final answer is mathematically equal to the ground truth, or to one of several, else 0.
 *
 * Invalid: a ground truth without an answer that can be read.
 */
export default defineRule({
  options: z.strictObject({
    /** A decimal that only approximates the truth must have this many digits after the point. */
    precision: z.int().min(1).max(12).default(6),
    /** `false`: variables may have other names. */
    strict: z.boolean().default(true),
    /** `true`: `1 < x < 2` is a valid answer if the truth is (1, 2). */
    relation_as_set: z.boolean().default(false),
  }),
  truth: z.union([truth.transform((one) => [one]), z.array(truth).min(1)]),
  range: [0, 1],
  parts: decisions,
  score({
    sample: { prompt, response },
    truth: truths,
    options: { precision, strict, relation_as_set: relationAsSet },
  }) {
    const question = promptText(prompt)
    const verdicts = truths.map((one) =>
      verifyMath(one, response, { precision, strict, relationAsSet }, question),
    )
    const { decision, extracted, reason } = verdicts.find((verdict) => verdict.decision !== null) ?? {
      decision: null,
      extracted: verdicts[0]?.extracted ?? null,
      reason: verdicts[0]?.reason ?? null,
    }
    return {
      value: decision === null ? 0 : 1,
      parts: decision === null ? {} : { [decision]: 1 },
      details: { extracted, decided_by: decision, ...(reason === null ? {} : { reason }) },
    }
  },
})
