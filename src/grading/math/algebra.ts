import { Allowance, budget, OverBudget } from './budget.ts'
import type { Expression } from './expression.ts'
import {
  add,
  compare,
  divide,
  gcd,
  isZero,
  multiply,
  one,
  power,
  type Rational,
  rational,
  zero,
} from './rational.ts'

/** The value of an expression of integers and fractions. null if arithmetic alone gives none. */
export function exactValue(of: Expression): Rational | null {
  switch (of.kind) {
    case 'number':
      return of.value
    case 'sum':
      return foldedExact(of.terms, zero, add)
    case 'product':
      return foldedExact(of.factors, one, multiply)
    case 'quotient': {
      const over = exactValue(of.over)
      const under = over && exactValue(of.under)
      return over && under && divide(over, under)
    }
    case 'power':
      return exactPower(of.base, of.exponent)
    case 'percent': {
      const value = exactValue(of.of)
      return value && multiply(value, rational(1n, 100n))
    }
    case 'call':
      return exactCall(of.name, of.args)
    default:
      return null
  }
}

function foldedExact(
  of: readonly Expression[],
  start: Rational,
  step: (a: Rational, b: Rational) => Rational,
): Rational | null {
  let value = start
  for (const item of of) {
    const next = exactValue(item)
    if (next === null) return null
    value = step(value, next)
  }
  return value
}

function exactPower(base: Expression, exponent: Expression): Rational | null {
  const times = exactValue(exponent)
  if (times === null) return null
  const value = exactValue(base)
  if (value === null) return null
  if (times.d === 1n)
    return times.n > 1_000_000n || times.n < -1_000_000n ? null : power(value, Number(times.n))
  const root = times.d <= 8n ? exactRoot(value, Number(times.d)) : null
  return (
    root &&
    exactPower(
      { kind: 'number', value: root, decimals: null },
      { kind: 'number', value: rational(times.n), decimals: null },
    )
  )
}

/** The rational root of a number >= 0, or null. */
function exactRoot({ n, d }: Rational, degree: number): Rational | null {
  const over = wholeRoot(n, degree)
  const under = over === null ? null : wholeRoot(d, degree)
  return over === null || under === null ? null : rational(over, under)
}

function wholeRoot(of: bigint, degree: number): bigint | null {
  if (of < 0n || of > 1n << 100n) return null
  const near = BigInt(Math.round(Number(of) ** (1 / degree)))
  for (const guess of [near, near - 1n, near + 1n])
    if (guess >= 0n && guess ** BigInt(degree) === of) return guess
  return null
}

function exactCall(name: string, args: readonly Expression[]): Rational | null {
  const values: Rational[] = []
  for (const arg of args) {
    const value = exactValue(arg)
    if (value === null) return null
    values.push(value)
  }
  const [a, b] = values
  if (a === undefined) return null
  if (name === 'abs') return a.n < 0n ? { n: -a.n, d: a.d } : a
  if (name === 'floor') return rational(floor(a))
  if (name === 'ceil') return rational(-floor({ n: -a.n, d: a.d }))
  if (name === 'min' || name === 'max') {
    return values.reduce((best, next) => (compare(next, best) === (name === 'min' ? -1 : 1) ? next : best))
  }
  if (name === 'factorial') return a.d === 1n && a.n >= 0n ? rational(falling(a.n, a.n)) : null
  if (b === undefined) return null
  if (name === 'root') return b.d === 1n && b.n > 1n && b.n <= 8n ? exactRoot(a, Number(b.n)) : null
  if (a.d !== 1n || b.d !== 1n) return null
  if (name === 'binom') return binomial(a.n, b.n)
  if (name === 'gcd' || name === 'lcm') {
    const common = gcd(a.n, b.n)
    return name === 'gcd' ? rational(common) : common === 0n ? null : rational((a.n * b.n) / common)
  }
  return null
}

const floor = ({ n, d }: Rational): bigint => (n < 0n && n % d !== 0n ? n / d - 1n : n / d)

