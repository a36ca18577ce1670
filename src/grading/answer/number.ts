import { equalFractions, type Fraction, fractions, readFraction } from '../arithmetic.ts'
import { countedWords, fractionWords, numberWords, wordedFraction } from '../number-words.ts'
import { arithmetic, fractionOf, plainNumber } from './calculation.ts'
import { equationBefore } from './equation.ts'
import type { AnswerKind, Reading } from './final-answer.ts'
import { leadIn, leadWithin } from './lead-in.ts'
import { legible, undressed } from './legible.ts'
import { withoutOtherThings } from './other-things.ts'
import { withoutRivals } from './subject.ts'
import { unitsOf, withoutRestatement, withScales } from './units.ts'
import { saysUnsolvable } from './withdrawal.ts'
import type { Objection } from './wording.ts'

/** One number: as it is written, without separators and currency, and its exact value. */
export interface WholeNumber {
  readonly written: string
  readonly value: Fraction
  /** Whether a percent sign follows it. */
  readonly isPercent?: boolean
  /** The word or the sign after it, or the currency before it. */
  readonly unit?: string
}

const numberPattern = new RegExp(
  `(${plainNumber})(?:[eE]([+-]?\\d{1,3})|\\s*[×x*]\\s*10\\s*(?:\\^\\s*|\\*\\*\\s*)\\(?([+-]?\\d{1,3})\\)?)?(?:\\s?/\\s?(-?${plainNumber}))?`,
  'u',
)
/** No power, and no index. */
export const everyNumber = new RegExp(`(?<!(?:\\^|\\p{L}_)\\{?-?\\d*)${numberPattern.source}`, 'gu')
const numberAtStart = new RegExp(`^(?:${numberPattern.source})`, 'u')
const mixedPattern = /^(\d+) (\d+)\/(\d+)/

/** Glued to a number, these are units. Anything else glued to it makes it another number or a word. */
const glued = /^(?:\s?[ap]\.?m\b|\s?°\s?(?:[CF](?![\p{L}]))?|\s?%|[a-zµμ]+(?![\p{L}\d]))/iu
/** Units besides those of the table, and single letters that are no variables. */
const units = new Set(`m g l s h px gb mb kb st nd rd th pts pt am pm a.m p.m °c °f ° % rpm`.split(/\s+/))
/** What may follow a number, besides white space and what dresses it. */
const border =
  /^(?:$|[\s*_)\]"'”’`»>]|[.,;:](?=[\s*_)"'”’$<]|$)|!(?=[\s*_)"'”’$<]|$)|[?？。，、；)]|[(—|]|–\s|-\s|\$|[\u4e00-\u9fff\u3040-\u30ff\uac00-\ud7af]|\\(?=$)|<\/|\p{Extended_Pictographic})/u

/** Numbers, compared by exact value. */
export const numberKind: AnswerKind<WholeNumber> = {
  read: readNumber,
  ownRest,
  isTakenBack: saysUnsolvable,
  same: (a, b) => equalFractions(a.value, b.value),
  isPlace: ({ kind, text }) =>
    kind !== 'boxed' ||
    text === '' ||
    /[\d½⅓⅔¼¾⅕⅛]|^\W*(?:(?:minus|negative)\s*)?(?:zero|one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|\w*teen|\w+ty)\b/iu.test(
      legible(text),
    ),
  another(text, { value, isPercent }) {
    const found = /^(?:\(?[a-e][):]\s?)?(-?)\s?(?:\$|\\\$)?/.exec(text)
    const rest = text.slice(found?.[0].length ?? 0)
    const number = numberAtStart.exec(rest) ?? wordNumber.exec(rest)
    if (!number) return null
    const isNegative = found?.[1] === '-'
    const words = /\d/.test(number[0]) ? null : worded(rest)
    const mixed = mixedPattern.exec(rest)
    const given =
      words === null
        ? mixed
          ? mixedValue(mixed, isNegative)
          : valueWritten(number, isNegative)
        : 'answer' in words
          ? words.answer.value
          : null
    if (given === null) return 'other'
    if (equalFractions(given, value)) return 'same'
    // Other spellings of one value: 0.75 and 75%, 1.25 million and 1,250,000.
    const scale = scaleAfter(rest.slice(number[0].length))
    const mine = isPercent ? fractions.divide(value, hundred) : value
    const its = scale.by === null ? given : fractions.multiply(given, scale.by)
    return mine && its && equalFractions(its, mine) ? 'same' : 'other'
  },
}

