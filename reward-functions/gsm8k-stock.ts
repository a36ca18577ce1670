import { z } from 'zod'
import { defineRule, mode } from '../src/contract/index.ts'
import {
  equalsTruth,
  firstHashNumber,
  lastHashNumber,
  lastNumeral,
  numberAnswer,
} from '../src/grading/number-answer.ts'
import { promptText } from '../src/grading/prompt-text.ts'
import gsm8kProgressive from './gsm8k-progressive.ts'

/**
 * verl's GSM8K. Pays `score` for the right number after `####`, `format_score` for another one, and 0
 * without a number. `method: flexible` also reads an unmarked last number.
 *
 * Invalid: a ground truth that is not a number. `published` counts every number as wrong for it.
 */
export default defineRule({
  options: z.strictObject({
    mode,
    /**
     * `strict`: the number after `####`. `flexible`: otherwise the last number. `last`: NPG-Muse's change, the last
     * marker within the last 300 characters.
     */
    method: z.enum(['strict', 'flexible', 'last']).default('strict'),
    /** The score of a wrong number. */
    format_score: z.number().default(0),
    /** The score of the right number. */
    score: z.number().default(1),
  }),
  truth: ({ mode }) => gsm8kProgressive.truth({ mode, variant: 'graded' }),
  range: ({ format_score, score }) => [Math.min(0, format_score, score), Math.max(0, format_score, score)],
  parts: ['correctness'],
  score({ sample: { prompt, response }, truth, options: { mode, method, format_score, score } }) {
    const strict = mode === 'strict'
    const extracted = strict
      ? strictNumber(response, method, promptText(prompt))
      : published[method](response)
    if (extracted === null) return { value: 0, parts: { correctness: 0 }, details: { reason: 'no_number' } }
    const right = strict ? equalsTruth(truth)(extracted) : extracted === truth
    const details = right ? { extracted } : { extracted, reason: 'unequal' }
    return { value: right ? score : format_score, parts: { correctness: Number(right) }, details }
  },
})

/** The published code takes the first marked text unchanged, and the last unmarked number with its commas. */
const published = { strict: firstHashNumber, flexible: lastNumeral, last: lastHashNumber }

/** The marked number. `flexible`: otherwise the one that is announced, or the last one. */
function strictNumber(response: string, method: string, question: string): string | null {
  const { marked, loose } = numberAnswer(response, { bare: true, question })
  return marked ?? (method === 'flexible' && marked === undefined ? (loose ?? null) : null)
}
