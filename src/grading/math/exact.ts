import { budget, OverBudget } from './budget.ts'
import type { Expression } from './expression.ts'
import { add, compare, divide, gcd, multiply, one, power, type Rational, rational, zero } from './rational.ts'

/** The value of an expression of whole numbers and fractions; null: it has none, or not by arithmetic alone. */
export function exactValue(of: Expression): Rational | null {
  switch (of.kind) {
    case 'number':
      return of.value
    case 'sum':
      return folded(of.terms, zero, add)
    case 'product':
      return folded(of.factors, one, multiply)
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

function folded(
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

/** The root of a number that is zero or more, where it is a fraction. */
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