/** n (n-1) ... with `count` factors. */
function falling(n: bigint, count: bigint): bigint {
  if (count > BigInt(budget.digits)) throw new OverBudget()
  let value = 1n
  for (let k = 0n; k < count; k++) value *= n - k
  return value
}

function binomial(n: bigint, k: bigint): Rational | null {
  if (k < 0n || n < k) return null
  const count = k < n - k ? k : n - k
  return rational(falling(n, count) / falling(count, count))
}

/** Generators and powers, sorted by generator. */
type Powers = readonly (readonly [generator: string, power: number])[]

interface Term {
  readonly powers: Powers
  readonly factor: Rational
}

/**
 * Terms by the text of their powers, none of them zero. Generators are names, `i`, and `√p` for a prime p.
 */
type Polynomial = ReadonlyMap<string, Term>

const constant = (factor: Rational): Polynomial =>
  isZero(factor) ? new Map() : new Map([['', { powers: [], factor }]])

const generator = (name: string): Polynomial => new Map([[`${name}^1`, { powers: [[name, 1]], factor: one }]])

/** The sum. It needs no budget, because it has at most the terms of both. */
function plus(a: Polynomial, b: Polynomial): Polynomial {
  const sum = new Map(a)
  for (const [key, term] of b) put(sum, key, term)
  return sum
}

/** The product. Spends one unit per pair of terms. */
function times(a: Polynomial, b: Polynomial, work: Allowance): Polynomial {
  work.spend(a.size * b.size)
  const product = new Map<string, Term>()
  for (const left of a.values()) {
    for (const right of b.values()) {
      const { powers, factor } = merged(left, right)
      put(product, powers.map(([name, power]) => `${name}^${power}`).join(' '), { powers, factor })
    }
  }
  return product
}

/** The number c with a = c b. null if there is none or either side is zero. */
function ratio(a: Polynomial, b: Polynomial): Rational | null {
  if (a.size !== b.size || a.size === 0) return null
  let found: Rational | null = null
  for (const [key, { factor }] of a) {
    const other = b.get(key)?.factor
    if (other === undefined) return null
    const quotient = rational(factor.n * other.d, factor.d * other.n)
    if (found === null) found = quotient
    else if (found.n !== quotient.n || found.d !== quotient.d) return null
  }
  return found
}

function put(into: Map<string, Term>, key: string, term: Term): void {
  const known = into.get(key)
  const factor = known ? add(known.factor, term.factor) : term.factor
  if (isZero(factor)) into.delete(key)
  else into.set(key, { powers: term.powers, factor })
}

/** The product of two terms, with i i = -1 and √p √p = p. */
function merged(a: Term, b: Term): Term {
  const powers: (readonly [string, number])[] = []
  let factor = multiply(a.factor, b.factor)
  let left = 0
  let right = 0
  while (left < a.powers.length || right < b.powers.length) {
    const [p, q] = [a.powers[left], b.powers[right]]
    if (q === undefined || (p !== undefined && p[0] < q[0])) {
      if (p) powers.push(p)
      left++
    } else if (p === undefined || q[0] < p[0]) {
      powers.push(q)
      right++
    } else {
      const [name] = p
      if (name === 'i') factor = { n: -factor.n, d: factor.d }
      else if (name.startsWith('√')) factor = multiply(factor, rational(BigInt(name.slice(1))))
      else powers.push([name, p[1] + q[1]])
      left++
      right++
    }
  }
  return { powers, factor }
}

interface Fraction {
  readonly over: Polynomial
  readonly under: Polynomial
}

const unit = constant(one)
const largestRadicand = 10n ** 12n

/**
 * The number c with a = c b, as fractions of polynomials. 'different': no such number. null: this method
 * cannot decide.
 */
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

/**
 * √(n/d) = √(n d) / d, factored into square roots of primes, which are linearly independent over the
 * rationals.
 */
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
