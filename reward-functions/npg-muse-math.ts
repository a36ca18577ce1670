import { z } from 'zod'
import { defineRule } from '../src/contract/index.ts'
import { afterThink, boxContent, hasLoop, hidesAnswer, lastBox, mathNormal } from '../src/extract/index.ts'
import { hasSampledLoop } from '../src/extract/repetition-sampled.ts'
import { isThoughtThenAnswer, opensThinking } from '../src/extract/think-format.ts'

const answer = z
  .union([z.string(), z.number()])
  .transform(String)
  .refine((text) => (mathNormal(text) ?? '') !== '', 'is not an answer')

const readers = {
  sound: { isFormed: isThoughtThenAnswer, loops: hasLoop },
  reference: { isFormed: opensThinking, loops: hasSampledLoop },
}

/** NPG-Muse's MATH: 2 for a last box that spells the ground truth, 1 for the form, less 1 for a loop. */
export default defineRule({
  options: z.strictObject({ mode: z.enum(['sound', 'reference']).default('sound') }),
  truth: ({ mode }): z.ZodType<string> => (mode === 'sound' ? answer : z.string()),
  range: [-1, 3],
  parts: ['outcome_score', 'format_score', 'repeat_score'],
  score({ sample: { response }, truth, options: { mode } }) {
    const { isFormed, loops } = readers[mode]
    const text = mode === 'sound' ? afterThink(response) : response
    const box = text === null ? null : lastBox(text)
    const extracted = box === null ? null : boxContent(box)
    const isRight = extracted !== null && (mode === 'sound' ? isSame : wasSame)(extracted, truth)
    const parts = {
      outcome_score: Number(isRight),
      format_score: Number(isFormed(response)),
      repeat_score: Number(loops(response)),
    }
    const reason = extracted === null ? 'no_box' : isRight ? null : 'unequal'
    return {
      value: parts.format_score + 2 * parts.outcome_score - parts.repeat_score,
      parts,
      details: { extracted: extracted?.slice(0, 500) ?? null, ...(reason ? { reason } : {}) },
    }
  },
})

function isSame(given: string, wanted: string): boolean {
  const normal = mathNormal(given)
  return normal !== null && normal !== '' && normal === mathNormal(wanted) && !hidesAnswer(given)
}

/** The original compares the texts as they stand where either has no spelling, and lets nothing equal nothing. */
function wasSame(given: string, wanted: string): boolean {
  const [normal, other] = [mathNormal(given), mathNormal(wanted)]
  return normal === null || other === null ? given === wanted : normal === other
}
