import { z } from 'zod'
import { RuleTimeout } from '../src/contract/define.ts'
import { defineRule, mode } from '../src/contract/index.ts'
import {
  answerField,
  benchmarks,
  preparedAnswer,
  preparedLine,
  publishedGrade,
} from '../src/grading/benchmark/index.ts'
import { promptText } from '../src/grading/index.ts'
import { decisions, readMathTruth, verifyMath } from '../src/grading/math/index.ts'

const line = z.record(z.string(), z.unknown())
const how = { precision: 6, strict: true, relationAsSet: false }

/**
 * Pays 1 if the benchmark's grader accepts the final answer, else 0.
 *
 * Invalid: a ground truth without an answer; it is the answer itself or a line of the benchmark's file. In
 * `published` mode also an answer that is too long for the published grader (`rule_timeout`).
 */
export default defineRule({
  options: z.strictObject({
    /** Whose grader and file format apply. */
    benchmark: z.enum(benchmarks),
    mode,
  }),
  truth: ({ benchmark }) =>
    z.union([z.string(), z.number(), line]).transform((given, context) => {
      const isLine = typeof given === 'object'
      const read = readMathTruth(isLine ? answerField(given, benchmark) : String(given))
      const prepared = isLine ? preparedLine(given, benchmark) : preparedAnswer(String(given), benchmark)
      if (read !== null) return { read, prepared }
      context.addIssue(`has no answer of ${benchmark}`)
      return z.NEVER
    }),
  range: [0, 1],
  parts: decisions,
  score({ sample: { prompt, response }, truth, options: { benchmark, mode } }) {
    if (mode === 'published') {
      const grade = publishedGrade(response, truth.prepared, benchmark)
      if (grade === null) throw new RuleTimeout('the answer is too long for the published grader')
      return { value: grade.correct ? 1 : 0, details: { extracted: grade.extracted.slice(0, 500) } }
    }
    const { decision, extracted, reason } = verifyMath(truth.read, response, how, promptText(prompt))
    const parts = decision === null ? {} : { [decision]: 1 }
    const details = { extracted, decided_by: decision, ...(reason === null ? {} : { reason }) }
    return { value: decision === null ? 0 : 1, parts, details }
  },
})
