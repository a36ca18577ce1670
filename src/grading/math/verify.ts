import { isForeignUnit } from '../answer/asked-unit.ts'
import { leadWithin } from '../answer/lead-in.ts'
import { lacksAskedForm } from './asked-form.ts'
import { budget, OverBudget } from './budget.ts'
import { isRounded } from './chain.ts'
import { equalAnswers } from './compare.ts'
import type { Comparison, Decision } from './decision.ts'
import { constantValue } from './evaluate.ts'
import { children, type Expression, namesIn } from './expression.ts'
import { stated } from './own-value.ts'
import { approximation, isName, plainForm } from './plain-form.ts'
import { readAnswer } from './read-answer.ts'
import { finalStatement, type Statement, statementOf, type Unstated } from './statement.ts'
import { repaired } from './tokens.ts'
import { isOtherMoney, namesMoney, numberInWords } from './units.ts'

const style =
  /\\(?:text|mathrm|mbox|textbf|textrm|textsf|texttt|textup|emph|textnormal|textit|mathbf|mathit|mathsf|boldsymbol|operatorname|left|right|displaystyle|boxed|quad|qquad)(?![A-Za-z])\*?|\\[,;:! ]|[$\s]|~(?!~)/g
/** Sizes, and colours that show on paper. */
const paint =
  /\\(?:(?:text)?color\s*\{(?:black|red|blue|green|orange|purple|teal|magenta|cyan|brown|violet)\}|(?:large|Large|LARGE|huge|Huge|small|normalsize|bf|rm|it)(?![A-Za-z]))\s*/g
const sameInAnyCase = /^(?:\p{Lu}?\p{Ll}{2,}|\p{Lu}{4,}|[Yy][Ee][Ss]|[Nn][Oo])$/u

/**
 * The letters and signs of an answer without style, spaces and final dots. Equal answers in words have equal
 * wordings.
 */
function wording(answer: string): string {
  const written = trimmed(repaired(undressed(answer.slice(0, 20_000))), ' \t\n\r\u00a0\u3000*')
  const styled = written.replace(paint, '').replace(style, '')
  // Braces have a meaning after a command, a power or a subscript.
  const plain = (/[\\^_]/.test(styled) ? styled : styled.replace(/[{}]/g, '')).replace(/(?<![.])[.,;。]$/, '')
  if (parted.test(written) && numerals(plain) !== numerals(written)) return written
  return sameInAnyCase.test(plain) ? plain.toLowerCase() : plain
}

const parted = /\d[\\$\s~{}]/

/** How many runs of digits a text has. Without what separates two runs it would be another number. */
const numerals = (text: string): number => text.match(/\d+/g)?.length ?? 0

const blanks = ' \t\n\r\u200b\u200e\u200f\u2060\ufeff'
const quotes = [
  ['**', '**'],
  ['__', '__'],
  ['`', '`'],
] as const

/** Without marks around the whole of it that only dress: bold, code, and zero-width characters at its ends. */
function undressed(answer: string): string {
  if (isPlain(answer.charAt(0)) && isPlain(answer.charAt(answer.length - 1))) return answer
  let text = trimmed(answer, blanks)
  for (const [open, close] of quotes) {
    const inner = text.slice(open.length, -close.length)
    const isQuoted = text.length > 2 * open.length && text.startsWith(open) && text.endsWith(close)
    if (isQuoted && !inner.includes(open)) text = inner
  }
  return text
}

const isPlain = (character: string): boolean => /^[!-)+-^a-}]$/.test(character)

function trimmed(text: string, what: string): string {
  let [start, end] = [0, text.length]
  while (start < end && what.includes(text.charAt(start))) start++
  while (end > start && what.includes(text.charAt(end - 1))) end--
  return text.slice(start, end)
}

const letter = /^(?:\(?([A-J])\)?|\(([a-j])\)|(?:option|choice)\(?([A-Ja-j])\)?)$/

/** The choice letter that is the whole truth. null for other truths. */
function choiceLetter(truth: string): string | null {
  const plain = wording(truth)
  return /^\(?[A-J]\)?$/.test(plain) ? plain.replace(/[()]/g, '') : null
}

/** The one letter that an answer chooses: `B`, `(B)`, `B. 42`, `\textbf{(B)}\ 42`. null: none, or several. */
function chosenLetter(answer: string): string | null {
  const plain = answer
    .slice(0, 2000)
    .replace(paint, '')
    .replace(style, ' ')
    .replace(/[{}]/g, '')
    .trim()
    .replace(/[.,;]+$/, '')
  const alone = letter.exec(
    plain.replace(/\s/g, '').replace(/^(?:option|choice)/i, (word) => word.toLowerCase()),
  )
  if (alone) return (alone[1] ?? alone[2] ?? alone[3] ?? '').toUpperCase()
  const [, chosen, rest = ''] = /^(?:option |choice )?\(?([A-J])(?:\)|[.:]\s)(.*)$/i.exec(plain) ?? []
  return chosen && !hedged.test(rest) ? chosen.toUpperCase() : null
}

