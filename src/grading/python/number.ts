import { asciiDigits, maxIntegerDigits } from '../digits.ts'
import { trimSpace } from '../white-space.ts'

const digits = '[0-9](?:_?[0-9])*'
const float = new RegExp(`^[+-]?(?:${digits}(?:\\.(?:${digits})?)?|\\.${digits})(?:[eE][+-]?${digits})?$`)
const integer = new RegExp(`^[+-]?${digits}$`)
const special = /^([+-]?)(inf|infinity|nan)$/i

/** A text as Python's float() reads it: white space around, any decimal digits, `_` between digits, inf, nan; null: none. */
export function readFloat(text: string): number | null {
  const ascii = asciiDigits(trimSpace(text))
  if (float.test(ascii)) return Number(ascii.replaceAll('_', ''))
  const named = special.exec(ascii)
  if (!named) return null
  if (named[2]?.toLowerCase() === 'nan') return Number.NaN
  return named[1] === '-' ? Number.NEGATIVE_INFINITY : Number.POSITIVE_INFINITY
}

/** A text as Python's int() reads it; null: none, or more than 4300 digits. */
export function readInteger(text: string): bigint | null {
  const ascii = asciiDigits(trimSpace(text))
  if (!integer.test(ascii)) return null
  const plain = ascii.replace(/[+_-]/g, '')
  if (plain.length > maxIntegerDigits) return null
  return ascii.startsWith('-') ? -BigInt(plain) : BigInt(plain)
}
