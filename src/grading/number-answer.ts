import { isForeignUnit, isOtherQuantity } from './answer/asked-unit.ts'
import { withDecimalPoints } from './answer/decimal-comma.ts'
import { type AnswerKind, type AnswerPlace, type FinalAnswer, finalAnswer } from './answer/final-answer.ts'
import {
  foreignDenial,
  hasForeignBracket,
  hasForeignWords,
  hasStrayWords,
  isOtherLanguage,
} from './answer/known-words.ts'
import { undressed } from './answer/legible.ts'
import {
  numberKind,
  ownRest,
  plainDigits,
  plainNumberKind,
  truthNumber,
  type WholeNumber,
} from './answer/number.ts'
import { announcedNumber, unmarkedNumber } from './answer/unmarked-number.ts'
import { equalFractions, type Fraction } from './arithmetic.ts'
import { compatible, isSpace, lastCodePoints, trimSpace, whiteSpace } from './characters.ts'

/** A pattern for digits with an optional fraction. Commas may separate groups of three. */
const unsigned = '(?:[0-9]{1,3}(?:,[0-9]{3})+(?![0-9])|[0-9]+)(?:\\.[0-9]+)?'

const whole = new RegExp(`^([+-]?)(${unsigned})$`)
const leadingCurrency = /^([+-]?)(?:\\?\$|[€£¥])([+-]?)/

/**
 * Normalises a number so that equal values are equal texts: no commas, plus sign or outer zeros. null: not a
 * number.
 *
 * @example
 * ```ts
 * import { readDecimal } from 'reward-gateway/grading'
 *
 * readDecimal('+1,234.50') // '1234.5'
 * ```
 */
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

/**
 * A ground truth's number: a JSON number, or a text that may have white space, a currency sign or commas.
 * null: no number.
 */
export function decimalOf(truth: unknown): string | null {
  if (typeof truth === 'number') return readDecimal(String(truth))
  if (typeof truth !== 'string') return null
  const plain = trimSpace(compatible(truth)).replace(leadingCurrency, (_, before, after) => before + after)
  return readDecimal(plain)
}

/**
 * The last number of a text, normalised. undefined: there are no digits. null: the last number is malformed
 * (`1,8`).
 *
 * @example
 * ```ts
 * import { lastNumber } from 'reward-gateway/grading'
 *
 * lastNumber('3 apples and 4 pears') // '4'
 * ```
 */
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

/** A minus is a sign only if no operand precedes it. */
function signBefore(text: string, at: number): string {
  if (text[at - 1] !== '-') return ''
  const before = text.charAt(at - 2)
  return before === '' || isSpace(before) || '=($:'.includes(before) ? '-' : ''
}

/** True if a line without `####` has a letter or a calculation. A bare answer shows no work. */
function showsWork(text: string): boolean {
  return text
    .split(/[\n\r]/)
    .some((line) => !line.includes('####') && /\p{L}|\d\s?[-+*/×÷=]\s?\$?\d/u.test(line))
}

/**
 * The exact value of one written number. null: a division by zero, or more than 4300 digits.
 *
 * @example
 * ```ts
 * import { valueOfNumber } from 'reward-gateway/grading'
 *
 * valueOfNumber('3/4') // { numerator: 3n, denominator: 4n }
 * ```
 */
export function valueOfNumber(number: string): Fraction | null {
  return truthNumber(number)?.value ?? null
}

/**
 * The final number of a response: in its last box, line after `####`, `<answer>` or announcement, or else its
 * last number.
 *
 * @example
 * ```ts
 * import { finalNumber } from 'reward-gateway/grading'
 *
 * const found = finalNumber('3 apples and 4 pears are 7 pieces.\n#### 7')
 * const number = 'number' in found ? found.number : null // '7'
 * ```
 */
export function finalNumber(
  response: string,
  question?: string,
): { readonly number: string } | { readonly reason: string } {
  const found = finalAnswer(
    withDecimalPoints(response, question ?? ''),
    askedFor(numberKind, question),
    ['boxed', 'hashes', 'tag', 'phrase'],
    (text) => unmarkedNumber(text, question),
  )
  return 'answer' in found ? { number: found.answer.written } : { reason: found.reason }
}