/** Another letter after a choice, or words and signs that may take it back. */
const hedged = new RegExp(
  [
    "\\b(?:[Oo]r|OR|[Aa]nd|AND|[Nn]ot?|NOT?|[Nn]or|[Bb]ut|[Nn]ever|wrong|false|incorrect|isn't|maybe|perhaps|unless|Maybe|Perhaps|Unless)\\b",
    '[?/|]\\s*$',
    '\\(?\\b[A-J]\\b\\)?',
    '(?:^|[/,;&|])\\s*\\(?[a-j]\\)?[.)]?\\s*(?:$|[/,;&|])',
  ].join('|'),
)

const worded: ReadonlySet<string> = new Set([
  'measured',
  'degrees',
  'percent',
  'relation',
  'list',
  'set',
  'numeral',
])
const algebraic = { precision: 15, strict: true, relationAsSet: false }

/**
 * What published graders ask of a computer algebra system: whether it finds two texts equal, or both are
 * numbers (with pi) within a relative `tolerance`. Words, units and thousands separators are not algebra.
 */
export function symbolicallyEqual(a: string, b: string, tolerance: number): boolean {
  if (a.includes('{,}') || b.includes('{,}')) return false
  const [left, right] = [readAnswer(a), readAnswer(b)]
  if (left === null || right === null || worded.has(left.kind) || worded.has(right.kind)) return false
  try {
    return equalAnswers(left, right, algebraic) !== null || near(plainForm(left), plainForm(right), tolerance)
  } catch (error) {
    if (error instanceof OverBudget) return false
    throw error
  }
}

function near(a: Expression, b: Expression, tolerance: number): boolean {
  if (hasConstant(a) || hasConstant(b)) return false
  const [x, y] = [constantValue(a), constantValue(b)]
  if (x === null || y === null) return false
  const size = Math.max(Math.hypot(x.re, x.im), Math.hypot(y.re, y.im))
  return Math.hypot(x.re - y.re, x.im - y.im) <= tolerance * size
}

const hasConstant = (of: Expression): boolean => of.kind === 'constant' || children(of).some(hasConstant)

/** A parsed ground truth. */
export interface MathTruth {
  readonly wording: string
  readonly choice: string | null
  readonly readings: readonly Expression[]
  /** Its text, whose words an answer may repeat. */
  readonly text: string
  readonly isMoney: boolean
}

/** The verdict on a response. */
export interface MathVerdict {
  /** How the answer was found equal, or null. */
  readonly decision: Decision | null
  /** The extracted answer, or null if the response has none. */
  readonly extracted: string | null
  /** Why the answer does not count. null: it counts. */
  readonly reason: string | null
}

/** Why an answer does not count. `no_expression`: it is no mathematics, or says more than its value. */
type MathRefusal = 'no_answer' | 'no_expression' | 'unequal'

/** Whether one committed answer equals the truth. One of the two is null. */
export interface MathEquality {
  readonly decision: Decision | null
  readonly reason: MathRefusal | null
}

/** How answers are compared where a rule has no options for it. */
export const usualComparison: Comparison = { precision: 6, strict: true, relationAsSet: false }

/**
 * Reads a truth in LaTeX, plain text or words. For a whole solution, reads its marked answer. null: nothing
 * to compare with.
 */
export function readMathTruth(text: string): MathTruth | null {
  const knows = () => true
  const whole = text.includes('\\boxed') ? [] : readings(text, knows, true)
  const marked = whole.length > 0 ? null : statementOf(text)
  const answer = marked?.expression ?? marked?.words ?? text
  const spelled = wording(answer)
  if (spelled === '') return null
  const read = marked ? readings(answer, knows, true) : whole
  return {
    wording: spelled,
    choice: choiceLetter(answer),
    readings: read,
    text: answer.slice(0, 2000),
    isMoney: namesMoney(answer.slice(0, 2000)),
  }
}

/** Compares the final answer of a response with a truth. `question` names units and numbers. Pure, bounded by `budget`, never throws. */
export function verifyMath(truth: MathTruth, response: string, how: Comparison, question = ''): MathVerdict {
  return verdictOn(truth, finalStatement(response, false, question), how, question)
}

/** Like `verifyMath` for rules whose answer must be in a box. */
export function verifyBoxed(truth: MathTruth, response: string, question = ''): MathVerdict {
  return verdictOn(truth, finalStatement(response, true, question), usualComparison, question)
}

