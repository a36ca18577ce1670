import { z } from 'zod'
import { defineRule } from '../src/contract/index.ts'
import { decisions, type MathTruth, readMathTruth, verifyMath } from '../src/grading/math/index.ts'

const truth = z.union([z.string(), z.number()]).transform((given, context): MathTruth => {
  const read = readMathTruth(String(given))
  if (read !== null) return read
  context.addIssue('holds no answer')
  return z.NEVER
})

/** 1 where the final answer is mathematically the truth's; of a list of truths, any one of them. */
export default defineRule({
  options: z.strictObject({
    /** Digits after the point that a decimal must give to stand for what it only comes near to. */
    precision: z.int().min(1).max(12).default(6),
    /** false: other names of variables are as good. */
    strict: z.boolean().default(true),
    /** true: `1 < x < 2` is an answer where the truth is (1, 2). */
    relation_as_set: z.boolean().default(false),
  }),
  truth: z.union([truth.transform((one) => [one]), z.array(truth).min(1)]),
  range: [0, 1],
  parts: decisions,
  score({
    sample: { response },
    truth: truths,
    options: { precision, strict, relation_as_set: relationAsSet },
  }) {
    const verdicts = truths.map((one) => verifyMath(one, response, { precision, strict, relationAsSet }))
    const { decision, extracted } = verdicts.find((verdict) => verdict.decision !== null) ?? {
      decision: null,
      extracted: verdicts[0]?.extracted ?? null,
    }
    return {
      value: decision === null ? 0 : 1,
      parts: decision === null ? {} : { [decision]: 1 },
      details: { extracted, decided_by: decision },
    }
  },
})
