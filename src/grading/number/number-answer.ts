import { countCodePoints } from '../code-points.ts'
import { compatible } from '../compatible.ts'
import { afterThink } from '../think.ts'
import { answerMarkers, boxedNumbers, hasWords, settledAnswer } from './answer-marker.ts'
import { lastNumber } from './last-number.ts'

/** A final number as a response states it. */
export interface NumberAnswer {
  /** The marked number; null: marked, but no number to go by; undefined: nothing is marked. */
  readonly marked: string | null | undefined
  /** The last number, where it counts; null: unreadable; undefined: none. */
  readonly loose: string | null | undefined
  /** Code points from the last marker to the end of the text. */
  readonly tail?: number
  readonly reason?: 'no_words' | 'thinking_unclosed' | 'no_number_after_marker' | 'contradiction'
}

const nothing = { marked: undefined, loose: undefined }

/** The answer after thinking: the number that all `####` (with `boxes`, else all numeric boxes) agree on, else the last number. */
export function numberAnswer(response: string, boxes = false): NumberAnswer {
  const text = compatible(response)
  if (!hasWords(text)) return { ...nothing, reason: 'no_words' }
  const answer = afterThink(text)
  if (answer === null) return { ...nothing, reason: 'thinking_unclosed' }
  const markers = answerMarkers(answer)
  if (markers.at(-1)?.value === null) return { ...nothing, reason: 'no_number_after_marker' }
  const marks = markers.length === 0 && boxes ? boxedNumbers(answer) : markers
  if (marks.length === 0) return { marked: undefined, loose: lastNumber(answer) }
  const marked = settledAnswer(answer, marks)
  const tail = countCodePoints(answer.slice(marks.at(-1)?.start))
  const reading = { marked, loose: undefined, tail }
  return marked === null ? { ...reading, reason: 'contradiction' } : reading
}

/** For a score's details: the number that counts, and why it earns less than full marks. */
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

/** GSM8K's progressive credit: marked and right, right, marked, a number, nothing. */
export function progressiveCredit(
  { marked, loose }: NumberAnswer,
  isRight: (answer: string) => boolean,
): number {
  if (typeof marked === 'string' && isRight(marked)) return 1
  if (typeof loose === 'string' && isRight(loose)) return 0.8
  if (marked !== undefined) return 0.1
  return loose !== undefined ? 0.05 : 0
}

/** What published graders find, in the same form. */
export const publishedNumbers = (marked: string | null, loose: string | null): NumberAnswer => ({
  marked: marked ?? undefined,
  loose: loose ?? undefined,
})