/** How far behind a number a remark on it may begin. */
const longestRemark = 600
const again =
  /^((?:\s?\p{L}+(?!\p{L})|\s?[%°]){0,4}?)[*_]{0,2}(?:\s?\(|,\s|\s)(?:or|i\.?e\.?,?|that\s+is,?|which\s+(?:is|equals)|equivalently,?|also)\s(?=[-\d$€£])/iu

/** The text behind a number without the same value again: `4.5 cups (or 4 1/2 cups)`. */
function withoutSame(rest: string, value: Fraction): string {
  const [lead = '', counted = ''] = again.exec(rest.slice(0, 120)) ?? []
  if (lead === '') return rest
  const next = rest.slice(lead.length)
  const other = mixedPattern.exec(next) ?? numberAtStart.exec(next.replace(/^[$€£]/, ' '))
  if (other === null || numberKind.another(next, { written: '', value }) !== 'same') return rest
  // A share in percent is another answer where percent are asked for.
  if (/^\s?\\?(?:%|percent)/.test(next.slice(other[0].length)) && !/^\s?\\?(?:%|percent)/.test(rest))
    return rest
  const behind = next.slice(other[0].length).replace(/^\s?(?:%|\\%)/, '')
  const same = counted !== '' && behind.startsWith(counted) ? behind.slice(counted.length) : behind
  return counted + (lead.includes('(') ? same.replace(/^[^()]{0,30}\)/, '') : same)
}

/** The text behind a number without what repeats it in other units, and remarks on other things. */
export function ownRest(whole: string, { value, unit }: WholeNumber, question: string): string {
  if (!/\d/.test(whole.slice(0, longestRemark))) return whole
  // The power of a unit is no number: ` m^2`.
  const rest = whole.replace(/^(\s?\p{L}{1,12})\s?\^\s?\{?[23]\}?(?!\d)/u, '$1')
  const size = Number(value.numerator) / Number(value.denominator)
  const units = unit === undefined ? [] : unitsOf(unit.toLowerCase())
  const own = withoutRestatement(withoutSame(rest, value), size, units, question)
  return withoutRivals(withoutOtherThings(own, question), question, true)
}

const hundred: Fraction = { numerator: 100n, denominator: 1n }
const sizes: Readonly<Record<string, bigint>> = {
  thousand: 10n ** 3n,
  million: 10n ** 6n,
  billion: 10n ** 9n,
  trillion: 10n ** 12n,
}

/** What the sign or the word after a number multiplies it by. */
function scaleAfter(after: string): { readonly by: Fraction | null; readonly length: number } {
  const size = /^\s(thousand|million|billion|trillion)(?![\p{L}\d])/iu.exec(after)
  if (size)
    return {
      by: { numerator: sizes[(size[1] ?? '').toLowerCase()] ?? 1n, denominator: 1n },
      length: size[0].length,
    }
  const percent = /^\s?\\?(?:%|percent\b)/i.exec(after)
  return percent
    ? { by: { numerator: 1n, denominator: 100n }, length: percent[0].length }
    : { by: null, length: 0 }
}

/** Numbers as GSM8K writes them: without exponents. */
export const plainNumberKind: AnswerKind<WholeNumber> = {
  ...numberKind,
  read(text, isClosed) {
    const found = readNumber(text, isClosed)
    return 'answer' in found && found.answer.written.includes('e') ? { reason: 'no_number' } : found
  },
}

