import { z } from 'zod'
import { defineRule, type Json, mode, type Score } from '../src/contract/index.ts'
import { equalFractions, readExpression, readFraction } from '../src/grading/arithmetic.ts'
import { trimSpace } from '../src/grading/characters.ts'
import {
  digitRuns,
  evaluatePython,
  floatOf,
  pythonIntegers,
  readFloat,
  sameIntegers,
} from '../src/grading/python.ts'
import { blocks, soleBetween } from '../src/grading/tags.ts'

const whole = z.union([z.int(), z.string().regex(/^[0-9]+$/)])
const exact = z
  .union([z.number(), z.string()])
  .refine((target) => readFraction(`${target}`) !== null, 'is not a number')
const puzzle = z.looseObject({ target: exact, numbers: z.array(whole) })

/** The parts of an answer that were found before the first failure. */
interface Solution {
  readonly thinks: boolean
  readonly answers: boolean
  readonly usesNumbers?: boolean
  readonly hitsTarget?: boolean
  readonly reason?: string
}

/**
 * The countdown game. Pays 0.1 for thinking, 0.1 for an answer, 0.3 for an expression of exactly the given
 * numbers and 0.5 for the target value: 0 to 1.
 *
 * Invalid: a ground truth without `target` and `numbers`. `published` pays 0 for it.
 */
export default defineRule({
  options: z.strictObject({ mode }),
  truth: ({ mode }): z.ZodType<unknown> => (mode === 'strict' ? puzzle : z.unknown()),
  range: [0, 1],
  parts: ['format', 'numbers', 'value'],
  score({ sample: { response }, truth, options: { mode } }): Score {
    const solution =
      mode === 'strict' ? strictSolution(response, puzzle.parse(truth)) : publishedSolution(response, truth)
    const { thinks, answers, usesNumbers = false, hitsTarget = false, reason } = solution
    const parts = {
      format: (thinks ? 0.1 : 0) + (answers ? 0.1 : 0),
      numbers: usesNumbers ? 0.3 : 0,
      value: hitsTarget ? 0.5 : 0,
    }
    return { value: parts.format + parts.numbers + parts.value, parts, details: reason ? { reason } : {} }
  },
})

const noFormat = { thinks: false, answers: false }

/**
 * Requires one thought, one answer, a written expression of exactly the given numbers, and exact arithmetic.
 */
function strictSolution(response: string, { target, numbers }: z.infer<typeof puzzle>): Solution {
  const end = response.indexOf('</think>')
  const thought = trimSpace(response.slice(0, Math.max(end, 0)))
  if (end < 0 || response.indexOf('</think>', end + 1) >= 0) return { ...noFormat, reason: 'no_thinking' }
  if (!/\p{L}/u.test(thought.replace(/^<think>/, ''))) return { ...noFormat, reason: 'no_thinking' }
  const answer = soleBetween(response.slice(end), '<answer>', '</answer>')
  if (answer === null) return { ...noFormat, reason: 'no_answer' }
  const format = { thinks: true, answers: true }
  const expression = readExpression(answer)
  if (!expression) return { ...format, reason: 'not_an_expression' }
  if (!sameIntegers(expression.integers, numbers.map(BigInt))) return { ...format, reason: 'other_numbers' }
  const value = expression.value()
  const wanted = readFraction(`${target}`)
  const hitsTarget = value !== null && wanted !== null && equalFractions(value, wanted)
  return { ...format, usesNumbers: true, hitsTarget, ...(hitsTarget ? {} : { reason: 'other_value' }) }
}

/**
 * The published code: accepts tags anywhere, digits anywhere in the answer, and a Python expression close to
 * the target.
 */
function publishedSolution(response: string, truth: unknown): Solution {
  const wanted = publishedPuzzle(truth)
  if (wanted === null) return { ...noFormat, reason: 'bad_ground_truth' }
  const thinks = response.includes('</think>')
  const [answer] = blocks(response, '<answer>', '</answer>')
  if (answer === undefined) return { thinks, answers: false, reason: 'no_answer' }
  const content = trimSpace(answer)
  const integers = digitRuns(content)
  if (integers === null || !sameIntegers(integers, wanted.numbers)) {
    return { thinks, answers: true, reason: 'other_numbers' }
  }
  const result = evaluatePython(content)
  const value = typeof result === 'string' ? readFloat(result) : result === null ? null : floatOf(result)
  const hitsTarget = value !== null && Math.abs(value - wanted.target) < 1e-5
  return {
    thinks,
    answers: true,
    usesNumbers: true,
    hitsTarget,
    ...(hitsTarget ? {} : { reason: 'other_value' }),
  }
}

function publishedPuzzle(truth: unknown): { target: number; numbers: bigint[] } | null {
  if (typeof truth !== 'object' || truth === null) return null
  const { target, numbers } = truth as { target?: Json; numbers?: Json }
  const float =
    typeof target === 'string' ? readFloat(target) : typeof target === 'object' ? null : Number(target)
  const integers = pythonIntegers(numbers)
  return target === undefined || float === null || integers === null
    ? null
    : { target: float, numbers: integers }
}
