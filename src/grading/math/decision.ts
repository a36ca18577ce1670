/** How two answers were found equal, from most to least certain. */
export const decisions = ['string', 'exact', 'algebra', 'numeric'] as const

export type Decision = (typeof decisions)[number]

export interface Comparison {
  /** A decimal that only approximates a number must have this many places. */
  readonly precision: number
  /** `false`: variable names do not matter. */
  readonly strict: boolean
  /** `true`: `1 < x < 2` also equals (1, 2) if the truth is the interval. */
  readonly relationAsSet: boolean
}

/** The less certain of the two, or null if either is null. */
export function weaker(a: Decision | null, b: Decision | null): Decision | null {
  if (a === null || b === null) return null
  return decisions[Math.max(decisions.indexOf(a), decisions.indexOf(b))] ?? null
}
