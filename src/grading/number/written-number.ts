import { answerAt } from '../answer-place.ts'
import { asciiDigits } from '../digits.ts'
import { boxContents } from '../latex/box.ts'
import { afterThink } from '../think.ts'
import { unsigned } from './decimal.ts'
import { type Fraction, fractions, readFraction } from './fraction.ts'

const digits = `(?:${unsigned}|\\.[0-9]+)(?:[eE][+-]?[0-9]{1,3})?(?![\\p{N}]|[.,][0-9]|[eE][+-]?[0-9])`
const signed = `(?:(?<![^\\s(=:$[{])[+-])?(?:\\\\?[$€£¥])?${digits}`
const written = new RegExp(
  `(-?)\\\\[dt]?frac\\{(-?${digits})\\}\\{(${digits})\\}|(?<![\\p{L}\\p{N}_.,])(${signed})(?:[ ]?/[ ]?(${digits}))?`,
  'gu',
)
const currency = /\\?[$€£¥]/

/** Every number of a text, left to right: decimals with commas and exponents, `3/4`, `\frac{3}{4}`; digits inside a word are none. */
const writtenNumbers = (text: string): string[] => found(plainText(text)).map(({ number }) => number)

/** Digits of any script in ASCII, and the typographic minus; powers and fractions in one character stay apart. */
const plainText = (text: string): string => asciiDigits(text.replaceAll('−', '-'))

function found(text: string): { readonly number: string; readonly at: number }[] {
  return Array.from(
    text.matchAll(written),
    ({ index: at, 1: sign, 2: top, 3: bottom, 4: number, 5: divisor }) => {
      if (top !== undefined) return { number: `${sign}${top}/${bottom}`, at }
      return { number: `${number?.replace(currency, '')}${divisor === undefined ? '' : `/${divisor}`}`, at }
    },
  )
}

/** The exact value of one written number; null: a division by zero, or more than 4300 digits. */
export function valueOfNumber(number: string): Fraction | null {
  const [top, bottom] = number.split('/').map((part) => readFraction(decimal(part)))
  if (!top) return null
  return bottom === undefined ? top : bottom && fractions.divide(top, bottom)
}

/** `--` is left where `\frac` and its numerator both carry a minus. */
const decimal = (number: string): string =>
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
    if ('reason' in stated) return stated
    const sole = soleNumber(stated.text)
    return 'reason' in sole ? sole : lastNumber(stated.text)
  }
  return lastNumber(answer)
}

function lastNumber(text: string): { readonly number: string } | { readonly reason: string } {
  const plain = plainText(text)
  const last = found(plain).at(-1)
  if (last === undefined) return { reason: 'no_number' }
  return hedge.test(plain.slice(Math.max(0, last.at - 40), last.at))
    ? { reason: 'hedged' }
    : { number: last.number }
}

/** What takes back the number that follows it, or makes it one of several. */
const hedge = /(?:\b(?:or|nor|not|rule[sd]? out)|n['’]t)\s+(?:be\s+|equal\s+(?:to\s+)?|exactly\s+)?[$\\(*]*$/i

const marks = { hashes: '####', tag: '<answer>' }

/** The only number of a text. */
export function soleNumber(text: string): { readonly number: string } | { readonly reason: string } {
  const [number, other] = writtenNumbers(text)
  if (number === undefined) return { reason: 'no_number' }
  return other === undefined ? { number } : { reason: 'several_numbers' }
}
