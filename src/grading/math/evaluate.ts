import { fnv1a } from '../../core/hash.ts'
import { exactValue } from './algebra.ts'
import type { Approximate } from './approximate.ts'
import * as n from './approximate.ts'
import { children, type Expression, namesIn } from './expression.ts'
import { toNumber } from './rational.ts'

interface RealFunction {
  readonly value: (x: number) => number
  /** An upper bound of the derivative's absolute value near x. */
  readonly slope: (x: number) => number
}

const one = (): number => 1
const reciprocal = (f: (x: number) => number) => (x: number) => 1 / f(x)
const steep = (f: (x: number) => number) => (x: number) => 2 + 2 / f(x) ** 2
const arc = (x: number): number => 1 / Math.sqrt(Math.max(1 - x * x, 1e-16))

/** Real functions of one argument. */
const realFunctions: ReadonlyMap<string, RealFunction> = new Map(
  Object.entries({
    sin: { value: Math.sin, slope: one },
    cos: { value: Math.cos, slope: one },
    tan: { value: Math.tan, slope: steep(Math.cos) },
    cot: { value: reciprocal(Math.tan), slope: steep(Math.sin) },
    sec: { value: reciprocal(Math.cos), slope: steep(Math.cos) },
    csc: { value: reciprocal(Math.sin), slope: steep(Math.sin) },
    arcsin: { value: Math.asin, slope: arc },
    arccos: { value: Math.acos, slope: arc },
    arctan: { value: Math.atan, slope: one },
    arccot: { value: (x: number) => Math.PI / 2 - Math.atan(x), slope: one },
    sinh: { value: Math.sinh, slope: Math.cosh },
    cosh: { value: Math.cosh, slope: Math.cosh },
    tanh: { value: Math.tanh, slope: one },
    coth: { value: reciprocal(Math.tanh), slope: steep(Math.sinh) },
  }),
)

/** `f(x)` of an undefined f: a smooth function chosen by its name. */
function unnamedFunction(name: string, args: readonly Approximate[]): Approximate {
  const seed = hash(name)
  let [value, error] = [seed, 1e-16]
  for (const [k, { re, im, error: off }] of args.entries()) {
    if (im !== 0) return n.undefinedValue
    value += Math.sin(re * (1 + seed) + k) + 0.3 * re * (k + 1)
    error += (2 + seed + k) * (off + 1e-16 * Math.abs(re))
  }
  return n.real(value, error)
}

/** A number from 0.1 to 2, the same for the same text. */
function hash(text: string): number {
  let h = fnv1a(text)
  h ^= h >>> 15
  h = Math.imul(h, 0x2c1b3c6d)
  h ^= h >>> 12
  return 0.1 + ((h >>> 0) / 2 ** 32) * 1.9
}

const i: Approximate = { re: 0, im: 1, error: 0 }
const ten = n.real(10)
const radian = n.real(Math.PI / 180)

/** Evaluates an expression for given values of its symbols. Linear in its nodes. Never throws by itself. */
class Evaluation {
  /** Set if the evaluation took a root or logarithm of a negative number. */
  leftTheReals = false
  private readonly symbol: (name: string) => number

  constructor(symbol: (name: string) => number) {
    this.symbol = symbol
  }

  of(expression: Expression): Approximate {
    switch (expression.kind) {
      case 'number':
        return n.real(toNumber(expression.value))
      case 'symbol':
        return n.real(this.symbol(expression.name))
      case 'constant':
        return this.constant(expression.name)
      case 'sum':
        return expression.terms.reduce((sum, term) => n.plus(sum, this.of(term)), n.real(0))
      case 'product':
        return expression.factors.reduce((product, factor) => n.times(product, this.of(factor)), n.real(1))
      case 'quotient':
        return n.over(this.of(expression.over), this.of(expression.under))
      case 'power':
        return this.watched(n.raised(this.of(expression.base), this.exponent(expression.exponent)))
      case 'percent':
        return n.over(this.of(expression.of), n.real(100))
      case 'degrees':
        return n.times(this.of(expression.of), radian)
      case 'call':
        return this.call(expression.name, expression.args)
      default:
        return n.undefinedValue
    }
  }

  private exponent(of: Expression): Approximate {
    const exact = exactValue(of)
    return exact ? { re: toNumber(exact), im: 0, error: 0 } : this.of(of)
  }

  private constant(name: 'pi' | 'e' | 'i' | 'infinity'): Approximate {
    if (name === 'i') return i
    return name === 'infinity' ? n.undefinedValue : n.real(name === 'pi' ? Math.PI : Math.E)
  }

  private watched(value: Approximate): Approximate {
    if (value.im !== 0) this.leftTheReals = true
    return value
  }

