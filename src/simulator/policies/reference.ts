import { finalNumber, readNumber } from '../numbers.ts'
import type { AnswerTable } from './answers.ts'
import { arithmeticPolicy } from './arithmetic.ts'
import type { Policy } from './policy.ts'

/** Knows the right answers: compares final numbers, or texts where the right answer is none. Else checks the steps. */
export function referencePolicy(answers: AnswerTable): Policy {
  return (prompt, draw) => {
    const expected = answers.expected(prompt)
    if (expected === null) return arithmeticPolicy(prompt, draw)
    const isRight = matches(prompt.answer, expected)
    return { score: isRight ? 1 : 0, reason: isRight ? 'The answer is right.' : 'The answer is not right.' }
  }
}

function matches(answer: string, expected: string): boolean {
  const wanted = readNumber(expected) ?? (expected.includes('####') ? finalNumber(expected) : null)
  if (wanted === null) return answer.includes(expected.trim()) && expected.trim() !== ''
  const given = finalNumber(answer)
  return given !== null && Math.abs(given - wanted) <= Math.abs(wanted) * 1e-9
}
