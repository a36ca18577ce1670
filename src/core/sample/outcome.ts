import type { Failure } from './failure.ts'
import type { Score } from './score.ts'

/** One step's share in a sample's outcome. */
export type Term = { readonly name: string; readonly weight: number } & (
  | {
      readonly status: 'scored'
      readonly score: Score
      /** How many verdicts were drawn, and their population standard deviation. */
      readonly draws: number
      readonly spread: number
      /** What it added to the reward; null until combined, and where the reward is no plain sum. */
      readonly contribution: number | null
    }
  | { readonly status: 'text'; readonly texts: readonly string[] }
  | { readonly status: 'off'; readonly why: OffReason }
  | { readonly status: 'failed'; readonly failure: Failure }
)

/** Why a step took no part; none of them is a failure. */
export type OffReason = 'gate' | 'when' | 'data_source' | 'not_applicable' | 'skipped'

/** The gateway's answer for one sample: a finite reward, or the reason why there is none. */
export type Outcome = {
  readonly id: string
  readonly terms: readonly Term[]
  readonly flags: readonly string[]
} & (
  | { readonly valid: true; readonly reward: number }
  | { readonly valid: false; readonly failure: Failure; readonly substitute: number | null }
)
