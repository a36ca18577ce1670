import { isSpace } from '../white-space.ts'
import { readDecimal } from './decimal.ts'

/** The one spelling of the last number of a text; undefined: it has no digits; null: the last one is not readable (`1,8`). */
export function lastNumber(text: string): string | null | undefined {
  let end = text.length
  while (end > 0 && !isDigit(text.charAt(end - 1))) end--
  if (end === 0) return undefined
  let start = end
  while (start > 0 && isNumeral(text.charAt(start - 1))) start--
  const ellipsis = /^(?:,|\.\.)[.,]*/.exec(text.slice(start, end))
  start += ellipsis?.[0].length ?? 0
  return readDecimal(signBefore(text, start) + text.slice(start, end))
}

const isDigit = (unit: string): boolean => unit >= '0' && unit <= '9'
const isNumeral = (unit: string): boolean => isDigit(unit) || unit === '.' || unit === ','

/** A minus is a sign only where no operand stands before it. */
function signBefore(text: string, at: number): string {
  if (text[at - 1] !== '-') return ''
  const before = text.charAt(at - 2)
  return before === '' || isSpace(before) || '=($:'.includes(before) ? '-' : ''
}
