import { type Approximate, size } from './approximate.ts'
import { Evaluation } from './evaluate.ts'
import { children, type Expression } from './expression.ts'
import { hash } from './functions.ts'

const points = 16
const wanted = 4
const relative = 1e-13

/** A value good to about ten digits; null: undefined or lost in rounding. Symbols make it null too. */
export function constantValue(of: Expression): Approximate | null {
  if (symbols(of).length > 0) return null
  const value = new Evaluation(() => Number.NaN).of(of)
  return isGood(value) ? value : null
}

/** Whether the two agree wherever both are real, at points drawn from the names of their symbols. */
export function agree(a: Expression, b: Expression): boolean {
  return samePoints([a, b], ([left, right]) => left !== undefined && right !== undefined && near(left, right))
}

/** The number c with a = c b at all points tried; null: there is none, or it is not finite, or zero. */
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

/** Holds at `wanted` points or more and fails at none. An expression without symbols has one point. */
function samePoints(of: readonly Expression[], holds: (values: readonly Approximate[]) => boolean): boolean {
  const names = [...new Set(of.flatMap(symbols))]
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
  Number.isFinite(value.re) && Number.isFinite(value.im) && value.error <= 1e-10 * Math.max(1e-2, size(value))

function near(a: Approximate, b: Approximate): boolean {
  const distance = Math.hypot(a.re - b.re, a.im - b.im)
  return distance <= 4 * (a.error + b.error) + relative * Math.max(size(a), size(b))
}

/** Positive first, then of either sign, then between 0 and 1 for functions that live there. */
function coordinate(name: string, point: number): number {
  const value = hash(`${name} ${point}`)
  if (point < 4) return value
  if (point < 10) return hash(`${point} ${name}`) > 1.05 ? -2 * value : 2 * value
  return value / (point < 13 ? 2.2 : -2.2)
}

function symbols(of: Expression): string[] {
  return of.kind === 'symbol' ? [of.name] : children(of).flatMap(symbols)
}

function isComplex(of: Expression): boolean {
  return (of.kind === 'constant' && of.name === 'i') || children(of).some(isComplex)
}
