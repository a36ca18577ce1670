import { type AnswerKind, type AnswerPlace, answerPlaces, finalAnswer } from './answer/final-answer.ts'
import { isBlank, trimSpace } from './characters.ts'
import { answeredText } from './tags.ts'

export type { AnswerPlace }
export { answerPlaces }

/** The answer's text without outer white space, or why there is none. */
export type PlacedAnswer = { readonly text: string } | { readonly reason: string }

const bare = (text: string): string => text.toLowerCase().replace(/^[\s*_"'`$]+|[\s*_"'`$.。!]+$/g, '')

/** Any text, as it was sent. */
const textKind: AnswerKind<string> = {
  isVerbatim: true,
  read(whole) {
    const text = trimSpace(whole)
    return isBlank(text) ? { reason: 'no_answer' } : { answer: text, rest: '' }
  },
  same: (a, b) => bare(a) === bare(b),
  another: (text, answer) =>
    bare(text.slice(0, answer.length + 40)).startsWith(bare(answer)) ? 'same' : null,
}

/** A whole text is its own answer: no words stand around it. */
function wholeAnswer(response: string): PlacedAnswer {
  const answer = answeredText(response)
  if (answer === null) return { reason: 'thinking_unclosed' }
  return isBlank(answer) ? { reason: 'no_answer' } : { text: trimSpace(answer) }
}

/**
 * The answer that a response states at a place: the last one, unless the words around it deny or doubt it, or
 * another one contradicts it. With `question`, a sentence that leads to it has words of the question, or words that
 * state a result.
 *
 * @example
 * ```ts
 * import { answerAt } from 'reward-gateway/grading'
 *
 * const answer = answerAt('<think>...</think> So it is \\boxed{42}.', 'boxed')
 * const text = 'text' in answer ? answer.text : null // '42'
 * ```
 */
export function answerAt(
  response: string,
  place: (typeof answerPlaces)[number],
  question?: string,
): PlacedAnswer {
  if (place === 'whole') return wholeAnswer(response)
  const found = finalAnswer(response, question ? { ...textKind, question } : textKind, [place])
  return 'answer' in found ? { text: found.answer } : { reason: found.reason }
}
