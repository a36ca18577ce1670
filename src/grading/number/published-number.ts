/** How published graders find a number: by pattern, as text, faults included. */
import { lastCodePoints } from '../code-points.ts'
import { whiteSpace } from '../white-space.ts'

const numeral = '-?[0-9.,]+'
const space = `[${whiteSpace}]*`

const afterHashes = new RegExp(`#### (${numeral})`)
const afterHashesAnywhere = new RegExp(`#### (${numeral})`, 'g')
const afterHashesLoose = new RegExp(`####${space}(${numeral})`)
const inBox = new RegExp(`\\\\boxed\\{(${numeral})\\}`)
const afterPhrase = new RegExp(`(?:answer|result|total)${space}(?:is|[=:])${space}\\**(${numeral})`, 'i')
const loose = /-?[\p{Nd},]+\.?\p{Nd}*/gu
const looseAscii = /-?[0-9.,]+/g

const withoutCommas = (text: string | undefined): string | null => text?.replaceAll(',', '') ?? null

/** The text after the first `#### `, commas removed; may be `.`, `-` or empty. */
export const firstHashNumber = (text: string): string | null => withoutCommas(afterHashes.exec(text)?.[1])

/** The same with any white space, else of the first numeric box, else after `answer is`, `total:` and the like. */
export function firstStatedNumber(text: string): string | null {
  const found = afterHashesLoose.exec(text) ?? inBox.exec(text) ?? afterPhrase.exec(text)
  return withoutCommas(found?.[1])
}

/** The text after the last `#### ` of the last 300 code points, commas removed. */
export function lastHashNumber(text: string): string | null {
  const found = [...lastCodePoints(text, 300).matchAll(afterHashesAnywhere)]
  return withoutCommas(found.at(-1)?.[1])
}

/** The last run of digits of any script, commas and final dots removed; `dropZero`: also one `.0` at its end. */
export function lastLooseNumber(text: string, dropZero: boolean): string | null {
  // From the end, stretch by stretch of what numbers are made of: most answers end with the one that counts.
  for (let at = text.length - 1; at >= 0; at--) {
    if (!isOfNumbers(text.charCodeAt(at))) continue
    const end = at + 1
    while (at > 0 && isOfNumbers(text.charCodeAt(at - 1))) at--
    const number = lastOfStretch(text.slice(at, end))
    if (number !== null) return dropZero && number.endsWith('.0') ? number.slice(0, -2) : number
  }
  return null
}

/** Comma, minus, dot, the digits and, for digits of other scripts, all that is not ASCII. */
const isOfNumbers = (code: number): boolean => (code > 0x39 ? code > 0x7f : code >= 0x2c && code !== 0x2f)

function lastOfStretch(stretch: string): string | null {
  if (/^[-,.]*$/.test(stretch)) return null
  const found = stretch.match(loose) ?? []
  for (let i = found.length - 1; i >= 0; i--) {
    const number = withoutFinalDots((found[i] ?? '').replaceAll(',', ''))
    if (number !== '' && number !== '-') return number
  }
  return null
}

/** The last run of digits, dots and commas, as it stands; where all are dots, the first. */
export function lastNumeral(text: string): string | null {
  const found = text.match(looseAscii) ?? []
  return found.findLast((numeral) => numeral !== '.') ?? found[0] ?? null
}

function withoutFinalDots(text: string): string {
  let end = text.length
  while (text[end - 1] === '.') end--
  return text.slice(0, end)
}
