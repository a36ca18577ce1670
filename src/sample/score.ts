import type { Json } from './json.ts'

/** A checked verdict: finite, in its function's range. */
export interface Score {
  readonly value: number
  /** Named components, reported and never added; only names that the function declared. */
  readonly parts?: Readonly<Record<string, number>>
  /** `reason`, `extracted`, ...: for people. */
  readonly details?: Readonly<Record<string, Json>>
  readonly flags?: readonly string[]
}
