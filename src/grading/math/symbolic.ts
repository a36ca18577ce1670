import { OverBudget } from './budget.ts'
import { equalAnswers } from './compare.ts'
import { children, type Expression } from './expression.ts'
import { constantValue } from './numeric.ts'
import { plainForm } from './plain-form.ts'
import { readAnswer } from './read-answer.ts'

const worded: ReadonlySet<string> = new Set([
  'measured',
  'degrees',
  'percent',
  'relation',
  'list',
  'set',
  'numeral',
])
const how = { precision: 15, strict: true, relationAsSet: false }

/**
 * What published graders ask a system of algebra: whether it finds two texts equal, or both are numbers, pi apart, within a
 * relative `tolerance`. Words, units and separators of thousands are no algebra.
 */
export function symbolicallyEqual(a: string, b: string, tolerance: number): boolean {
  if (a.includes('{,}') || b.includes('{,}')) return false
  const [left, right] = [readAnswer(a), readAnswer(b)]
  if (left === null || right === null || worded.has(left.kind) || worded.has(right.kind)) return false
  try {
    return equalAnswers(left, right, how) !== null || near(plainForm(left), plainForm(right), tolerance)
  } catch (error) {
    if (error instanceof OverBudget) return false
    throw error
  }
}

function near(a: Expression, b: Expression, tolerance: number): boolean {
  if (hasConstant(a) || hasConstant(b)) return false
  const [x, y] = [constantValue(a), constantValue(b)]
  if (x === null || y === null) return false
  const size = Math.max(Math.hypot(x.re, x.im), Math.hypot(y.re, y.im))
  return Math.hypot(x.re - y.re, x.im - y.im) <= tolerance * size
}

const hasConstant = (of: Expression): boolean => of.kind === 'constant' || children(of).some(hasConstant)
