/** What one answer may cost. An answer over a limit is unequal to everything but the same text. */
export const budget = {
  /** UTF-16 units of an answer. */
  text: 4000,
  /** Digits of one written number, or of a numerator or denominator on the way. */
  digits: 400,
  /** Brackets, braces and arguments inside each other. */
  depth: 60,
  /** Nodes of one expression; also of the alternatives that its signs +- spell out. */
  nodes: 2000,
  /** Terms of one polynomial, and products of terms in one comparison. */
  terms: 300,
  termProducts: 20_000,
  /** Largest exponent that is multiplied out. */
  exponent: 64,
  /** Rows and columns of a matrix that is multiplied. */
  matrix: 12,
  /** Pairs tried when two collections are compared without order. */
  pairs: 2500,
} as const

/** Thrown inside this room only, and caught by its readers. */
export class OverBudget extends Error {}

/** A counter of work that throws when it is used up. */
export class Allowance {
  private left: number

  constructor(units: number) {
    this.left = units
  }

  spend(units = 1): void {
    this.left -= units
    if (this.left < 0) throw new OverBudget()
  }
}
