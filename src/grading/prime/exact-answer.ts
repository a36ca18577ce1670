import { hidesAnswer, mathNormal } from '../latex/math-normal.ts'
import { symbolicallyEqual } from '../math/index.ts'
import { equalFractions, type Fraction, fractions, readFraction } from '../number/fraction.ts'
import { trimSpace } from '../white-space.ts'
import { tupleElements } from './normal.ts'

/** Longer answers are equal only as texts. */
const maxLength = 2000

/**
 * Whether an answer is the truth: a number exactly, anything else as a text after MATH's normalisation, element by element,
 * or as an expression. No percentages, no tolerance.
 */
export function exactAnswer(given: string, truth: string): boolean {
  const answer = spelled(given)
  const wanted = spelled(truth)
  if (answer === null || wanted === null || answer === '') return false
  const number = rational(wanted)
  if (number) {
    const other = rational(answer)
    return other !== null && equalFractions(number, other)
  }
  if (answer === wanted) return true
  if (answer.length > maxLength || wanted.length > maxLength || rational(answer)) return false
  const elements = tupleElements(wanted)
  if (elements.length > 1) return tuplesAgree(answer, wanted, elements)
  return symbolicallyEqual(bare(given), bare(truth), 0)
}

function tuplesAgree(answer: string, wanted: string, elements: readonly string[]): boolean {
  const others = tupleElements(answer)
  const bracketed = answer[0] === wanted[0] && answer.at(-1) === wanted.at(-1)
  return (
    bracketed &&
    others.length === elements.length &&
    elements.every((one, i) => exactAnswer(others[i] ?? '', one))
  )
}

/** MATH's spelling without `$`, a final dot and one pair of outer braces; null: none, or a unit that states more. */
function spelled(text: string): string | null {
  if (hidesAnswer(text)) return null
  const normal = mathNormal(bare(text))
  const whole = normal?.startsWith('{') && normal.indexOf('}') === normal.length - 1
  return whole ? (normal?.slice(1, -1) ?? null) : normal
}

const bare = (text: string): string => trimSpace(text.replaceAll('$', '')).replace(/\.$/, '')

/** An integer, a decimal or a quotient of two, thousands with commas, as an exact number; null: anything else. */
function rational(text: string): Fraction | null {
  const [, sign = '', above, below] =
    /^(-?)(?:\\frac\{([^{}]+)\}\{([^{}]+)\})$/.exec(text) ?? /^(-?)([^/]+)(?:\/([^/]+))?$/.exec(text) ?? []
  const numerator = decimal(above ?? '')
  const denominator = below === undefined ? readFraction('1') : decimal(below)
  const value = numerator && denominator ? fractions.divide(numerator, denominator) : null
  return value && sign === '-' ? fractions.negate(value) : value
}

function decimal(text: string): Fraction | null {
  if (/[eE]/.test(text)) return null
  const plain = /^[+-]?[0-9]{1,3}(?:,[0-9]{3})+(?:\.|$)/.test(text) ? text.replaceAll(',', '') : text
  return readFraction(plain.replace(/^([+-]?)\./, '$10.'))
}
