import type { Score } from '../core/sample/score.ts'

/** Lowest and highest legal score, inclusive. Infinite ends are allowed; a score itself is always finite. */
export type Range = readonly [low: number, high: number]

/** What a function says of a row. null from a rule: does not apply here; from rm_postprocess: no readable verdict. */
export type Verdict = number | Score | null
