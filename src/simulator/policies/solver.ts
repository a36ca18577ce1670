import { hashOf, uniform } from '../hash.ts'
import { readNumber } from '../numbers.ts'
import type { AnswerTable } from './answers.ts'
import type { Policy } from './policy.ts'

/** How often a problem is solved: one share for all, or by a piece of the question; absent pieces: 0.5. */
export type SuccessRate = number | Readonly<Record<string, number>>

/**
 * A policy that answers problems rather than judges answers: right with a known rate, by question and draw. A problem
 * that the table lacks has a made-up right answer, the same every time.
 */
export function solverPolicy(answers: AnswerTable, rate: SuccessRate): Policy {
  return (prompt, { seed, index }) => {
    const question = prompt.turns.findLast((turn) => turn.role === 'user')?.content ?? prompt.text
    const right = answers.lookUp(question) ?? String(hashOf('right', question) % 100)
    const isRight = uniform(seed, 'solve', question, index) < rateOf(question, rate)
    return worked(isRight ? right : mistaken(right, hashOf(seed, 'mistake', question, index)))
  }
}

function rateOf(question: string, rate: SuccessRate): number {
  if (typeof rate === 'number') return rate
  const piece = Object.keys(rate).find((key) => question.includes(key))
  return piece === undefined ? 0.5 : (rate[piece] ?? 0.5)
}

/** Off by one to nine. */
function mistaken(right: string, hash: number): string {
  const value = readNumber(right)
  return value === null ? 'I do not know' : String(value + 1 + (hash % 9))
}

function worked(answer: string): string {
  const value = readNumber(answer)
  const step = value === null ? '' : `${value - 1} + 1 = ${value}. `
  return `Let us take it step by step. ${step}The answer is ${answer}.\n#### ${answer}`
}
