import { maxIntegerDigits } from '../digits.ts'
import type { Algebra } from './operators.ts'

/** An exact rational number; the denominator is positive. */
export interface Fraction {
  readonly numerator: bigint
  readonly denominator: bigint
}

/** Exact arithmetic; fractions are not reduced. */
export const fractions: Algebra<Fraction> = {
  add: (a, b) => sum(a, b.numerator, b.denominator),
  subtract: (a, b) => sum(a, -b.numerator, b.denominator),
  multiply: (a, b) => ({
    numerator: a.numerator * b.numerator,
    denominator: a.denominator * b.denominator,
  }),
  divide: (a, b) => {
    if (b.numerator === 0n) return null
    const sign = b.numerator < 0n ? -1n : 1n
    return {
      numerator: a.numerator * b.denominator * sign,
      denominator: a.denominator * b.numerator * sign,
    }
  },
  negate: ({ numerator, denominator }) => ({ numerator: -numerator, denominator }),
}

const sum = (a: Fraction, numerator: bigint, denominator: bigint): Fraction =>
  a.denominator === denominator
    ? { numerator: a.numerator + numerator, denominator }
    : {
        numerator: a.numerator * denominator + numerator * a.denominator,
        denominator: a.denominator * denominator,
      }

/** Whether two fractions are the same number. */
export const equalFractions = (a: Fraction, b: Fraction): boolean =>
  a.numerator * b.denominator === b.numerator * a.denominator

/** An integer, decimal or exponent text (`10`, `-2.50`, `1e-7`) as an exact number; null: none, or an exponent over 400. */
export function readFraction(text: string): Fraction | null {
  const [, sign, integer = '', decimals = '', exponent = '0'] =
    /^([+-]?)([0-9]+)(?:\.([0-9]*))?(?:[eE]([+-]?[0-9]{1,4}))?$/.exec(text) ?? []
  const shift = Number(exponent) - decimals.length
  if (
    sign === undefined ||
    integer.length + decimals.length > maxIntegerDigits ||
    Math.abs(Number(exponent)) > 400
  ) {
    return null
  }
  const digits = BigInt(sign + integer + decimals)
  const scale = 10n ** BigInt(Math.abs(shift))
  return shift < 0
    ? { numerator: digits, denominator: scale }
    : { numerator: digits * scale, denominator: 1n }
}
