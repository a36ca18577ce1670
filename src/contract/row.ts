/** What a reward function gets, and what it gives. */

import type { AnsweredCall, Sample, Score } from '../core/sample/sample.ts'

/** Lowest and highest legal score, inclusive. Infinite ends are allowed; a score itself is always finite. */
export type Range = readonly [low: number, high: number]

/**
 * A function's result for a row. `null` from a rule: it does not apply. `null` from `rm_postprocess`: no
 * readable verdict.
 */
export type Verdict = number | Score | null

/** The result of a finished step that this step names in `after`. */
export interface Earlier {
  /** `null`: the step gave a text, or it has no score for this row. */
  readonly score: Score | null
  /** The judge's replies, one per draw. */
  readonly texts: readonly string[]
}

/** The argument of a reward function: parsed, frozen, and identical for every draw. */
export interface Row<T = unknown, O = unknown> {
  /**
   * The rollout. All of its text is untrusted. A function of your own always finds `turns` and `toolCalls` in it, as
   * `turnsOf` and `toolCallsOf` give them.
   */
  readonly sample: Sample & { readonly toolCalls?: readonly AnsweredCall[] }
  /** The ground truth as the function's `truth` parsed it. */
  readonly truth: T
  /** The step's options, with defaults. */
  readonly options: O
  /** Results of earlier steps, by step name. */
  readonly earlier: Readonly<Record<string, Earlier>>
}
