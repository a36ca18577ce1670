import type { Generation } from '../../../contract/index.ts'
import { afterThink } from '../../../grading/tags.ts'

/** What a judge said after its last `</think>`; null: it never ended its thoughts, so it gave no verdict. */
export function withoutThoughts(answer: Generation): Generation | null {
  const text = afterThink(answer.text)
  if (text === null) return null
  return text.length === answer.text.length ? answer : { ...answer, text }
}
