import { z } from 'zod'
import { defineRule, type Score } from '../src/contract/index.ts'
import { answerAt, answerPlaces, ignorable, plainText } from '../src/extract/index.ts'

const wanted = z.union([z.string(), z.number(), z.array(z.string()).min(1)])

/** The answer is a ground truth, letter for letter but for what `ignore` names: 1 or 0. */
export default defineRule({
  truth: ({ ignore }) =>
    wanted
      .transform((truth) => [truth].flat().map((text) => plainText(String(text), ignore).trim()))
      .refine((truths) => !truths.includes(''), 'holds nothing to compare'),
  options: z.strictObject({
    /** eq: equal; ne: not equal; like: holds a ground truth; ilike: the same in any case. */
    operation: z.enum(['eq', 'ne', 'like', 'ilike']).default('eq'),
    place: z.enum(answerPlaces).default('whole'),
    ignore: z.array(z.enum(ignorable)).default([]),
  }),
  range: [0, 1],
  score({ sample, truth, options: { operation, place, ignore } }): Score {
    const answer = answerAt(sample.response, place)
    if (!('text' in answer)) return { value: 0, details: { reason: answer.reason } }
    const given = plainText(answer.text, ignore).trim()
    const holds = {
      eq: () => truth.includes(given),
      ne: () => !truth.includes(given),
      like: () => truth.some((text) => given.includes(text)),
      ilike: () => truth.some((text) => given.toLowerCase().includes(text.toLowerCase())),
    }
    const equal = holds[operation]()
    return { value: Number(equal), details: equal ? {} : { reason: 'unequal' } }
  },
})
