import { compatible } from '../compatible.ts'
import { trimSpace } from '../white-space.ts'

/** Digits, plain or with commas between groups of three, and decimals; inside a pattern. */
export const unsigned = '(?:[0-9]{1,3}(?:,[0-9]{3})+(?![0-9])|[0-9]+)(?:\\.[0-9]+)?'

const whole = new RegExp(`^([+-]?)(${unsigned})$`)
const currency = /^([+-]?)(?:\\?\$|[€£¥])([+-]?)/

/** A number's one spelling, so that equal values are equal texts: no commas, sign, outer zeros; null: not a number. */
export function readDecimal(text: string): string | null {
  const found = whole.exec(text)
  if (!found) return null
  const [integer = '', decimals = ''] = (found[2] ?? '').replaceAll(',', '').split('.')
  let start = 0
  while (start < integer.length - 1 && integer[start] === '0') start++
  let end = decimals.length
  while (end > 0 && decimals[end - 1] === '0') end--
  const value = integer.slice(start) + (end > 0 ? `.${decimals.slice(0, end)}` : '')
  return found[1] === '-' && value !== '0' ? `-${value}` : value
}

/** A ground truth's number: a JSON number, or a text with white space, a currency sign or commas; null: no number. */
export function decimalOf(truth: unknown): string | null {
  if (typeof truth === 'number') return readDecimal(String(truth))
  if (typeof truth !== 'string') return null
  const plain = trimSpace(compatible(truth)).replace(currency, (_, before, after) => before + after)
  return readDecimal(plain)
}
