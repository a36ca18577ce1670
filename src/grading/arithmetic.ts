import { maxIntegerDigits, whiteSpace } from './characters.ts'

/** A token of an arithmetic text: an operand or an operator. */
export type Token<V> = { readonly value: V } | '+' | '-' | '*' | '/' | '(' | ')' | '[' | ']'

/** The meaning of the operators. null: no result (a division by zero, a wrong type). */
export interface Algebra<V> {
  add(a: V, b: V): V | null
  subtract(a: V, b: V): V | null
  multiply(a: V, b: V): V | null
  divide(a: V, b: V): V | null
  negate(a: V): V | null
}

type Operator = '+' | '-' | '*' | '/' | 'negate'

const strength: Record<Operator, number> = { '+': 1, '-': 1, '*': 2, '/': 2, negate: 3 }
const partner = { ')': '(', ']': '[' } as const

/**
 * Evaluates an infix expression with unary minus. null if the tokens are not one expression or it has no
 * result. Iterative, so any depth is safe.
 */
export function evaluate<V>(tokens: Iterable<Token<V>>, algebra: Algebra<V>): V | null {
  const values: V[] = []
  const waiting: (Operator | '(' | '[')[] = []
  let wantsOperand = true
  for (const token of tokens) {
    if (typeof token === 'object') {
      if (!wantsOperand) return null
      values.push(token.value)
      wantsOperand = false
    } else if (token === '(' || token === '[') {
      if (!wantsOperand) return null
      waiting.push(token)
    } else if (token === ')' || token === ']') {
      if (wantsOperand || !settle(values, waiting, 0, algebra)) return null
      if (waiting.pop() !== partner[token]) return null
    } else if (wantsOperand) {
      if (token !== '-') return null
      waiting.push('negate')
    } else {
      if (!settle(values, waiting, strength[token], algebra)) return null
      waiting.push(token)
      wantsOperand = true
    }
  }
  if (wantsOperand || !settle(values, waiting, 0, algebra) || waiting.length > 0) return null
  return values[0] ?? null
}

/** Applies pending operators of at least this precedence, back to the innermost open bracket. */
function settle<V>(
  values: V[],
  waiting: (Operator | '(' | '[')[],
  atLeast: number,
  algebra: Algebra<V>,
): boolean {
  for (let top = waiting.at(-1); top !== undefined; top = waiting.at(-1)) {
    if (top === '(' || top === '[' || strength[top] < atLeast) return true
    waiting.pop()
    const b = values.pop() as V
    const result = top === 'negate' ? algebra.negate(b) : applied(top, values.pop() as V, b, algebra)
    if (result === null) return false
    values.push(result)
  }
  return true
}

function applied<V>(operator: '+' | '-' | '*' | '/', a: V, b: V, algebra: Algebra<V>): V | null {
  if (operator === '+') return algebra.add(a, b)
  if (operator === '-') return algebra.subtract(a, b)
  return operator === '*' ? algebra.multiply(a, b) : algebra.divide(a, b)
}

/** An exact rational number with a positive denominator. */
export interface Fraction {
  readonly numerator: bigint
  readonly denominator: bigint
}

/** Exact arithmetic. Fractions are not reduced. */
export const fractions: Algebra<Fraction> = {
  add: (a, b) => sum(a, b.numerator, b.denominator),
  subtract: (a, b) => sum(a, -b.numerator, b.denominator),
  multiply: (a, b) => ({
    numerator: a.numerator * b.numerator,
    denominator: a.denominator * b.denominator,
  }),
  divide: (a, b) => {
    if (b.numerator === 0n) return null
    const sign = b.numerator < 0n ? -1n : 1n
    return {
      numerator: a.numerator * b.denominator * sign,
      denominator: a.denominator * b.numerator * sign,
    }
  },
  negate: ({ numerator, denominator }) => ({ numerator: -numerator, denominator }),
}

const sum = (a: Fraction, numerator: bigint, denominator: bigint): Fraction =>
  a.denominator === denominator
    ? { numerator: a.numerator + numerator, denominator }
    : {
        numerator: a.numerator * denominator + numerator * a.denominator,
        denominator: a.denominator * denominator,
      }

/**
 * @example
 * ```ts
 * import { equalFractions, readFraction } from 'reward-gateway/grading'
 *
 * const [half, same] = [readFraction('0.5'), readFraction('5e-1')]
 * const isEqual = half !== null && same !== null && equalFractions(half, same) // true
 * ```
 */
export const equalFractions = (a: Fraction, b: Fraction): boolean =>
  a.numerator * b.denominator === b.numerator * a.denominator