const wordNumber =
  /^(?:zero|one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|thirteen|fourteen|fifteen|sixteen|seventeen|eighteen|nineteen|twenty|thirty|forty|fifty|sixty|seventy|eighty|ninety|hundred|thousand|half|an?\s+(?:half|quarter|third))\b(?!\s+(?:of|more|less|each|in|is|for|way))/i

function valueWritten(found: RegExpExecArray, isNegative: boolean): Fraction | null {
  const [, digits = '', exponent, power, divisor] = found
  const top = fractionOf(digits, exponent ?? power)
  const under = divisor === undefined ? null : fractionOf(divisor.replace('-', ''))
  const value = top && (divisor === undefined ? top : under && fractions.divide(top, under))
  const flips = isNegative !== (divisor?.startsWith('-') ?? false)
  return value && flips ? negated(value) : value
}

/** A number and its calculation: `42 = 6 * 7`, `42 (6 * 7 = 42)`. */
const workBehind =
  /^([^=()\d]{0,40}-?\d[^=()]{0,60}?)(?:\s\(([^()=]+=[^()=]*\d[^()=]*)\)|\s*=\s*(-?\d[^=]*[-+*/×÷][^=]*\d)\s*)$/

/** A number that a reason follows: `9, since 9 × 9 × 9 = 729`. */
const withReason = new RegExp(
  `^[\\s*($]*-?\\$?${plainNumber}(?:\\s?(?:\\p{L}{1,15}|[°%])){0,3}(?=,?\\s(?:since|because|as)\\s\\$?[\\d(√\\\\][^\\n\\p{L}]*[=≈])`,
  'u',
)