  private call(name: string, args: readonly Expression[]): Approximate {
    const values = args.map((arg) => this.of(arg))
    const [a, b] = values
    if (a === undefined) return n.undefinedValue
    if (name.startsWith('f ')) return unnamedFunction(name, values)
    if (name === 'ln' || name === 'log' || name === 'lg') return this.logarithm(name, a, b)
    if (name === 'exp') return n.exponential(a)
    if (name === 'sqrt') return this.watched(n.raised(a, { re: 0.5, im: 0, error: 0 }))
    if (name === 'cbrt') return this.root(a, n.real(3))
    if (name === 'abs') return { re: n.size(a), im: 0, error: a.error }
    if (name === 'root') return b ? this.root(a, b) : n.undefinedValue
    const exact = exactValue({ kind: 'call', name, args })
    if (exact) return n.real(toNumber(exact))
    if (name === 'binom' && b) return this.binomial(a, b)
    const known = realFunctions.get(name)
    return known && b === undefined ? n.applied(known.value, known.slope, a) : n.undefinedValue
  }

  private logarithm(name: string, of: Approximate, base: Approximate | undefined): Approximate {
    const value = this.watched(n.logarithm(of))
    if (base !== undefined) return n.over(value, n.logarithm(base))
    return name === 'lg' ? n.over(value, n.logarithm(ten)) : value
  }

  /** An odd root of a negative number is the real root. */
  private root(of: Approximate, degree: Approximate): Approximate {
    const exponent = n.over(n.real(1), degree)
    if (of.im !== 0 || of.re >= 0 || degree.re % 2 !== 1) return this.watched(n.raised(of, exponent))
    return n.times(n.real(-1), n.raised({ ...of, re: -of.re }, exponent))
  }

  /** n (n-1) ... (n-k+1) / k! for a small integer k. */
  private binomial(of: Approximate, { re: count }: Approximate): Approximate {
    if (!(Number.isInteger(count) && count >= 0 && count <= 30)) return n.undefinedValue
    let value = n.real(1)
    for (let k = 0; k < count; k++) {
      value = n.over(n.times(value, n.plus(of, n.real(-k))), n.real(k + 1))
    }
    return value
  }
}

const points = 16
const wanted = 4
const relative = 1e-13

/** A value accurate to about ten digits. null: undefined, too inaccurate, or the expression has symbols. */
export function constantValue(of: Expression): Approximate | null {
  if (namesIn(of).length > 0) return null
  const value = new Evaluation(() => Number.NaN).of(of)
  return isGood(value) ? value : null
}

/** Whether both agree wherever both are real, at points derived from the names of their symbols. */
export function agree(a: Expression, b: Expression): boolean {
  return samePoints([a, b], ([left, right]) => left !== undefined && right !== undefined && near(left, right))
}

/** The number c with a = c b at all tested points. null: none, infinite, or zero. */
export function constantRatio(a: Expression, b: Expression): number | null {
  let ratio: number | null = null
  const constant = samePoints([a, b], ([left, right]) => {
    if (!left || !right || left.im !== 0 || right.im !== 0) return false
    const quotient = left.re / right.re
    const isFirst = ratio === null
    ratio ??= quotient
    const error = (left.error + Math.abs(quotient) * right.error) / Math.abs(right.re)
    return isFirst || Math.abs(quotient - ratio) <= 20 * error + 1e-12 * Math.abs(ratio)
  })
  return constant && ratio !== null && Number.isFinite(ratio) && ratio !== 0 ? ratio : null
}

/**
 * Whether the test holds at `wanted` points or more and fails at none. An expression without symbols has one
 * point.
 */
function samePoints(of: readonly Expression[], holds: (values: readonly Approximate[]) => boolean): boolean {
  const names = [...new Set(of.flatMap(namesIn))]
  const needed = names.length === 0 ? 1 : wanted
  const complex = of.some(isComplex)
  let good = 0
  for (let k = 0; k < points; k++) {
    const evaluation = new Evaluation((name) => coordinate(name, k))
    const values = of.map((expression) => evaluation.of(expression))
    const usable = values.every(isGood) && (complex || needed === 1 || !evaluation.leftTheReals)
    if (usable && !holds(values)) return false
    if (usable) good++
    if (needed === 1) break
  }
  return good >= needed
}

const isGood = (value: Approximate): boolean =>
  Number.isFinite(value.re) &&
  Number.isFinite(value.im) &&
  value.error <= 1e-10 * Math.max(1e-2, n.size(value))

function near(a: Approximate, b: Approximate): boolean {
  const distance = Math.hypot(a.re - b.re, a.im - b.im)
  return distance <= 4 * (a.error + b.error) + relative * Math.max(n.size(a), n.size(b))
}

/** Positive first, then of either sign, then between 0 and 1 for functions that are only defined there. */
function coordinate(name: string, point: number): number {
  const value = hash(`${name} ${point}`)
  if (point < 4) return value
  if (point < 10) return hash(`${point} ${name}`) > 1.05 ? -2 * value : 2 * value
  return value / (point < 13 ? 2.2 : -2.2)
}

function isComplex(of: Expression): boolean {
  return (of.kind === 'constant' && of.name === 'i') || children(of).some(isComplex)
}
