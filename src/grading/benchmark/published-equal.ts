import { symbolicallyEqual } from '../math/index.ts'
import { insides, isNearOrPercent } from '../math-equal.ts'
import { readFloat } from '../python/number.ts'
import { trimSpace } from '../white-space.ts'
import { gradedChoice } from './published-choice.ts'

const isLetter = (text: string): boolean => /^[A-E]$/.test(text)
const deepest = 20

/** Whether Qwen2.5-Math's grader takes the two for equal; its symbolic step is done by our own algebra. */
export function publishedEqual(answer: string, truth: string, depth = deepest): boolean {
  if (trimSpace(answer).toLowerCase() === trimSpace(truth).toLowerCase()) return true
  if (isLetter(truth) && gradedChoice(answer) === truth) return true
  const [a, b] = [floatOf(answer), floatOf(truth)]
  if (a !== null && b !== null) return isNearOrPercent(a, b)
  if (answer === '' || depth === 0) return false
  return structurallyEqual(trimSpace(answer), asMatrix(trimSpace(answer), trimSpace(truth)), depth)
}

function structurallyEqual(answer: string, truth: string, depth: number): boolean {
  const [plain, plainTruth] = insides(answer, truth)
  if (plain.toLowerCase() === plainTruth.toLowerCase()) return true
  const same = (a: string, b: string): boolean => publishedEqual(a, b, depth - 1)
  const all = (a: readonly string[], b: readonly string[]): boolean =>
    a.length === b.length && a.every((part, k) => same(part, b[k] ?? ''))
  if (isBracketed(answer) && isBracketed(truth)) {
    if (all(answer.slice(1, -1).split(','), truth.slice(1, -1).split(','))) return true
  }
  const [rows, wanted] = [matrixRows(answer), matrixRows(truth)]
  if (rows && wanted && rows.length === wanted.length && rows.every((row, k) => all(row, wanted[k] ?? [])))
    return true
  const [left, right, ...more] = answer.split('=', 3)
  const [trueLeft, trueRight, ...trueMore] = truth.split('=', 3)
  const isEquation = right !== undefined && more.length === 0
  const truthIsEquation = trueRight !== undefined && trueMore.length === 0
  if (isEquation && truthIsEquation) {
    const [one, other] = [
      `${trimSpace(left ?? '')} - (${trimSpace(right)})`,
      `${trimSpace(trueLeft ?? '')} - (${trimSpace(trueRight)})`,
    ]
    if (sameExpression(one, other) || sameExpression(`-(${one})`, other)) return true
  } else if (isEquation && isShort(left) && trueRight === undefined) {
    if (same(right, truth)) return true
  } else if (truthIsEquation && isShort(trueLeft) && right === undefined && same(answer, trueRight))
    return true
  return sameExpression(answer, truth)
}

const sameExpression = (a: string, b: string): boolean => a === b || symbolicallyEqual(a, b, 1e-4)

const isShort = (side: string | undefined): boolean => [...trimSpace(side ?? '')].length <= 2

/** Python's `float`, without commas; else a hundredth of what a percent sign follows. null: neither. */
function floatOf(text: string): number | null {
  const plain = text.replaceAll(',', '')
  const number = readFloat(plain)
  if (number !== null || !plain.endsWith('%')) return number
  const hundredfold = readFloat(plain.slice(0, plain.endsWith('\\%') ? -2 : -1))
  return hundredfold === null ? null : hundredfold / 100
}

/** A truth `{a,b}` beside a matrix is a column of its items. */
function asMatrix(answer: string, truth: string): string {
  if (!answer.includes('pmatrix') || truth.includes('pmatrix')) return truth
  const open = truth.indexOf('{')
  const close = truth.lastIndexOf('}')
  const inner = open < 0 || close < open ? '' : truth.slice(open + 1, close)
  return inner.includes(',')
    ? `\\begin{pmatrix}${strippedBraces(inner).replaceAll(',', '\\')}\\end{pmatrix}`
    : ''
}

const strippedBraces = (text: string): string => text.replace(/^[{}]+/, '').replace(/(?<![{}])[{}]+$/, '')

const isBracketed = (text: string): boolean =>
  text.length > 2 && /^[([]/.test(text) && /[)\]]/.test(text.slice(2))

function matrixRows(text: string): string[][] | null {
  const inner = /^\\begin\{[pb]matrix\}([\s\S]*)\\end\{[pb]matrix\}$/.exec(text)?.[1]
  if (inner === undefined) return null
  const rows = inner.split('\\\\').map(trimSpace)
  return rows.filter((row) => row !== '').map((row) => row.split('&').map(trimSpace))
}
