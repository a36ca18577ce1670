import { z } from 'zod'
import { defineGroupRule, mode, type Verdict } from '../src/contract/index.ts'
import { excessPenalties, kimiLengths } from '../src/grading/length.ts'
import { isRight, rightOptions } from './length.ts'
import { lengthOf } from './overlong-penalty.ts'

const kimi = z.strictObject({ kind: z.literal('kimi'), mode, ...rightOptions })

const excess = z.strictObject({
  kind: z.literal('excess'),
  /** Which quantile of the right answers' lengths is the reference. */
  quantile: z.number().min(0).max(1).default(0.5),
  /** How much longer than the reference is free, as a share of it. */
  slack: z.number().min(0).default(0.25),
  /** The penalty of one reference length above that. */
  rate: z.number().positive().default(0.2),
  /** The largest penalty. */
  max_penalty: z.number().positive().default(0.2),
  ...rightOptions,
})

/**
 * Compares the lengths of the right answers to a prompt. `kimi`: 0.5 for the shortest to -0.5 for the longest. `excess`: a
 * penalty for what is much longer than the others. A wrong answer has no length term, and a group without two right ones gets
 * 0, so length makes no difference where all answers are wrong. `published` (`kimi`) also counts and punishes wrong
 * ones.
 *
 * Invalid: a row without its length, or a step without one step in `after`.
 */
export default defineGroupRule({
  truth: z.unknown(),
  options: z.discriminatedUnion('kind', [kimi, excess]),
  range: (options) => (options.kind === 'kimi' ? [-0.5, 0.5] : [-options.max_penalty, 0]),
  score(rows): readonly Verdict[] {
    const [options] = rows.map((row) => row.options)
    if (!options) return []
    const right = rows.map(({ earlier }) => isRight(earlier, options.right_from))
    const isPublished = options.kind === 'kimi' && options.mode === 'published'
    const compared = rows.flatMap(({ sample }, at) =>
      right[at] || (isPublished && right[at] !== null) ? [{ at, length: lengthOf(sample, options) }] : [],
    )
    const lengths = compared.map(({ length }) => length)
    const values =
      options.kind === 'kimi'
        ? kimiLengths(
            lengths,
            compared.map(({ at }) => right[at] === true),
          )
        : excessPenalties(lengths, { ...options, most: options.max_penalty })
    const verdicts: Verdict[] = rows.map(() => null)
    for (const [index, { at, length }] of compared.entries())
      verdicts[at] = { value: values[index] ?? 0, details: { length } }
    return verdicts
  },
})
