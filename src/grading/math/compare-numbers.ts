import { exactValue, proportion } from './algebra.ts'
import { budget, OverBudget } from './budget.ts'
import type { Comparison, Decision } from './decision.ts'
import { agree, constantValue } from './evaluate.ts'
import { children, type Expression, number, product } from './expression.ts'
import { equal, multiply, type Rational, rational, toNumber } from './rational.ts'
import { canonicalUnit } from './units.ts'

const noise = 1e-12

/** Compares two expressions without units and percent signs. */
function equalValues(a: Expression, b: Expression, { precision }: Comparison): Decision | null {
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
 * Whether a decimal with `p` places (null: not a decimal) is the other value, correctly rounded. With fewer
 * places than `precision`, it must be exact. A wrong last digit is wrong: 42.0000001 is not 42.
 */
function roundsTo(p: number | null, q: number | null, a: number, b: number, precision: number): boolean {
  const places = p === null ? q : q === null ? p : Math.min(p, q)
  if (places === null || places < precision) return false
  const distance = Math.abs(a - b)
  const larger = Math.max(Math.abs(a), Math.abs(b))
  if (distance <= noise * larger) return true
  return distance <= 0.5 * 10 ** -places * (1 + 1e-9) && distance <= 10 ** (1 - precision) * larger
}

/** The decimal places that `-0.50` or `1.5 * 10^-3` state. null: not a decimal. */
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

/** null if arithmetic alone gives no number, or one with too many digits. */
function exactNumber(of: Expression): Rational | null {
  try {
    return exactValue(of)
  } catch (error) {
    if (error instanceof OverBudget) return null
    throw error
  }
}

const hundred = rational(100n)

/** Whether a = 100 b exactly. */
function isHundredfold(a: Expression, b: Expression): boolean {
  const [left, right] = [exactNumber(a), exactNumber(b)]
  return left !== null && right !== null && equal(left, multiply(right, hundred))
}

/** 1 or -1 for a signed infinity, otherwise 0. */
function infinity(of: Expression): number {
  if (of.kind === 'constant') return of.name === 'infinity' ? 1 : 0
  if (of.kind !== 'product' || of.factors.length !== 2 || of.factors[1]?.kind !== 'constant') return 0
  const [sign] = of.factors
  return sign?.kind === 'number' && of.factors[1].name === 'infinity' ? Math.sign(toNumber(sign.value)) : 0
}

/**
 * Compares numerals of another base by value. If the truth is one, its digits alone are also accepted, since
 * the question names the base.
 */
export function equalNumerals(gold: Expression, answer: Expression): Decision | null {
  if (gold.kind === 'numeral' && answer.kind !== 'numeral') {
    const isWhole = answer.kind === 'number' && answer.decimals === null && answer.value.d === 1n
    return isWhole && `${answer.value.n}` === gold.digits ? 'exact' : null
  }
  const [want, have] = [wholeValue(gold), wholeValue(answer)]
  return want !== null && want === have ? 'exact' : null
}

function wholeValue(of: Expression): bigint | null {
  if (of.kind === 'number') return of.value.d === 1n ? of.value.n : null
  if (of.kind !== 'numeral' || of.digits.length > budget.digits) return null
  let value = 0n
  for (const digit of of.digits) {
    if (Number(digit) >= of.base) return null
    value = value * BigInt(of.base) + BigInt(digit)
  }
  return value
}

interface Measure {
  readonly of: Expression
  /** null: no unit, or an unknown one. */
  readonly unit: string | null
}

/** Compares numbers whose unit, degree sign or percent sign may be omitted. */
export function equalQuantities(gold: Expression, answer: Expression, how: Comparison): Decision | null {
  const [want, have] = [measure(gold), measure(answer)]
  if (differ(want.unit, have.unit)) return null
  if (
    (want.unit !== null && have.of.kind === 'percent') ||
    (have.unit !== null && want.of.kind === 'percent')
  )
    return null
  if (want.of.kind === 'percent' || have.of.kind === 'percent') return equalPercents(want.of, have.of, how)
  if (gold.kind === 'degrees' && mentionsPi(answer)) return equalValues(inRadians(want.of), answer, how)
  if (answer.kind === 'degrees' && mentionsPi(gold)) return equalValues(gold, inRadians(have.of), how)
  return equalValues(withoutUnit(want.of, have.unit), withoutUnit(have.of, want.unit), how)
}

/** 28% equals 28 percent and 0.28. A bare 28 is read as percent without the sign. */
function equalPercents(gold: Expression, answer: Expression, how: Comparison): Decision | null {
  const [want, have] = [withoutPercent(gold), withoutPercent(answer)]
  const same = equalValues(want, have, how)
  if (same || gold.kind === answer.kind) return same
  return (gold.kind === 'percent' ? isHundredfold(want, have) : isHundredfold(have, want)) ? 'exact' : null
}

const withoutPercent = (of: Expression): Expression => (of.kind === 'percent' ? of.of : of)

/** A ratio's parts, each divided by the last. Any other expression is returned alone. */
export function ratioQuotients(of: Expression): readonly Expression[] {
  if (of.kind !== 'ratio') return [of]
  const under = lastPart(of).of
  return of.parts.slice(0, -1).map((over) => ({ kind: 'quotient', over, under }))
}

/** False if both ratios end with known but different units, such as a.m. and p.m. */
export const sameUnits = (a: Expression, b: Expression): boolean =>
  !differ(lastPart(a).unit, lastPart(b).unit)

const lastPart = (of: Expression): Measure => measure((of.kind === 'ratio' && of.parts.at(-1)) || of)

const differ = (a: string | null, b: string | null): boolean => a !== null && b !== null && a !== b

function measure(of: Expression): Measure {
  if (of.kind === 'measured') return { of: of.of, unit: of.unit || null }
  if (of.kind === 'degrees') return { of: of.of, unit: 'degree' }
  return { of, unit: null }
}

/** `17m` against 17 metres: a last factor that spells the other side's unit is that unit. */
function withoutUnit(of: Expression, unit: string | null): Expression {
  const last = of.kind === 'product' ? of.factors.at(-1) : undefined
  if (unit === null || of.kind !== 'product' || last?.kind !== 'symbol') return of
  return canonicalUnit(last.name) === unit ? product(of.factors.slice(0, -1)) : of
}

const inRadians = (of: Expression): Expression => ({
  kind: 'quotient',
  over: product([of, { kind: 'constant', name: 'pi' }]),
  under: number(rational(180n)),
})

const mentionsPi = (of: Expression): boolean =>
  (of.kind === 'constant' && of.name === 'pi') || children(of).some(mentionsPi)
