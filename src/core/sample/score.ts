import type { Json } from './json.ts'

/** A verdict with more than a number. */
export interface Score {
  /** Finite, in the function's range. */
  readonly value: number
  /** Named components, reported and never added; only names that the function declared. */
  readonly parts?: Readonly<Record<string, number>>
  /** `reason`, `extracted`, ...: for people. */
  readonly details?: Readonly<Record<string, Json>>
  /** Short words about this sample, for metrics and records; at most 32. */
  readonly flags?: readonly string[]
}
