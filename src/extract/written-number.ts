import { answerAt, boxContents } from './answer-place.ts'
import { unsigned } from './decimal.ts'
import { type Fraction, fractions, readFraction } from './fraction.ts'
import { afterThink } from './think.ts'

const digits = `(?:${unsigned}|\\.[0-9]+)(?:[eE][+-]?[0-9]{1,3})?(?![\\p{N}]|[.,][0-9]|[eE][+-]?[0-9])`
const signed = `(?:(?<![^\\s(=:$[{])[+-])?(?:\\\\?[$€£¥])?${digits}`
const written = new RegExp(
  `(-?)\\\\[dt]?frac\\{(-?${digits})\\}\\{(${digits})\\}|(?<![\\p{L}\\p{N}_.,])(${signed})(?:[ ]?/[ ]?(${digits}))?`,
  'gu',
)
const currency = /\\?[$€£¥]/

/** Every number of a text, left to right: decimals with commas and exponents, `3/4`, `\frac{3}{4}`; digits inside a word are none. */
export function writtenNumbers(text: string): string[] {
  return Array.from(text.matchAll(written), ([, sign, top, bottom, number, divisor]) =>
    top === undefined
      ? `${number?.replace(currency, '')}${divisor === undefined ? '' : `/${divisor}`}`
      : `${sign}${top}/${bottom}`,
  )
}

/** The exact value of one written number; null: a division by zero, or more than 4300 digits. */
export function valueOfNumber(number: string): Fraction | null {
  const [top, bottom] = number.split('/').map((part) => readFraction(plain(part)))
  if (!top) return null
  return bottom === undefined ? top : bottom && fractions.divide(top, bottom)
}

/** `--` is left where `\frac` and its numerator both carry a minus. */
const plain = (number: string): string =>
  number
    .replaceAll(',', '')
    .replace(/^--/, '')
    .replace(/^([+-]?)\./, '$10.')

/** The number that a response ends up with: in its boxes, else after `####`, else in `<answer>`, else its last one. */
export function finalNumber(response: string): { readonly number: string } | { readonly reason: string } {
  const answer = afterThink(response)
  if (answer === null) return { reason: 'thinking_unclosed' }
  for (const place of ['boxed', 'hashes', 'tag'] as const) {
    const marked = place === 'boxed' ? boxContents(answer).length > 0 : answer.includes(marks[place])
    if (!marked) continue
    const stated = answerAt(answer, place)
    return 'text' in stated ? soleNumber(stated.text) : stated
  }
  const number = writtenNumbers(answer).at(-1)
  return number === undefined ? { reason: 'no_number' } : { number }
}

const marks = { hashes: '####', tag: '<answer>' }

/** The only number of a text. */
export function soleNumber(text: string): { readonly number: string } | { readonly reason: string } {
  const [number, other] = writtenNumbers(text)
  if (number === undefined) return { reason: 'no_number' }
  return other === undefined ? { number } : { reason: 'several_numbers' }
}
