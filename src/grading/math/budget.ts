/** Limits for one answer. An answer over a limit only equals identical text. */
export const budget = {
  /** Length of an answer in UTF-16 units. */
  text: 4000,
  /** Digits of a written number, or of a numerator or denominator during the computation. */
  digits: 400,
  /** Nesting of brackets, braces and arguments. */
  depth: 60,
  /** Nodes of an expression, including the alternatives of its +- signs. */
  nodes: 2000,
  /** Terms of a polynomial, and products of terms per comparison. */
  terms: 300,
  termProducts: 20_000,
  /** Largest exponent that is expanded. */
  exponent: 64,
  /** Rows and columns of a matrix that is multiplied. */
  matrix: 12,
  /** Pairs tried when two collections are compared without order. */
  pairs: 2500,
} as const

/** Thrown and caught within this folder only. */
export class OverBudget extends Error {}

/** A work counter that throws when it is used up. */
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
