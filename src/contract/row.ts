import type { Sample } from '../core/sample/sample.ts'
import type { Score } from '../core/sample/score.ts'

/** A finished step that this one names in `after`. */
export interface Earlier {
  /** null: the step gave a text, or has no score for this row. */
  readonly score: Score | null
  /** The judge's texts, one a draw. */
  readonly texts: readonly string[]
}

/** What a reward function is called with; frozen, parsed, the same for every draw. */
export interface Row<T = unknown, O = unknown> {
  /** The rollout; all of its text is untrusted. */
  readonly sample: Sample
  /** The ground truth as the function's `truth` parsed it. */
  readonly truth: T
  /** The step's options, defaults filled in. */
  readonly options: O
  /** By step name. */
  readonly earlier: Readonly<Record<string, Earlier>>
}
