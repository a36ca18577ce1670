import { z } from 'zod'
import { defineRule, mode } from '../src/contract/index.ts'
import {
  afterThink,
  boxContent,
  lastBox,
  mathNormal,
  publishedSpelling,
  strictSpelling,
} from '../src/grading/index.ts'

const answer = z
  .union([z.string(), z.number()])
  .transform(String)
  .refine((text) => (mathNormal(text) ?? '') !== '', 'is not an answer')

/**
 * verl's MATH. Pays 1 if the last `\boxed{}` equals the ground truth after MATH's normalisation, else 0.
 *
 * Invalid: a ground truth that is not an answer. `published` pays 0 for one that is not a text.
 */
export default defineRule({
  options: z.strictObject({ mode }),
  truth: ({ mode }): z.ZodType<unknown> => (mode === 'strict' ? answer : z.unknown()),
  range: [0, 1],
  parts: ['correctness'],
  score({ sample: { response }, truth, options: { mode } }) {
    const published = mode === 'published'
    const text = published ? response : afterThink(response)
    const box = text === null ? null : lastBox(text)
    const extracted = box === null ? null : boxContent(box)
    if (extracted === null) return { value: 0, parts: { correctness: 0 }, details: { reason: 'no_box' } }
    const right =
      typeof truth === 'string' && (published ? publishedSpelling : strictSpelling)(extracted, truth)
    const details = right ? { extracted } : { extracted, reason: 'unequal' }
    return { value: Number(right), parts: { correctness: Number(right) }, details }
  },
})
