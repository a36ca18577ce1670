import type { Approximate } from './approximate.ts'
import * as n from './approximate.ts'
import { exactValue } from './exact.ts'
import type { Expression } from './expression.ts'
import { realFunctions, unnamedFunction } from './functions.ts'
import { toNumber } from './rational.ts'

const i: Approximate = { re: 0, im: 1, error: 0 }
const ten = n.real(10)
const radian = n.real(Math.PI / 180)

/** An expression's value where its symbols have values. Work is linear in its nodes; never throws on its own. */
export class Evaluation {
  /** Set where a root or logarithm of something negative was taken on the way. */
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

  /** Of odd degree: the real root of a negative number. */
  private root(of: Approximate, degree: Approximate): Approximate {
    const exponent = n.over(n.real(1), degree)
    if (of.im !== 0 || of.re >= 0 || degree.re % 2 !== 1) return this.watched(n.raised(of, exponent))
    return n.times(n.real(-1), n.raised({ ...of, re: -of.re }, exponent))
  }

  /** n (n-1) ... (n-k+1) / k! for a small whole k. */
  private binomial(of: Approximate, { re: count }: Approximate): Approximate {
    if (!(Number.isInteger(count) && count >= 0 && count <= 30)) return n.undefinedValue
    let value = n.real(1)
    for (let k = 0; k < count; k++) {
      value = n.over(n.times(value, n.plus(of, n.real(-k))), n.real(k + 1))
    }
    return value
  }
}
