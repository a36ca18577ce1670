import { maxIntegerDigits } from '../digits.ts'
import { whiteSpace } from '../white-space.ts'
import { type Fraction, fractions } from './fraction.ts'
import { type Algebra, evaluate, type Token } from './operators.ts'

/** A sum as people write it, read once. */
export interface ExactExpression {
  /** Its integers, left to right. */
  readonly integers: readonly bigint[]
  /** Its exact value; null: a division by zero. */
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

/** One expression of integers without leading zeros, `+ - * / × ÷ −` and brackets paired by kind; null: anything else. */
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