const unitAtEnd =
  /(-?[\d.,]*[\d}])(?:\s|~|\\[,;: ]|\\(?:text|mathrm|textbf)\s*\{|\\(?=%))*(%|¢|[A-Za-z]{1,20})[\s}.$]*$/
/** Commands of a truth that name no unit: functions, constants, style. */
const noUnit =
  /\\(?:[dtc]?frac|sqrt|left|right|pi|cdot|times|boxed|log|ln|sin|cos|tan|infty|pm|cup|cap)(?![a-z])/g

/** Whether an answer has a unit that the question does not speak of, and the truth has none. */
const hasForeignUnit = (truth: string, answer: string, question: string): boolean =>
  question !== '' &&
  !/\\text|\\mathrm|\\circ|[%$¢€£°]|[A-Za-z]{2}/.test(truth.replace(noUnit, '')) &&
  isForeignUnit(unitAtEnd.exec(answer.slice(-60))?.[2], question)

function verdictOn(
  truth: MathTruth,
  statement: Statement | Unstated,
  how: Comparison,
  question: string,
): MathVerdict {
  if ('reason' in statement) return { decision: null, extracted: null, reason: statement.reason }
  const { words, expression } = statement
  // A last number without its unit is read with the words behind it.
  const counted = unitAtEnd.exec(words.slice(-60))?.[1] === expression ? words : (expression ?? words)
  if (hasForeignUnit(truth.text, counted, question))
    return { decision: null, extracted: statement.expression?.slice(0, 500) ?? null, reason: 'unequal' }
  const { decision, reason } = sameAs(truth, statement, how, question)
  return { decision, extracted: (statement.expression ?? statement.words).slice(0, 500) || null, reason }
}

const refused = (reason: MathRefusal): MathEquality => ({ decision: null, reason })
const found = (decision: Decision): MathEquality => ({ decision, reason: null })

function sameAs(
  truth: MathTruth,
  { words, expression }: Statement,
  how: Comparison,
  question = '',
): MathEquality {
  if (expression !== null && wording(expression) === truth.wording) return found('string')
  const own = expression === null ? null : stated(undressed(expression.slice(0, 20_000)))
  if (own !== null && own !== expression && wording(own) === truth.wording) return found('string')
  if (words !== '' && wording(words) === truth.wording) return found('string')
  if (truth.choice !== null && chosenLetter(words) === truth.choice) return found('string')
  if (expression === null || expression.trim() === '')
    return saysSo(words, truth) ? found('string') : refused('no_answer')
  const read = readings(expression, (word) => hasWord(truth.text, word), false)
  if (read.length === 0) return refused('no_expression')
  const isMoney = truth.isMoney || namesMoney(expression)
  if (isMoney && isOtherMoney(truth.text, truth.readings[0], expression, read[0])) return refused('unequal')
  if (isFalseChain(truth.readings[0], read[0])) return refused('unequal')
  const decision = equalReadings(truth.readings, read, how)
  if (decision !== null && read[0] && lacksAskedForm(question, truth.readings[0], read[0]))
    return refused('unequal')
  return decision === null ? refused('unequal') : found(decision)
}

const saying = /^([^.!?\n]{0,120}\s(?:is|are|has|have))\s+(?:(?:an?|the)\s+)?([\p{L} -]{2,40})\.?$/u

/** Whether a sentence says of something that it is what the truth says in words: `The series is divergent.` */
function saysSo(words: string, truth: MathTruth): boolean {
  const [, lead = '', said = ''] = saying.exec(words.trim()) ?? []
  return (
    said !== '' &&
    sameInAnyCase.test(truth.wording) &&
    wording(said) === truth.wording &&
    leadWithin(lead) === null
  )
}

const hasWord = (text: string, word: string): boolean =>
  text
    .toLowerCase()
    .match(/[a-z]+/g)
    ?.includes(word) === true

/**
 * Whether the text of one committed answer, such as what a box holds, equals a truth.
 *
 * | equal | not equal |
 * | --- | --- |
 * | the value in another form: `0.5`, `\frac12`, `4{,}200`, `forty-two`, `6 \cdot 7` | another value, however near |
 * | `x = 3` and `3 = x` for 3; a curve rearranged | `x + 2 = 5`, `2x = 6`, `x - 3 < 0`: the question again |
 * | `6 \cdot 7 = 42`; `\sqrt{17} \approx 4.12` for either | `41 = 42`, `41 \approx 42`, `42 = 41 + 0` |
 * | the truth's unit, no unit, what is counted: `42 apples` | another unit, `42 million`, words that are neither |
 * | bold, `\boxed` in a box, spaces, colours on paper | `\phantom`, `\cancel`, `\overline` over digits, `\not`, hidden characters |
 * | `1,2` for `\{1,2\}` | `1,2` for `[1,2]` or `(1,2)`; other brackets; `1 2` for 12 |
 *
 * Pure, bounded by `budget`, never throws.
 */
