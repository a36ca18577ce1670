import type { Sample } from '../sample/sample.ts'
import type { Score } from '../sample/score.ts'

/** A finished step that this one names in `after`. */
export interface Earlier {
  readonly score: Score | null
  /** The judge's texts, one a draw. */
  readonly texts: readonly string[]
}

/** What a reward function is called with; frozen, parsed, the same for every draw. */
export interface Row<T = unknown, O = unknown> {
  readonly sample: Sample
  readonly truth: T
  readonly options: O
  readonly earlier: Readonly<Record<string, Earlier>>
}