/**
 * Reads an integer, a decimal or a number with an exponent (`10`, `-2.50`, `1e-7`) exactly. null for other
 * texts and exponents above 400.
 *
 * @example
 * ```ts
 * import { readFraction } from 'reward-gateway/grading'
 *
 * readFraction('-2.50') // { numerator: -250n, denominator: 100n }
 * ```
 */
export function readFraction(text: string): Fraction | null {
  const [, sign, integer = '', decimals = '', exponent = '0'] =
    /^([+-]?)([0-9]+)(?:\.([0-9]*))?(?:[eE]([+-]?[0-9]{1,4}))?$/.exec(text) ?? []
  const shift = Number(exponent) - decimals.length
  if (
    sign === undefined ||
    integer.length + decimals.length > maxIntegerDigits ||
    Math.abs(Number(exponent)) > 400
  ) {
    return null
  }
  const digits = BigInt(sign + integer + decimals)
  const scale = 10n ** BigInt(Math.abs(shift))
  return shift < 0
    ? { numerator: digits, denominator: scale }
    : { numerator: digits * scale, denominator: 1n }
}

/** An arithmetic expression as people write it. */
interface ExactExpression {
  /** Its integers, from left to right. */
  readonly integers: readonly bigint[]
  /** Its exact value, or null for a division by zero. */
  value(): Fraction | null
}

const typographic = new Map<string, Token<Fraction>>([
  ['×', '*'],
  ['÷', '/'],
  ['−', '-'],
])
const sign = /^[-+*/()[\]]$/
const token = new RegExp(`[${whiteSpace}]+|(0|[1-9][0-9]*)(?![0-9])|([-+*/()[\\]×÷−])`, 'y')

const anything = (): Fraction => ({ numerator: 1n, denominator: 1n })
const wellFormed: Algebra<Fraction> = {
  add: anything,
  subtract: anything,
  multiply: anything,
  divide: anything,
  negate: anything,
}

/**
 * Reads one expression of integers without leading zeros, `+ - * / × ÷ −` and brackets that match in kind.
 * null for other texts.
 */
export function readExpression(text: string): ExactExpression | null {
  const tokens: Token<Fraction>[] = []
  const integers: bigint[] = []
  token.lastIndex = 0
  for (let at = 0; at < text.length; at = token.lastIndex) {
    const found = token.exec(text)
    if (!found) return null
    const [, digits, mark] = found
    if (digits !== undefined) {
      if (digits.length > maxIntegerDigits) return null
      const integer = BigInt(digits)
      integers.push(integer)
      tokens.push({ value: { numerator: integer, denominator: 1n } })
    } else if (mark !== undefined) {
      tokens.push(sign.test(mark) ? (mark as Token<Fraction>) : (typographic.get(mark) as Token<Fraction>))
    }
  }
  if (!evaluate(tokens, wellFormed)) return null
  return { integers, value: () => evaluate(tokens, fractions) }
}

const choosing = /(?<![\p{L}\d])C\(\s?(\d{1,3})\s?,\s?(\d{1,3})\s?\)/gu
const power = '(?:([⁰¹²³⁴-⁹]{1,2})|\\^\\{?(\\d{1,2})\\}?(?![\\d.^]))'
const powerOfNumber = new RegExp(`(?<![\\d.,^])(\\d{1,9}(?:\\.\\d{1,9})?)${power}`, 'g')
const powerOfBrackets = new RegExp(`(\\((?:[^()]{1,60}|\\([^()]{1,120}\\)){1,3}\\))${power}`, 'g')
const superscripts = '⁰¹²³⁴⁵⁶⁷⁸⁹'
const mostFactors = 20

/** Small powers as products, and `C(9, 2)` as its value, so that a calculation can be read. */
export const spelledOut = (calculation: string): string =>
  calculation
    .replace(choosing, (_, of: string, taken: string) => String(combinations(Number(of), Number(taken))))
    .replace(powerOfNumber, product)
    .replace(powerOfBrackets, product)

function product(written: string, base: string, raised: string | undefined, digits = ''): string {
  const exponent = Number(
    raised === undefined ? digits : Array.from(raised, (sign) => superscripts.indexOf(sign)).join(''),
  )
  return exponent < 1 || exponent > mostFactors ? written : `(${Array(exponent).fill(base).join('*')})`
}

/** How many ways there are to take `taken` of `of` things. */
function combinations(of: number, taken: number): bigint {
  if (taken > of) return 0n
  let ways = 1n
  for (let k = 1; k <= taken; k++) ways = (ways * BigInt(of - k + 1)) / BigInt(k)
  return ways
}
