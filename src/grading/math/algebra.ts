import { Allowance, budget, OverBudget } from './budget.ts'
import { exactValue } from './exact.ts'
import type { Expression } from './expression.ts'
import { constant, generator, type Polynomial, plus, ratio, times } from './polynomial.ts'
import { isZero, one, type Rational, rational } from './rational.ts'

interface Fraction {
  readonly over: Polynomial
  readonly under: Polynomial
}

const unit = constant(one)
const largestRadicand = 10n ** 12n

/** The number c with a = c b as fractions of polynomials; 'different': there is none; null: not decidable so. */
export function proportion(a: Expression, b: Expression): Rational | 'different' | null {
  const work = new Allowance(budget.termProducts)
  try {
    const left = fraction(a, work)
    const right = left && fraction(b, work)
    if (!left || !right) return null
    if (left.over.size === 0 || right.over.size === 0)
      return left.over.size === right.over.size ? one : 'different'
    return ratio(times(left.over, right.under, work), times(right.over, left.under, work)) ?? 'different'
  } catch (error) {
    if (error instanceof OverBudget) return null
    throw error
  }
}

function fraction(of: Expression, work: Allowance): Fraction | null {
  work.spend()
  switch (of.kind) {
    case 'number':
      return { over: constant(of.value), under: unit }
    case 'symbol':
      return { over: generator(` ${of.name}`), under: unit }
    case 'constant':
      return of.name === 'infinity' ? null : { over: generator(of.name), under: unit }
    case 'sum':
      return folded(of.terms, work, (a, b) => ({
        over: plus(times(a.over, b.under, work), times(b.over, a.under, work)),
        under: times(a.under, b.under, work),
      }))
    case 'product':
      return folded(of.factors, work, (a, b) => multiplied(a, b, work))
    case 'quotient': {
      const over = fraction(of.over, work)
      const under = over && fraction(of.under, work)
      if (!over || !under || under.over.size === 0) return null
      return multiplied(over, { over: under.under, under: under.over }, work)
    }
    case 'power':
      return raised(of.base, of.exponent, work)
    default:
      return null
  }
}

function folded(
  of: readonly Expression[],
  work: Allowance,
  step: (a: Fraction, b: Fraction) => Fraction,
): Fraction | null {
  let value: Fraction | null = null
  for (const item of of) {
    const next = fraction(item, work)
    if (next === null) return null
    value = value === null ? next : step(value, next)
  }
  return value
}

function multiplied(a: Fraction, b: Fraction, work: Allowance): Fraction {
  return { over: times(a.over, b.over, work), under: times(a.under, b.under, work) }
}

function raised(base: Expression, exponent: Expression, work: Allowance): Fraction | null {
  const power = exactValue(exponent)
  if (power === null) return null
  if (power.n === 1n && power.d === 2n) return squareRoot(base)
  if (power.d !== 1n || power.n > BigInt(budget.exponent) || power.n < -BigInt(budget.exponent)) return null
  const of = fraction(base, work)
  if (of === null) return null
  const times = Number(power.n)
  const source = times < 0 ? { over: of.under, under: of.over } : of
  if (source.under.size === 0) return null
  let value: Fraction = { over: unit, under: unit }
  for (let k = 0; k < Math.abs(times); k++) value = multiplied(value, source, work)
  return value
}

/** √(n/d) = √(n d) / d, taken apart into square roots of primes, which are independent over the fractions. */
function squareRoot(of: Expression): Fraction | null {
  const value = exactValue(of)
  if (value === null) return null
  const radicand = value.n < 0n ? -value.n * value.d : value.n * value.d
  if (radicand > largestRadicand) return null
  if (isZero(value)) return { over: constant(value), under: unit }
  let left = Number(radicand)
  let outside = 1n
  let roots: Polynomial = value.n < 0n ? generator('i') : unit
  const work = new Allowance(1000)
  for (let p = 2; left > 1; p += p === 2 ? 1 : 2) {
    if (p * p > left) p = left
    let repeats = 0
    for (; left % p === 0; repeats++) left /= p
    if (repeats > 1) outside *= BigInt(p) ** BigInt(repeats >> 1)
    if (repeats % 2 === 1) roots = times(roots, generator(`√${p}`), work)
  }
  return { over: times(constant(rational(outside, value.d)), roots, work), under: unit }
}
