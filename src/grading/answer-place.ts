import { isBlank } from '../core/sample/sample.ts'
import { trimSpace } from './characters.ts'
import { boxContents } from './latex.ts'
import { afterThink, blocks, isNested, soleBetween } from './tags.ts'

/** Where a response may state its answer, after its thinking. `whole` is the whole text. */
export const answerPlaces = ['whole', 'tag', 'boxed', 'hashes', 'last_line'] as const
export type AnswerPlace = (typeof answerPlaces)[number]

/** The answer's text without outer white space, or why there is none. */
export type PlacedAnswer =
  | { readonly text: string }
  | { readonly reason: 'thinking_unclosed' | 'no_answer' | 'contradiction' }

/**
 * The answer that a response states at a place: the only `<answer>`, or what all boxes or all lines after
 * `####` agree on.
 *
 * @example
 * ```ts
 * import { answerAt } from 'reward-gateway/grading'
 *
 * const answer = answerAt('<think>...</think> So it is \\boxed{42}.', 'boxed')
 * const text = 'text' in answer ? answer.text : null // '42'
 * ```
 */
export function answerAt(response: string, place: AnswerPlace): PlacedAnswer {
  const answer = afterThink(response)
  if (answer === null) return { reason: 'thinking_unclosed' }
  if (place === 'tag' && isNested(answer, '<answer>', '</answer>')) return { reason: 'contradiction' }
  const stated = statements[place](answer).map(trimSpace)
  const [first] = stated
  if (first === undefined || isBlank(first)) return { reason: 'no_answer' }
  return stated.every((text) => text === first) ? { text: first } : { reason: 'contradiction' }
}

const statements: Readonly<Record<AnswerPlace, (text: string) => readonly string[]>> = {
  whole: (text) => [text],
  tag(text) {
    const sole = soleBetween(text, '<answer>', '</answer>')
    return sole === null ? blocks(text, '<answer>', '</answer>') : [sole]
  },
  boxed: boxContents,
  hashes: (text) => Array.from(text.matchAll(/#{4,}([^\n]*)/g), ([, line = '']) => line),
  last_line: (text) => [trimSpace(text).split('\n').at(-1) ?? ''],
}
