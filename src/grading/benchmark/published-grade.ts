import type { Benchmark } from './ground-truth.ts'
import { publishedAnswer } from './published-answer.ts'
import { readChoice } from './published-choice.ts'
import { publishedEqual } from './published-equal.ts'

/** What the harness takes for the answer, and whether it is right. */
export interface PublishedGrade {
  readonly extracted: string
  readonly correct: boolean
}

/** The grade that the harness gives a response; `truth` is prepared. null: an answer too long to be stripped in time. */
export function publishedGrade(response: string, truth: string, benchmark: Benchmark): PublishedGrade | null {
  const found = publishedAnswer(response, benchmark)
  if (found === null) return null
  const extracted = gradedAnswer(found, response, truth)
  return { extracted, correct: publishedEqual(extracted, truth) }
}

/** What is compared where the truth is one letter, or letters: the response's choice, or the answer's own letters. */
export function gradedAnswer(answer: string, response: string, truth: string): string {
  if (/^[A-E]$/.test(truth)) return /^[A-E]$/.test(answer) ? answer : readChoice(response)
  return /^[A-E]*$/.test(truth) && /[^A-E]/.test(answer) ? answer.replace(/[^A-E]/g, '') : answer
}
