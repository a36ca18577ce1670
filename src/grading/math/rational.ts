import { budget, OverBudget } from './budget.ts'

/** A fraction in lowest terms with positive `d`. Never mutated. */
export interface Rational {
  readonly n: bigint
  readonly d: bigint
}

const limit = 10n ** BigInt(budget.digits)

export const zero: Rational = { n: 0n, d: 1n }
export const one: Rational = { n: 1n, d: 1n }

/** Throws OverBudget above `budget.digits` digits. `d` must not be 0. */
export function rational(n: bigint, d = 1n): Rational {
  if (n >= limit || n <= -limit || d >= limit || d <= -limit) throw new OverBudget()
  if (d === 1n) return { n, d }
  const common = gcd(n, d)
  const unit = d < 0n ? -common : common
  return { n: n / unit, d: d / unit }
}

/** The result is never negative. */
export function gcd(a: bigint, b: bigint): bigint {
  let [left, right] = [a < 0n ? -a : a, b < 0n ? -b : b]
  while (right !== 0n) [left, right] = [right, left % right]
  return left
}

/** The value of `12`, `.5`, `3.` or `1.50`. The text must have digits and at most one point. */
export function decimal(text: string): Rational {
  if (text.length > budget.digits) throw new OverBudget()
  const point = text.indexOf('.')
  if (point < 0) return rational(BigInt(text))
  const fraction = text.slice(point + 1)
  return rational(BigInt(text.slice(0, point) + fraction), 10n ** BigInt(fraction.length))
}

/** Throws OverBudget like `rational`. */
export const add = (a: Rational, b: Rational): Rational =>
  a.d === 1n && b.d === 1n ? rational(a.n + b.n) : rational(a.n * b.d + b.n * a.d, a.d * b.d)
export const multiply = (a: Rational, b: Rational): Rational => rational(a.n * b.n, a.d * b.d)
export const equal = (a: Rational, b: Rational): boolean => a.n === b.n && a.d === b.d
export const isZero = (a: Rational): boolean => a.n === 0n

/** null for a division by zero. */
export function divide(a: Rational, b: Rational): Rational | null {
  return b.n === 0n ? null : rational(a.n * b.d, a.d * b.n)
}

/** null for zero to a negative power. Throws OverBudget before it computes an oversized result. */
export function power({ n, d }: Rational, exponent: number): Rational | null {
  if (exponent < 0) return n === 0n ? null : power(rational(d, n), -exponent)
  const unitBase = d === 1n && n >= -1n && n <= 1n
  if (unitBase) return exponent === 0 ? one : rational(exponent % 2 === 0 ? n * n : n)
  const digits = Math.max(`${n}`.length, `${d}`.length)
  if (Math.max(digits - 2, 0.3) * exponent > budget.digits) throw new OverBudget()
  return rational(n ** BigInt(exponent), d ** BigInt(exponent))
}

/** The nearest double, infinite beyond its range. */
export function toNumber({ n, d }: Rational): number {
  const near = Number(n) / Number(d)
  if (Number.isFinite(near) && (near !== 0 || n === 0n)) return near
  const shift = n.toString().length - d.toString().length
  const scaled =
    shift > 0
      ? Number((n * 10n ** 20n) / (d * 10n ** BigInt(shift)))
      : Number((n * 10n ** BigInt(20 - shift)) / d)
  return Number(`${scaled / 1e20}e${shift}`)
}

/** -1, 0 or 1. */
export function compare(a: Rational, b: Rational): number {
  const difference = a.n * b.d - b.n * a.d
  return difference < 0n ? -1 : difference > 0n ? 1 : 0
}
