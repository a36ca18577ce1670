import { z } from 'zod'
import { BadSample, defineRule, type Earlier, mode, type Score } from '../src/contract/index.ts'
import { cosineOfLength, l1Reward, nearGoal } from '../src/grading/length.ts'
import { lengthOf, lengthOptions } from './overlong-penalty.ts'

/** What the rules about length that pay right answers share. */
export const rightOptions = {
  ...lengthOptions,
  /** An answer is right if the step in `after` scores at least this. */
  right_from: z.number().default(1),
}

/** Whether the one step that `after` names calls the answer right; null if that step has no score. */
export function isRight(earlier: Readonly<Record<string, Earlier>>, rightFrom: number): boolean | null {
  const [step, ...others] = Object.values(earlier)
  if (!step || others.length > 0)
    throw new BadSample('name the one step that says whether an answer is right: after: [STEP]')
  return step.score === null ? null : step.score.value >= rightFrom
}

const slope = z.tuple([z.number(), z.number()])

const cosine = z.strictObject({
  kind: z.literal('cosine'),
  mode,
  /** The length at which the cosine ends, in `unit`. */
  max_length: z.number().positive(),
  /** What a right answer is paid at length 0, and at `max_length` and above. */
  right: slope.default([1, 0.5]),
  /** With `mode: published`, the same of a wrong answer. */
  wrong: slope.default([-1, -0.5]),
  /** With `mode: published`: false if the cosine turns back above `max_length`, as in ms-swift and Open-R1. */
  clamp: z.boolean().default(true),
  ...rightOptions,
})

const target = z.strictObject({
  kind: z.literal('target'),
  mode,
  /** The length to reach, in `unit`. If absent, the row's `goal_field` says it. */
  goal: z.number().optional(),
  /** The `extra_info` field with the row's goal, a number or its text. */
  goal_field: z.string().default('target_length'),
  /** `exact`: a shorter or longer answer is paid less. `at_most`: only a longer one. */
  form: z.enum(['exact', 'at_most']).default('exact'),
  /** What one unit away from the goal costs. */
  alpha: z.number().positive().default(0.0003),
  /**
   * With `mode: published`: L1's reward, correctness included (`sum`, `product`; a negative goal is a maximum), or
   * Open-Instruct's line without a lower bound (`none`).
   */
  combine: z.enum(['sum', 'product', 'none']).default('sum'),
  /** With `mode: published`: L1's reward by its sigmoid. */
  sigmoid: z.boolean().default(false),
  ...rightOptions,
})

/**
 * Pays right answers by their length; a wrong one, or one that the step in `after` does not score, has no length term. So
 * length makes no difference between wrong answers. `cosine`: from `right[0]` at length 0 to `right[1]` at `max_length`.
 * `target`: 1 at the row's goal, `alpha` less for each unit away from it, down to 0. `published` scores as TRL, ms-swift and
 * Open-R1 (`cosine`), L1 and Open-Instruct (`target`) do.
 *
 * Invalid: a row without its length or goal, or a step without one step in `after`.
 */
export default defineRule({
  truth: z.unknown(),
  options: z.discriminatedUnion('kind', [cosine, target]),
  range: (options) => {
    if (options.kind === 'cosine') {
      const ends = options.mode === 'published' ? [...options.right, ...options.wrong] : options.right
      return [Math.min(...ends), Math.max(...ends)]
    }
    return options.mode === 'published' ? [Number.NEGATIVE_INFINITY, 2] : [0, 1]
  },
  score({ sample, options, earlier }): Score | null {
    const right = isRight(earlier, options.right_from)
    const { kind, mode } = options
    if (right === null || (mode === 'strict' && !right)) return null
    const length = lengthOf(sample, options)
    if (kind === 'cosine') {
      const { max_length, clamp } = options
      const ends = right ? options.right : options.wrong
      return {
        value: cosineOfLength(length, max_length, ends, mode === 'strict' || clamp),
        details: { length },
      }
    }
    const { goal_field, form, alpha, combine, sigmoid } = options
    const given = options.goal ?? sample.extraInfo[goal_field]
    const goal = typeof given === 'string' && given.trim() !== '' ? Number(given) : given
    if (typeof goal !== 'number' || !Number.isFinite(goal) || (mode === 'strict' && goal < 0))
      throw new BadSample(`extra_info.${goal_field} is not a length; send it, or set options.goal`)
    const details = { length, goal }
    if (mode === 'strict') return { value: nearGoal(length, goal, alpha, form), details }
    if (combine !== 'none')
      return { value: l1Reward(length, goal, right, { alpha, combine, sigmoid }), details }
    const away = form === 'exact' ? Math.abs(length - goal) : Math.max(length - goal, 0)
    return { value: 1 - away * alpha, details }
  },
})
