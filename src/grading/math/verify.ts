import { OverBudget } from './budget.ts'
import { equalAnswers } from './compare.ts'
import type { Comparison, Decision } from './decision.ts'
import type { Expression } from './expression.ts'
import { readAnswer } from './read-answer.ts'
import { finalStatement, type Statement, statementOf } from './statement.ts'
import { choiceLetter, chosenLetter, wording } from './wording.ts'

/** A ground truth, read once. */
export interface MathTruth {
  readonly wording: string
  readonly choice: string | null
  readonly readings: readonly Expression[]
}

/** What became of a response. */
export interface MathVerdict {
  /** How the answer was found equal; null: it was not. */
  readonly decision: Decision | null
  /** What was taken for the answer; null: the response holds none. */
  readonly extracted: string | null
}

/** A truth in LaTeX, plain text or words; of a whole solution its marked answer. null: nothing to compare with. */
export function readMathTruth(text: string): MathTruth | null {
  const whole = text.includes('\\boxed') ? [] : readings(text)
  const marked = whole.length > 0 ? null : statementOf(text)
  const answer = marked?.expression ?? marked?.words ?? text
  const words = wording(answer)
  if (words === '') return null
  return { wording: words, choice: choiceLetter(answer), readings: marked ? readings(answer) : whole }
}

/** Compares the final answer of a response with a truth. Pure; bounded by `budget`; never throws. */
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

/** Compares two answers without a response around them. */
export function equalMath(truth: MathTruth, answer: string, how: Comparison): Decision | null {
  return sameAs(truth, { words: answer, expression: answer }, how)
}

/** What `1,234` may say: first a number, then two. */
function readings(text: string): Expression[] {
  const first = readAnswer(text)
  if (first === null) return []
  const pair = /^[\s$]*(-?\d+),(?!\d{3}[\s$]*$)(\d+)[\s$]*$/.exec(text)
  const other = pair ? readAnswer(`${pair[1]}.${pair[2]}`) : null
  const listed = /\d,\d{3}/.test(text) ? readAnswer(text, true) : null
  return [first, ...[other, listed].filter((reading) => reading !== null)]
}

/** One side at least is read as it stands. */
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
