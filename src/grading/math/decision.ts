/** How two answers were found equal, from the surest to the least sure. */
export const decisions = ['string', 'exact', 'algebra', 'numeric'] as const

/** One of them. */
export type Decision = (typeof decisions)[number]

/** How answers are compared. */
export interface Comparison {
  /** Digits after the point that a decimal must give to stand for a number that it only comes near to. */
  readonly precision: number
  /** false: the names of variables do not matter. */
  readonly strict: boolean
  /** true: `1 < x < 2` also stands for (1, 2) where the truth is the interval. */
  readonly relationAsSet: boolean
}

/** The less sure of the two; null: one of the parts is unequal. */
export function weaker(a: Decision | null, b: Decision | null): Decision | null {
  if (a === null || b === null) return null
  return decisions[Math.max(decisions.indexOf(a), decisions.indexOf(b))] ?? null
}
