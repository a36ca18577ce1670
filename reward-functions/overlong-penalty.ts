import { z } from 'zod'
import {
  BadSample,
  defineRule,
  mode,
  policyTexts,
  type Sample,
  type Score,
  scope,
} from '../src/contract/index.ts'
import { countCodePoints, words } from '../src/grading/index.ts'
import { overlongShare } from '../src/grading/length.ts'

/** How the rules about length measure a response. */
export const lengthOptions = {
  /**
   * `tokens`: the number that the trainer sends in `extra_info` or as `tokens.response`, because the gateway has no
   * tokenizer. `characters`: code points of what the policy wrote, its reasoning and calls of tools included. `words`: its
   * words; in scripts without spaces, each character.
   */
  unit: z.enum(['tokens', 'words', 'characters']).default('tokens'),
  /** The `extra_info` field that holds the response's length in tokens. */
  length_field: z.string().default('response_length'),
  /** With `unit: words` and `unit: characters`: the turns that count. */
  scope,
}

/** A response's length. Throws if the trainer sent none in tokens. */
export function lengthOf(
  sample: Sample,
  { unit, length_field, scope }: Readonly<z.infer<ReturnType<typeof z.object<typeof lengthOptions>>>>,
): number {
  if (unit !== 'tokens') {
    const count = unit === 'words' ? (text: string): number => words(text).length : countCodePoints
    return policyTexts(sample, scope, { calls: true }).reduce((sum, text) => sum + count(text), 0)
  }
  const length = sample.extraInfo[length_field] ?? sample.tokens?.response
  if (typeof length === 'number' && length >= 0) return length
  throw new BadSample(
    `extra_info.${length_field} is not a length in tokens; send it or tokens.response, or set unit: characters`,
  )
}

/**
 * DAPO's soft overlong punishment. Pays 0 up to `max_length - buffer`, then falls linearly to
 * `-penalty_factor` at `max_length`. `published` falls as TRL, ms-swift or verl do.
 *
 * Invalid, with `unit: tokens`: a row without its length in `extra_info` or `tokens`.
 */
export default defineRule({
  truth: z.unknown(),
  options: z
    .strictObject({
      mode,
      /** With `mode: published`: `trl` stays at the full penalty above `max_length`, `ms-swift` and `verl` fall further. */
      formula: z.enum(['trl', 'ms-swift', 'verl']).default('trl'),
      /** The length of the full penalty, in `unit`. */
      max_length: z.int().positive(),
      /** How far below `max_length` the penalty begins, in `unit`. */
      buffer: z.int().min(0),
      /** The full penalty. */
      penalty_factor: z.number().positive().default(1),
      ...lengthOptions,
    })
    .refine(({ max_length, buffer, mode }) => mode === 'published' || buffer <= max_length, {
      path: ['buffer'],
      message: 'is longer than max_length',
    })
    .refine(({ buffer, mode, formula }) => buffer > 0 || (mode === 'published' && formula === 'trl'), {
      path: ['buffer'],
      message: 'is 0',
    })
    .refine(({ max_length, buffer, mode, formula }) => {
      return mode === 'strict' || formula !== 'ms-swift' || buffer < max_length
    }, 'ms-swift needs a buffer below max_length'),
  range: ({ mode, formula, penalty_factor }) =>
    mode === 'published' && formula !== 'trl' ? [Number.NEGATIVE_INFINITY, 0] : [-penalty_factor, 0],
  score({ sample, options }): Score {
    const { mode, formula, max_length, buffer, penalty_factor } = options
    const length = lengthOf(sample, options)
    const share = overlongShare(length, max_length, buffer, mode === 'strict' ? 'trl' : formula)
    return { value: share === 0 ? 0 : -share * penalty_factor, details: { length } }
  },
})
