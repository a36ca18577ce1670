import { proportion } from './algebra.ts'
import { OverBudget } from './budget.ts'
import type { Comparison, Decision } from './decision.ts'
import { exactValue } from './exact.ts'
import type { Expression } from './expression.ts'
import { agree, constantValue } from './numeric.ts'
import { equal, multiply, type Rational, rational, toNumber } from './rational.ts'

const noise = 1e-12

/** Compares two expressions of numbers and symbols, units and percent signs already off. */
export function equalValues(a: Expression, b: Expression, { precision }: Comparison): Decision | null {
  const infinite = infinity(a)
  if (infinite !== 0 || infinity(b) !== 0) return infinite === infinity(b) ? 'exact' : null
  const [left, right] = [exactNumber(a), exactNumber(b)]
  if (left && right) {
    if (equal(left, right)) return 'exact'
    return roundsTo(decimals(a), decimals(b), toNumber(left), toNumber(right), precision) ? 'numeric' : null
  }
  const ratio = proportion(a, b)
  if (ratio !== null && ratio !== 'different' && ratio.n === ratio.d) return 'algebra'
  const [p, q] = [decimals(a), decimals(b)]
  if (p !== null || q !== null) return nearConstants(a, b, p, q, precision)
  return ratio === null && agree(a, b) ? 'numeric' : null
}

function nearConstants(
  a: Expression,
  b: Expression,
  p: number | null,
  q: number | null,
  precision: number,
): Decision | null {
  const [x, y] = [constantValue(a), constantValue(b)]
  if (x === null || y === null || x.im !== 0 || y.im !== 0) return null
  return roundsTo(p, q, x.re, y.re, precision) ? 'numeric' : null
}

/**
 * Whether a decimal with `p` places (null: not a decimal) is the other value, rightly rounded. One of fewer places
 * than `precision` stands for itself alone, and a wrong last digit is wrong: 42.0000001 is not 42.
 */
function roundsTo(p: number | null, q: number | null, a: number, b: number, precision: number): boolean {
  const places = p === null ? q : q === null ? p : Math.min(p, q)
  if (places === null || places < precision) return false
  const distance = Math.abs(a - b)
  const larger = Math.max(Math.abs(a), Math.abs(b))
  if (distance <= noise * larger) return true
  return distance <= 0.5 * 10 ** -places * (1 + 1e-9) && distance <= 10 ** (1 - precision) * larger
}

/** Places after the point of a decimal, as `-0.50` or `1.5 * 10^-3` state them; null: not a decimal. */
function decimals(of: Expression): number | null {
  if (of.kind === 'number') return of.decimals
  if (of.kind !== 'product' || of.factors.length !== 2) return null
  const [mantissa, scale] = of.factors
  if (!mantissa || !scale) return null
  if (mantissa.kind === 'number' && mantissa.decimals === null)
    return mantissa.value.n === -1n ? decimals(scale) : null
  const places = decimals(mantissa)
  if (
    places === null ||
    scale.kind !== 'power' ||
    scale.base.kind !== 'number' ||
    scale.exponent.kind !== 'number'
  )
    return null
  return scale.base.value.n === 10n && scale.base.value.d === 1n
    ? places - toNumber(scale.exponent.value)
    : null
}

/** null: not a number by arithmetic alone, or one of too many digits. */
function exactNumber(of: Expression): Rational | null {
  try {
    return exactValue(of)
  } catch (error) {
    if (error instanceof OverBudget) return null
    throw error
  }
}

const hundred = rational(100n)

/** a = 100 b, exactly. */
export function isHundredfold(a: Expression, b: Expression): boolean {
  const [left, right] = [exactNumber(a), exactNumber(b)]
  return left !== null && right !== null && equal(left, multiply(right, hundred))
}

/** 1 or -1 for a signed infinity, 0 for everything else. */
function infinity(of: Expression): number {
  if (of.kind === 'constant') return of.name === 'infinity' ? 1 : 0
  if (of.kind !== 'product' || of.factors.length !== 2 || of.factors[1]?.kind !== 'constant') return 0
  const [sign] = of.factors
  return sign?.kind === 'number' && of.factors[1].name === 'infinity' ? Math.sign(toNumber(sign.value)) : 0
}