export function equalMathAnswers(truth: MathTruth, answer: string, how = usualComparison): MathEquality {
  return sameAs(truth, { words: answer, expression: answer }, how)
}

/** Compares a bare answer with a truth. */
export function equalMath(truth: MathTruth, answer: string, how: Comparison): Decision | null {
  return equalMathAnswers(truth, answer, how).decision
}

const currencyNames = /\b(?:US|CA|AU|HK|NZ|[ACS])(?=\\?\$\s?[\d.])|^\s*(?:USD|EUR|GBP)\s*(?=\d)/g

/** The readings of `1,234`: as one number, then as two. */
function readings(given: string, knows: (word: string) => boolean, isTruth: boolean): Expression[] {
  const dressed = given.length > budget.text ? given : undressed(given).replace(currencyNames, '')
  const text = isTruth ? dressed : stated(dressed)
  const first = readAnswer(text, { knows }) ?? numberInWords(plainWords(text), knows)
  if (first === null || (!isTruth && choosesANumber(first))) return []
  const pair = /^[\s$]*(-?\d+),(?!\d{3}[\s$]*$)(\d+)[\s$]*$/.exec(text)
  const other = pair ? readAnswer(`${pair[1]}.${pair[2]}`) : null
  const listed = /\d,\d{3}/.test(text) ? readAnswer(text, { knows, commasSeparate: true }) : null
  const rounded = approximation(first, isTruth)
  const side = isTruth ? null : identical(first)
  return [first, ...[other, listed, rounded, side].filter((reading) => reading !== null)]
}

/** The last side of an equation that holds for all values of its names: `x^2-1=(x-1)(x+1)`. */
function identical(of: Expression): Expression | null {
  if (of.kind !== 'relation' || of.ops.some((op) => op !== '=') || namesIn(of).length === 0) return null
  const last = of.sides.at(-1)
  if (last === undefined || isName(of.sides[0] as Expression)) return null
  const holds = of.sides.every((side) => bounded(() => equalAnswers(last, side, usualComparison)) !== null)
  return holds ? last : null
}

/** Whether two sides of a chain that should be equal are expressions in the same names that differ: `3x = 3x + 1 = y`. */
function isFalseChain(gold: Expression | undefined, of: Expression | undefined): boolean {
  if (of?.kind !== 'relation' || of.sides.length < 2 || of.ops.some((op) => op !== '=')) return false
  if (gold?.kind === 'relation' && of.sides.length === 2) return false
  const sides = of.sides.filter((side) => !isName(side))
  const last = sides.at(-1)
  if (last === undefined || sides.length > 12) return false
  const names = new Set(namesIn(last))
  return sides.some((side) => {
    const own = new Set(namesIn(side))
    if (side.kind === 'numeral' && last.kind === 'numeral' && side.base !== last.base) return false
    if (last.kind === 'numeral' && side.kind !== 'numeral') return false
    if (side === last || own.size !== names.size || [...own].some((name) => !names.has(name))) return false
    // Sides that are equations in one unknown say what follows from what.
    return (
      bounded(() => equalAnswers(last, side, usualComparison)) === null &&
      bounded(() => equalAnswers(side, last, usualComparison)) === null &&
      !isRounded(side, last)
    )
  })
}

/** `max(41, 42)`: a choice among numbers is a list of guesses. */
function choosesANumber(of: Expression): boolean {
  const isChoice = of.kind === 'call' && (of.name === 'max' || of.name === 'min')
  if (isChoice && namesIn(of).length === 0) return true
  return children(of).some(choosesANumber)
}

/** The words of a text that is nothing else. */
const plainWords = (text: string): string =>
  text.length > 200 ? '' : text.replace(/^\s*\\(?:text|textbf|mathrm|mbox)\s*\{([^{}]*)\}\s*$/, '$1').trim()

/** At least one side is read literally. */
function equalReadings(
  gold: readonly Expression[],
  answer: readonly Expression[],
  how: Comparison,
): Decision | null {
  for (const [i, want] of gold.entries()) {
    for (const [j, have] of answer.entries()) {
      if (i > 0 && j > 0) continue
      const decision = bounded(() => equalAnswers(want, have, how))
      if (decision) return decision
    }
  }
  return null
}

function bounded(compare: () => Decision | null): Decision | null {
  try {
    return compare()
  } catch (error) {
    if (error instanceof OverBudget) return null
    throw error
  }
}
