import { OverBudget } from './budget.ts'
import { equalAnswers } from './compare.ts'
import type { Comparison, Decision } from './decision.ts'
import { constantValue } from './evaluate.ts'
import { children, type Expression } from './expression.ts'
import { plainForm } from './plain-form.ts'
import { readAnswer } from './read-answer.ts'
import { finalStatement, type Statement, statementOf } from './statement.ts'
import { repaired } from './tokens.ts'

const style =
  /\\(?:text|mathrm|mbox|textbf|textnormal|textit|mathbf|operatorname|left|right|displaystyle|boxed|quad|qquad)(?![A-Za-z])\*?|\\[,;:! ]|[$\s~]/g
const sameInAnyCase = /^(?:\p{Lu}?\p{Ll}{2,}|\p{Lu}{4,}|[Yy][Ee][Ss]|[Nn][Oo])$/u

/**
 * The letters and signs of an answer without style, spaces and final dots. Equal answers in words have equal
 * wordings.
 */
function wording(answer: string): string {
  const styled = repaired(answer.slice(0, 20_000))
    .replace(/^[\s*]+|[\s*]+$/g, '')
    .replace(style, (piece, at: number, all: string) =>
      isDigit(all[at - 1]) && isDigit(all[at + piece.length]) ? ' ' : '',
    )
  // Braces have a meaning after a command, a power or a subscript.
  const plain = (/[\\^_]/.test(styled) ? styled : styled.replace(/[{}]/g, '')).replace(/[.,;。]+$/, '')
  return sameInAnyCase.test(plain) ? plain.toLowerCase() : plain
}

const isDigit = (character: string | undefined): boolean => character !== undefined && /\d/.test(character)

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
    .replace(/[{}]/g, '')
    .replace(style, ' ')
    .trim()
    .replace(/[.,;]+$/, '')
  const alone = letter.exec(
    plain.replace(/\s/g, '').replace(/^(?:option|choice)/i, (word) => word.toLowerCase()),
  )
  if (alone) return (alone[1] ?? alone[2] ?? alone[3] ?? '').toUpperCase()
  const [, chosen, rest = ''] = /^(?:option |choice )?\(?([A-J])(?:\)|[.:]\s)(.*)$/i.exec(plain) ?? []
  return chosen && !/\b(?:or|and)\b|\(?\b[A-J]\b\)?/.test(rest) ? chosen.toUpperCase() : null
}

const worded: ReadonlySet<string> = new Set([
  'measured',
  'degrees',
  'percent',
  'relation',
  'list',
  'set',
  'numeral',
])
const how = { precision: 15, strict: true, relationAsSet: false }

/**
 * What published graders ask of a computer algebra system: whether it finds two texts equal, or both are
 * numbers (with pi) within a relative `tolerance`. Words, units and thousands separators are not algebra.
 */
export function symbolicallyEqual(a: string, b: string, tolerance: number): boolean {
  if (a.includes('{,}') || b.includes('{,}')) return false
  const [left, right] = [readAnswer(a), readAnswer(b)]
  if (left === null || right === null || worded.has(left.kind) || worded.has(right.kind)) return false
  try {
    return equalAnswers(left, right, how) !== null || near(plainForm(left), plainForm(right), tolerance)
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
}

/** The verdict on a response. */
export interface MathVerdict {
  /** How the answer was found equal, or null. */
  readonly decision: Decision | null
  /** The extracted answer, or null if the response has none. */
  readonly extracted: string | null
}

/**
 * Reads a truth in LaTeX, plain text or words. For a whole solution, reads its marked answer. null: nothing
 * to compare with.
 */
export function readMathTruth(text: string): MathTruth | null {
  const whole = text.includes('\\boxed') ? [] : readings(text)
  const marked = whole.length > 0 ? null : statementOf(text)
  const answer = marked?.expression ?? marked?.words ?? text
  const words = wording(answer)
  if (words === '') return null
  return { wording: words, choice: choiceLetter(answer), readings: marked ? readings(answer) : whole }
}

/** Compares the final answer of a response with a truth. Pure, bounded by `budget`, never throws. */
export function verifyMath(truth: MathTruth, response: string, how: Comparison): MathVerdict {
  const statement = finalStatement(response)
  if (statement === null) return { decision: null, extracted: null }
  const decision = sameAs(truth, statement, how)
  return { decision, extracted: (statement.expression ?? statement.words).slice(0, 500) || null }
}

function sameAs(truth: MathTruth, { words, expression }: Statement, how: Comparison): Decision | null {
  if (expression !== null && wording(expression) === truth.wording) return 'string'
  if (words !== '' && wording(words) === truth.wording) return 'string'
  if (truth.choice !== null && chosenLetter(words) === truth.choice) return 'string'
  return expression === null ? null : equalReadings(truth.readings, readings(expression), how)
}

/** Compares a bare answer with a truth. */
export function equalMath(truth: MathTruth, answer: string, how: Comparison): Decision | null {
  return sameAs(truth, { words: answer, expression: answer }, how)
}

/** The readings of `1,234`: as one number, then as two. */
function readings(text: string): Expression[] {
  const first = readAnswer(text)
  if (first === null) return []
  const pair = /^[\s$]*(-?\d+),(?!\d{3}[\s$]*$)(\d+)[\s$]*$/.exec(text)
  const other = pair ? readAnswer(`${pair[1]}.${pair[2]}`) : null
  const listed = /\d,\d{3}/.test(text) ? readAnswer(text, true) : null
  return [first, ...[other, listed].filter((reading) => reading !== null)]
}

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