/** Numbers that answer a question: in a mark, words that it does not know leave no answer. */
const askedFor = (kind: AnswerKind<WholeNumber>, question: string | undefined): AnswerKind<WholeNumber> =>
  question === undefined
    ? kind
    : {
        ...kind,
        question,
        read(text, isClosed) {
          const found = (isClosed ? null : announcedNumber(text, question)) ?? kind.read(text, isClosed)
          if ('reason' in found) return found
          const rest = ownRest(found.rest, found.answer, question)
          const isStray = isClosed
            ? hasStrayWords(text, found.rest, found.answer.value, question, rest) ||
              isOtherQuantity(rest, question)
            : goesAstray(text, found.rest, rest, question)
          return isStray || isForeignUnit(found.answer.unit, question, text)
            ? { reason: 'extended' }
            : { ...found, rest }
        },
      }

/** Whether an announcement has unknown words between its verb and its number, or right after the number. */
function goesAstray(text: string, whole: string, rest: string, question: string): boolean {
  const all = undressed(text)
  if (isOtherLanguage(all)) return foreignDenial.test(all)
  const [clause = ''] = rest.split(
    /[.!?。！？](?:\s|$)|[\n(=≈,;:]|\b(?:because|since|as|where|given|when|after|rather|not|instead|than)\b/,
    1,
  )
  if (isOtherQuantity(rest, question)) return true
  return (
    hasForeignWords(all.slice(0, Math.max(0, all.length - whole.length)), question) ||
    hasForeignWords(clause, question, 1) ||
    hasForeignBracket(rest, question)
  )
}

/** The number at one place of a response, or why there is none. */
export function numberAt(
  response: string,
  place: AnswerPlace,
  question?: string,
): { readonly number: string } | { readonly reason: string } {
  const text = withDecimalPoints(response, question ?? '')
  const found = finalAnswer(text, askedFor(numberKind, question), [place])
  return 'answer' in found ? { number: found.answer.written } : { reason: found.reason }
}

/**
 * The only number in a text, or why there is not exactly one.
 *
 * @example
 * ```ts
 * import { soleNumber } from 'reward-gateway/grading'
 *
 * soleNumber('$42') // { number: '42' }
 * ```
 */
export function soleNumber(text: string): { readonly number: string } | { readonly reason: string } {
  return plainDigits.test(text) ? { number: text } : numberAt(text, 'whole')
}

/** The final number that a response states. */
interface NumberAnswer {
  /** The marked number. null: marked, but unusable. undefined: nothing is marked. */
  readonly marked: string | null | undefined
  /** The last number if it counts. null: malformed. undefined: none. */
  readonly loose: string | null | undefined
  /** Code points from the last mark to the end of the text. */
  readonly tail?: number
  readonly reason?: string
}

const nothing = { marked: undefined, loose: undefined }

/**
 * The answer after the thinking: the number after the last `####` (with `boxes`, or in the last box), or else
 * the last number. A response without words shows no work and has no answer, except with `bare`.
 */
export function numberAnswer(
  response: string,
  { boxes = false, bare = false, question = '' } = {},
): NumberAnswer {
  if (!bare && !showsWork(response)) return { ...nothing, reason: 'no_words' }
  const marks = boxes ? (['hashes', 'boxed'] as const) : (['hashes'] as const)
  const found = finalAnswer(response, askedFor(plainNumberKind, question), marks, (text) =>
    looseNumber(text, question),
  )
  if ('reason' in found) {
    if (found.kind === undefined) {
      if (found.reason === 'thinking_unclosed') return { ...nothing, reason: found.reason }
      return { marked: undefined, loose: found.reason === 'no_number' ? undefined : null }
    }
    if (found.reason === 'no_number') return { ...nothing, reason: 'no_number_after_marker' }
    return { marked: null, loose: undefined, reason: found.reason }
  }
  const { answer, kind, tail } = found
  if (kind === null) return { marked: undefined, loose: answer.written }
  return { marked: answer.written, loose: undefined, tail }
}

/** The number that a text without marks announces, or else its last one. */
function looseNumber(text: string, question: string): FinalAnswer<WholeNumber> {
  const found = finalAnswer(text, askedFor(numberKind, question), ['boxed', 'tag', 'phrase'], (tail) =>
    unmarkedNumber(tail, question),
  )
  return 'answer' in found ? { ...found, kind: null } : { reason: found.reason }
}

/** Whether a number of an answer equals a ground truth, by exact value. */
export function equalsTruth(truth: unknown): (given: string) => boolean {
  const wanted = truthNumber(truth)?.value
  let last: { readonly given: string; readonly isEqual: boolean } | undefined
  return (given) => {
    if (last?.given !== given) {
      const value = truthNumber(given)?.value
      last = { given, isEqual: value !== undefined && wanted !== undefined && equalFractions(value, wanted) }
    }
    return last.isEqual
  }
}

/** Details of a score: the number that counts, and why it earns less than full marks. */
export function explained(
  answer: NumberAnswer,
  isRight: (answer: string) => boolean,
): Record<string, string> {
  const { marked, loose } = answer
  const right =
    typeof marked === 'string' && isRight(marked)
      ? marked
      : typeof loose === 'string' && isRight(loose)
        ? loose
        : undefined
  const extracted = right ?? marked ?? loose
  const reason = answer.reason ?? (right ? undefined : extracted ? 'unequal' : 'no_number')
  const details: Record<string, string> = {}
  if (extracted) details.extracted = extracted
  if (reason) details.reason = reason
  return details
}

/** GSM8K's partial credit, in falling order: marked and right, right, marked, any number, nothing. */
export function progressiveCredit(
  { marked, loose }: NumberAnswer,
  isRight: (answer: string) => boolean,
): number {
  if (typeof marked === 'string' && isRight(marked)) return 1
  if (typeof loose === 'string' && isRight(loose)) return 0.8
  if (marked !== undefined) return 0.1
  return loose !== undefined ? 0.05 : 0
}

/** A published grader's result as a NumberAnswer. */
export const publishedNumbers = (marked: string | null, loose: string | null): NumberAnswer => ({
  marked: marked ?? undefined,
  loose: loose ?? undefined,
})

/** How published graders find a number: by pattern, as text, faults included. */

const numeral = '-?[0-9.,]+'
const space = `[${whiteSpace}]*`

const hashes = '#### '
const afterHashes = new RegExp(`${hashes}(${numeral})`)
const afterHashesAnywhere = new RegExp(`#### (${numeral})`, 'g')
const afterHashesLoose = new RegExp(`####${space}(${numeral})`)
const inBox = new RegExp(`\\\\boxed\\{(${numeral})\\}`)
const afterPhrase = new RegExp(`(?:answer|result|total)${space}(?:is|[=:])${space}\\**(${numeral})`, 'i')
const loose = /-?[\p{Nd},]+\.?\p{Nd}*/gu
const looseAscii = /-?[0-9.,]+/g

const withoutCommas = (text: string | undefined): string | null => text?.replaceAll(',', '') ?? null

/** The text after the first `#### ` without commas. May be `.`, `-` or empty. A pattern alone takes six times as long to find it. */
export function firstHashNumber(text: string): string | null {
  const from = text.indexOf(hashes)
  return from < 0 ? null : withoutCommas(afterHashes.exec(text.slice(from))?.[1])
}

/**
 * Like `firstHashNumber` with any white space, or else the first numeric box, or else after `answer is`,
 * `total:` and the like.
 */
export function firstStatedNumber(text: string): string | null {
  const found = afterHashesLoose.exec(text) ?? inBox.exec(text) ?? afterPhrase.exec(text)
  return withoutCommas(found?.[1])
}

/** The text after the last `#### ` within the last 300 code points, without commas. */
export function lastHashNumber(text: string): string | null {
  const found = [...lastCodePoints(text, 300).matchAll(afterHashesAnywhere)]
  return withoutCommas(found.at(-1)?.[1])
}

/**
 * The last run of digits of any script, without commas and final dots. `dropZero` also removes one final
 * `.0`.
 */
export function lastLooseNumber(text: string, dropZero: boolean): string | null {
  // Works backwards over runs of number characters, because most answers end with the number that counts.
  for (let at = text.length - 1; at >= 0; at--) {
    if (!isOfNumbers(text.charCodeAt(at))) continue
    const end = at + 1
    while (at > 0 && isOfNumbers(text.charCodeAt(at - 1))) at--
    const number = lastOfStretch(text.slice(at, end))
    if (number !== null) return dropZero && number.endsWith('.0') ? number.slice(0, -2) : number
  }
  return null
}

/** Comma, minus, dot, ASCII digits, and all non-ASCII, which includes the digits of other scripts. */
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

/** The last run of digits, dots and commas, unchanged. If all runs are dots only, the first. */
export function lastNumeral(text: string): string | null {
  const found = text.match(looseAscii) ?? []
  return found.findLast((numeral) => numeral !== '.') ?? found[0] ?? null
}

function withoutFinalDots(text: string): string {
  let end = text.length
  while (text[end - 1] === '.') end--
  return text.slice(0, end)
}
