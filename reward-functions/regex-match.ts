import { z } from 'zod'
import { defineRule, type Score } from '../src/contract/index.ts'
import { answerAt, answerPlaces } from '../src/grading/index.ts'
import { linearPattern, patternProblem } from '../src/grading/regex.ts'

const pattern = z.string().max(4096)

/**
 * Pays 1 if the answer matches a pattern in RE2 syntax, else 0. The pattern is an option, or else the row's
 * ground truth.
 *
 * Invalid, without `pattern`: a ground truth that is not a pattern in RE2 syntax.
 */
export default defineRule({
  options: z
    .strictObject({
      pattern: pattern.optional(),
      /** `i`: ignore case. `m`: ^ and $ match at lines. `s`: . matches any character. */
      flags: z.stringFormat('flags of i, m and s', /^[ims]*$/).default(''),
      /** `false`: a match anywhere in the answer is enough. */
      whole: z.boolean().default(true),
      /** Where the response states its answer, after its thinking. */
      place: z.enum(answerPlaces).default('whole'),
    })
    .superRefine(({ pattern = '', flags }, context) => {
      const problem = patternProblem(pattern, flags)
      if (problem !== null) context.addIssue({ code: 'custom', path: ['pattern'], message: problem })
    }),
  truth: (options): z.ZodType<unknown> =>
    options.pattern !== undefined
      ? z.unknown()
      : pattern.refine(
          (source) => patternProblem(source, options.flags) === null,
          'is not a pattern in RE2 syntax',
        ),
  range: [0, 1],
  score({ sample, truth, options: { pattern = String(truth), flags, whole, place } }): Score {
    const answer = answerAt(sample.response, place)
    if (!('text' in answer)) return { value: 0, details: { reason: answer.reason } }
    const matches = linearPattern(pattern, flags).matches(answer.text, whole)
    return matches ? { value: 1 } : { value: 0, details: { reason: 'no_match' } }
  },
})
