import { z } from 'zod'
import { defineRule, mode, type Score } from '../src/contract/index.ts'
import {
  afterThink,
  dapoNormal,
  lastBalancedBox,
  lastCodePoints,
  promptText,
  whiteSpace,
} from '../src/grading/index.ts'
import {
  type MathTruth,
  readMathTruth,
  usualComparison,
  verifyBoxed,
  verifyMath,
} from '../src/grading/math/index.ts'

/** Only the last code points are read: the answer belongs there, and the patterns are not linear. */
const tail = 300
const boxTail = 100
const stated = new RegExp(`Answer[${whiteSpace}]*:[${whiteSpace}]*([^\\n]+)`, 'giu')

/** In `published` mode only the text. */
interface Truth {
  readonly given: string
  readonly read: MathTruth | null
}

const answer = z
  .union([z.string(), z.number()])
  .transform(String)
  .refine((text) => dapoNormal(text, true) !== '', 'is not an answer')
  .transform((given, context): Truth => {
    const read = readMathTruth(given)
    if (read !== null) return { given, read }
    context.addIssue('is not an answer')
    return z.NEVER
  })
const anyText = z.string().transform((given): Truth => ({ given, read: null }))

/**
 * verl's DAPO and AIME. Pays 1 if the text after the last `Answer:` is right, else -1. Only the last 300
 * characters are read. `strict` compares as `math-verify` does.
 *
 * Invalid: a ground truth that is not an answer. `published` accepts any text.
 */
export default defineRule({
  options: z.strictObject({
    mode,
    /** Reads the answer from the last box. */
    strict_box_verify: z.boolean().default(false),
    /** The box is searched from 100 characters before the last of these four indices. */
    pause_tokens_index: z.array(z.int()).length(4).nullable().default(null),
  }),
  truth: ({ mode }): z.ZodType<Truth> => (mode === 'strict' ? answer : anyText),
  range: [-1, 1],
  parts: ['correctness'],
  score({ sample, truth: { given, read }, options }) {
    const { mode, strict_box_verify: boxed } = options
    const response = mode === 'strict' ? afterThink(sample.response) : sample.response
    const end = response === null ? '' : lastCodePoints(response, tail)
    if (read !== null)
      return strictScore(
        boxed ? boxRegion(end, options.pause_tokens_index) : end,
        read,
        boxed,
        promptText(sample.prompt),
      )
    const found = boxed
      ? boxIn(end, options.pause_tokens_index)
      : (Array.from(end.matchAll(stated)).at(-1)?.[1] ?? null)
    return publishedScore(found, given, boxed)
  },
})

function boxRegion(text: string, pauses: readonly number[] | null): string {
  const from = pauses === null ? -boxTail : (pauses.at(-1) ?? 0) - boxTail
  return [...text].slice(from).join('')
}

function boxIn(text: string, pauses: readonly number[] | null): string | null {
  const box = lastBalancedBox(boxRegion(text, pauses))
  return box === null ? null : box.slice('\\boxed{'.length, -1)
}

/** The published code compares a box unchanged and reports a missing answer as `[INVALID]`. */
function publishedScore(found: string | null, truth: string, boxed: boolean): Score {
  const extracted = boxed ? found : dapoNormal(found ?? '[INVALID]')
  const right = extracted === (boxed ? truth : dapoNormal(truth))
  return verdict(extracted, right ? null : extracted === null ? 'no_answer' : 'unequal')
}

function strictScore(end: string, truth: MathTruth, boxed: boolean, question: string): Score {
  if (!boxed && !/Answer\s*(?:\*\*)?:/iu.test(end)) return verdict(null, 'no_answer')
  const { extracted, reason } = boxed
    ? verifyBoxed(truth, end, question)
    : verifyMath(truth, end, usualComparison, question)
  return verdict(extracted, reason === 'no_box' ? 'no_answer' : reason)
}

function verdict(extracted: string | null, reason: string | null): Score {
  const right = reason === null
  const details = right ? { extracted } : { extracted, reason }
  return { value: right ? 1 : -1, parts: { correctness: Number(right) }, details }
}
