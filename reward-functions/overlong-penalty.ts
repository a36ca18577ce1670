import { z } from 'zod'
import { BadSample, defineRule, policyTexts, type Score, scope } from '../src/contract/index.ts'
import { countCodePoints } from '../src/grading/index.ts'

/**
 * DAPO's soft overlong punishment. Pays 0 up to `max_length - buffer`, then falls linearly to
 * `-penalty_factor` at `max_length`.
 *
 * Invalid, with `unit: tokens`: a row without its length in `extra_info` or `tokens`.
 */
export default defineRule({
  truth: z.unknown(),
  options: z
    .strictObject({
      /** The length of the full penalty, in `unit`. */
      max_length: z.int().positive(),
      /** How far below `max_length` the penalty begins, in `unit`. */
      buffer: z.int().positive(),
      /** The full penalty. */
      penalty_factor: z.number().positive().default(1),
      /**
       * `tokens`: the number that the trainer sends in `extra_info` or as `tokens.response`, because the gateway has no
       * tokenizer. `characters`: code points of what the policy wrote, its reasoning and calls of tools included.
       */
      unit: z.enum(['tokens', 'characters']).default('tokens'),
      /** The `extra_info` field that holds the response's length in tokens. */
      length_field: z.string().default('response_length'),
      /** With `unit: characters`: the turns that count. */
      scope,
    })
    .refine(({ max_length, buffer }) => buffer <= max_length, {
      path: ['buffer'],
      message: 'is longer than max_length',
    }),
  range: ({ penalty_factor }) => [-penalty_factor, 0],
  score({ sample, options }): Score {
    const { max_length, buffer, penalty_factor, unit, length_field, scope } = options
    const length =
      unit === 'tokens'
        ? (sample.extraInfo[length_field] ?? sample.tokens?.response)
        : policyTexts(sample, scope, { calls: true }).reduce((sum, text) => sum + countCodePoints(text), 0)
    if (typeof length !== 'number' || !(length >= 0)) {
      throw new BadSample(
        `extra_info.${length_field} is not a length in tokens; send it or tokens.response, or set unit: characters`,
      )
    }
    const excess = Math.min(Math.max(length - (max_length - buffer), 0), buffer)
    return { value: excess === 0 ? 0 : (-excess / buffer) * penalty_factor, details: { length } }
  },
})