/** Reads the one number at the start of an answer's text, after words that lead to it. */
function readNumber(whole: string, isClosed = true): Reading<WholeNumber> {
  const contrasted = whole.replace(
    /^\s*not\s[^,.;\n]{1,60}?(?:,?\s+but(?:\s+rather)?\s|[,;]\s+(?:it|but)\s+is\s)/i,
    '',
  )
  const text = undressed(
    contrasted
      .replace(/^[\s*_:]+/, '')
      .replace(/\((?<=\d[\s*_%\p{L}]{0,40}\()\s?=\s?(?=[\d(])/u, '(')
      .replace(/\b(Rs|Ans)\.(?=\s?\d)/, '$1'),
  )
  const [reasoned = ''] = withReason.exec(text) ?? []
  if (reasoned !== '') {
    const own = readNumber(reasoned, isClosed)
    return 'answer' in own ? { ...own, rest: `${own.rest}${text.slice(reasoned.length)}` } : own
  }
  const head = text.search(/[.!?](?=\s|$)|\n/)
  const clause = head < 0 ? text : text.slice(0, head)
  const [, result, sum, work] = (clause.length < 200 && workBehind.exec(clause)) || []
  if (result !== undefined) {
    const [answer, reason] = [readNumber(result), readNumber(sum ?? '')]
    const value = sum === undefined ? arithmetic(work ?? '') : 'answer' in reason ? reason.answer.value : null
    if ('answer' in answer && value !== null && equalFractions(answer.answer.value, value))
      return { ...answer, rest: '' }
  }
  const found = numberPattern.exec(text)
  if (!found || (head >= 0 && found.index > head && /\p{L}/u.test(clause))) return worded(text)
  const from = lastSide(clause)
  if (from === null) return { reason: 'extended' }
  const rest = text.slice(from)
  const number = numberPattern.exec(rest)
  if (!number) return { reason: 'no_number' }
  // Within LaTeX an exclamation mark is a factorial.
  const isStrict = isClosed || /!\s*(?:\$|\\[)\]])/.test(whole)
  return numberIn(rest, number, isStrict, text.slice(0, from), leadWithin)
}

export function numberIn(
  text: string,
  number: RegExpExecArray,
  isClosed: boolean,
  equation: string,
  within: (lead: string) => Objection | null,
): Reading<WholeNumber> {
  const before = text.slice(0, number.index)
  const sign = signBefore(before)
  if (sign === null) return { reason: 'extended' }
  const lead = before.slice(0, before.length - sign.length).replace(currencyBefore, '')
  const words = `${equation.replace(/\d/g, '')}${lead}`
  const objection = within(words) ?? leadIn(words)
  if (objection !== null) return { reason: objection }
  if (!isFree(lead) || label.test(lead.slice(-40))) return { reason: 'extended' }
  const isNegative = /[-–—]/.test(sign) || /\b(?:negative|minus)[\s*_"'($]*$/i.test(lead)
  const mixed = mixedPattern.exec(text.slice(number.index))
  const value = mixed ? mixedValue(mixed, isNegative) : valueWritten(number, isNegative)
  if (value === null) return { reason: 'no_number' }
  const next = text.slice(number.index + (mixed ?? number)[0].length)
  const worded = wordsBefore.exec(lead.slice(-200))?.[1]
  if (worded !== undefined && !sameInWords(worded, value)) return { reason: 'several_answers' }
  // A comma that separates no thousands: a decimal comma, or a list. It may be either.
  if (/^,\d/.test(next)) return { reason: 'no_number' }
  const scale = scaleAfter(next)
  const isSize = scale.by !== null && scale.by.denominator === 1n
  const scaled = isSize && scale.by ? fractions.multiply(value, scale.by) : value
  const rest = withoutUnit(isSize ? next.slice(scale.length) : next)
  if (rest === null || scaled === null || isExtended(rest, lead, isClosed)) return { reason: 'extended' }
  const [, digits = '', exponent, power, divisor] = number
  const plain = (part: string): string => part.replace(/[, _'’]/g, '')
  const e = exponent ?? power
  const written = mixed
    ? mixed[0]
    : `${plain(digits)}${e === undefined ? '' : `e${e}`}${divisor === undefined ? '' : `/${plain(divisor)}`}`
  const [, ofDegrees, named] = unitBehind.exec(withScales(next.slice(isSize ? scale.length : 0))) ?? []
  const unit = ofDegrees ?? named ?? currencyBefore.exec(before)?.[0].trim()
  const marks = {
    ...(unit !== undefined && { unit }),
    ...(scale.by !== null && !isSize && { isPercent: true }),
  }
  if (isSize) {
    const { numerator, denominator } = scaled
    const whole =
      numerator % denominator === 0n ? `${numerator / denominator}` : `${numerator}/${denominator}`
    return { answer: { written: whole, value: scaled, ...marks }, rest }
  }
  return { answer: { written: `${isNegative ? '-' : ''}${written}`, value, ...marks }, rest }
}

/** The sign or the word behind a number; of degrees their scale. */
const unitBehind = /^[\s*_)]{0,4}(?:(?:degrees?\s)?(celsius|fahrenheit)(?!\p{L})|([%¢°]|\p{L}+))/iu

/** Before a number, these words make it a part of the text, not a value. */
const label =
  /\b(?:step|question|problem|exercise|task|example|method|stage|phase|case|page|row|line|chapter|section|figure|table|seat|room|tree|item|player|no\.|nr\.)\s*(?:no\.?|number|#)?\s*$/i

const currencyBefore =
  /(?:\b(?:US|AU|CA|HK|NZ|SG|[ACS]))?\$\s*$|[€£¥₹₩₽]\s*$|\b(?:USD|EUR|GBP|JPY|INR|CNY|RMB|Rs\.?)\s*$/u
/** Commands that may stand before a number; any other one makes it a part of something else. */
const leadingCommand =
  /\\(?:therefore|implies|Rightarrow|rightarrow|Longrightarrow|to|ldots|dots|hline|approx|because)\b/g

/** Whether a number stands alone behind these words: not in a power, an index, a function or a product. */
function isFree(lead: string): boolean {
  if (!/(?:^|[\s=:≈(["'“‘*_`,>、，是为—–]|[\u4e00-\u9fff\u3040-\u30ff\uac00-\ud7af])$/u.test(lead))
    return false
  if (/(?<![\p{L}])\p{L}[*_]+$|[\p{L}\d})\]]_$|\p{L}\($|[~¬≅]=?\s*$|[+×÷/^]\s*$|\d\s*[-*]\s*$/u.test(lead))
    return false
  if (
    /\p{L}\s*\\(?:to|rightarrow)\s*$|(?<![\p{L}])(?:log|ln|lg|sin|cos|tan|exp|sqrt|mod|max|min)\.?\s*$/u.test(
      lead,
    )
  )
    return false
  return !/[\\^√∓±]/.test(lead.slice(-40).replace(leadingCommand, ''))
}

/** The text after a number without the unit that is glued to it. null: what is glued to it is no unit. */
function withoutUnit(after: string): string | null {
  if (
    /^\s?(?:%|percent)\s+of\s+\$?\d|^\s+of\s+(?:\d[\d.,]*\s?%|(?:one|a)\s+percent|(?:that|it|this)\b)/.test(
      after,
    )
  )
    return null
  const unit = (glued.exec(after)?.[0] ?? '').replace(/\s/g, '')
  const isUnit =
    unit !== '' &&
    (units.has(unit.length === 1 ? unit : unit.toLowerCase()) ||
      (unit.length > 1 && unitsOf(unit.toLowerCase()).length > 0))
  const rest = isUnit ? after.slice(after.indexOf(unit.slice(-1)) + 1).replace(/^\^?[23](?!\d)/, '') : after
  return border.test(rest) ? rest : null
}

/** Whether an operator, a further digit or a size follows a number. */
function isExtended(rest: string, lead: string, isClosed: boolean): boolean {
  if (rest.startsWith("'") && !/['‘]$/.test(lead)) return true
  const bare = rest.replace(/^(?:[*_)\]}"'”’`$]|\s(?=[*_)\]}"'”’`$]))+/, '')
  // A factorial; in a sentence it is an exclamation.
  if (isClosed && bare.startsWith('!')) return true
  if (
    /^\s?\p{M}|^\s?[²³⁴-⁹ⁿⁱ]|^[₀-₉⊥⊤∓±÷√∛]|^[ijxyz](?![\p{L}])|^\s*(?:more|less|fewer|greater)\s+than\s+[-$\d]|^\s*per\s+[-$\d]/u.test(
      bare,
    )
  )
    return true
  if (/^\s*[-–+×÷*/^!]\s*\(?\d/.test(rest) || /^\s*[\^×÷±]/.test(bare)) return true
  const next = rest.replace(/^\s?\*+(?=\s|$)/, '')
  if (/^\s*[×÷^±<>≤≥≠]|^\s*[=≈]|^\s+[*/+]\s|^\s*\\[a-z]+|^\s*[:'′″]\s*\d|^[.,]\d|^\.\.|^…/i.test(next))
    return true
  if (/^\s*\.\.|^\s?[‰‱⁰¹²³⁴-⁹₀-₉]\s*[/⁰¹²³⁴-⁹]|^\s?[‰‱]/.test(bare)) return true
  if (/^\s?(?:st|nd|rd|th)?\s+(?:prime|power|root|number)\b/.test(rest)) return true
  return /^\s+[kKMBT]\b/.test(rest)
}

function mixedValue(
  [, whole = '', top = '', bottom = '']: RegExpExecArray,
  isNegative: boolean,
): Fraction | null {
  const [unit, above, below] = [readFraction(whole), readFraction(top), readFraction(bottom)]
  const part = above && below && fractions.divide(above, below)
  const value = unit && part && fractions.add(unit, part)
  return value && isNegative ? negated(value) : value
}

/** The sign right before a number, with the currency between them: `-`, `-$`, `$-`, or ''. null: not a sign. */
function signBefore(before: string): string | null {
  const found = /(?:[-+–—]\s?(?:(?:US)?\$|[€£¥])?[\s(*[_"'$]*|(?:(?:US)?\$|[€£¥])\s?[-+–])\s*$/u.exec(before)
  if (!found) return ''
  const lead = before.slice(0, found.index)
  if (/[+-]\s*$|[-+–—][(*[_{]+$/.test(lead)) return null
  // A bullet of a list, or a dash after a word.
  if (/[\p{L})\d:*]\s*$/u.test(lead) && /[-–—][\s(*[]*\s[\s(*[]*$/.test(found[0]))
    return /[-+]/.test(found[0]) && !/\s$/.test(lead) ? null : ''
  return /(?:^|[\s=:≈(["'“‘*_`,])$/u.test(lead) ? found[0] : null
}

/** The value of the number that a side of an equation has, with its sign. */
const valueIn = (side: string): Fraction | null => {
  const number = numberPattern.exec(side)
  return number && valueWritten(number, /-\s*\$?$/.test(side.slice(0, number.index)))
}

/** Where the last side of an equation starts. 0: no equation. null: it is false, or restates a question. */
export const lastSide = (clause: string, known?: ReadonlyMap<string, string>): number | null =>
  equationBefore(clause, valueIn, known)

/** Words of a number right before its digits: `forty-two (42)`, `two hundred 42`. */
const wordsBefore = new RegExp(
  `(?<![\\p{L}])((?:(?:${numberWords.join('|')})[\\s-]{1,3}){0,12}(?:${numberWords.filter((word) => word !== 'and').join('|')})(?:\\s+and)?)\\s*\\(?\\s*$`,
  'iu',
)

function sameInWords(text: string, value: Fraction): boolean {
  const words = text.toLowerCase().split(/[\s-]+/)
  const { value: whole, end } = countedWords(words, 0)
  return (
    whole !== null && end === words.length && equalFractions(value, { numerator: whole, denominator: 1n })
  )
}

const numeral = new RegExp(
  `^(?:(?:${numberWords.join('|')}|minus|negative|an?(?=\\s+(?:${fractionWords}))|${fractionWords})(?:[\\s-]+|(?![\\p{L}])))+(?:(?<=\\band\\s+)an?\\s+(?:${fractionWords})(?![\\p{L}]))?`,
  'iu',
)
/** A part of something that is no unit: `half of the pens`, `a third of 42`. */
const ofSomething = /^\s+(?:of\s+(?!an?\b)|(?:as|the|his|her|its|their|that|this|past|what|more|less)\b)/i

/** A number in English words at the start: `forty-two`, `two and a quarter`. */
export function worded(text: string): Reading<WholeNumber> {
  const plain = text.replace(/^(?:[^\d\n]{0,80}?\b(?:is|are|=|:)\s+)?["'(*_]*/i, '')
  const found = (numeral.exec(plain)?.[0] ?? '').replace(/[\s-]+(?:and[\s-]*)?$/i, '')
  const words = found.toLowerCase().split(/[\s-]+/)
  const isNegative = words[0] === 'minus' || words[0] === 'negative'
  const value = wordedFraction(words.slice(isNegative ? 1 : 0))
  const rest = plain.slice(found.length)
  if (value === null || (value.denominator !== 1n && ofSomething.test(rest))) return { reason: 'no_number' }
  const objection = leadIn(text.slice(0, text.length - plain.length))
  if (objection !== null) return { reason: objection }
  const fraction = isNegative ? negated(value) : value
  const written = `${fraction.numerator}${fraction.denominator === 1n ? '' : `/${fraction.denominator}`}`
  return { answer: { written, value: fraction }, rest }
}

const negated = ({ numerator, denominator }: Fraction): Fraction => ({ numerator: -numerator, denominator })

/** Digits alone, as in most ground truths, are read one way. Read at once, they halve a row of numeric-match (`npm run growth` in bench/). */
export const plainDigits = /^-?(?:0|[1-9]\d{0,14})(?:\.\d{1,15})?$/

/** The exact value of a ground truth in digits: `$1,234.50`, `3/4`, `-5`. null: not one number. */
export function truthNumber(truth: unknown): WholeNumber | null {
  const text = String(truth)
  const value = plainDigits.test(text) ? readFraction(text) : null
  if (value !== null) return { written: text, value }
  const reading = readNumber(text, true)
  return 'answer' in reading && /^[\s.,]*$/.test(reading.rest.replace(/\p{L}/gu, '')) ? reading.answer : null
}
