import { isNested } from '../tags.ts'
import { afterThink } from '../think.ts'
import { lastBoxes } from './boxes.ts'
import { lastExpression } from './candidates.ts'
import { readAnswer } from './read-answer.ts'

/** What a response commits to. */
export interface Statement {
  /** As it was written: for comparison with answers in words. */
  readonly words: string
  /** The expression in it; null: none. */
  readonly expression: string | null
}

const phrases =
  /(?:final\s+answer|(?<![\p{L}])answer|correct\s+(?:option|choice))(?:\s*\*{0,2}\s*(?:is\b|would\s+be\b|must\s+be\b|[:：=])|(?=\s*\*\*))|答案(?:是|为|[:：])|<answer>|#{4,}/giu
const longest = 20_000
const endOfSentence = /\.\s+(?=[\p{Lu}*<])|\.?\s*I hope it is correct|<\/answer>|<\||[.!?]\s*$/u
const percent = /^\s*\$?\s*(?:\\?%|percent\b|pct\b)/

/** The one answer of a response: boxed or announced, whichever comes last, else its last expression. null: none. */
export function finalStatement(response: string): Statement | null {
  const answered = afterThink(response)
  if (answered === null) return null
  // An answer in an answer says two things.
  if (isNested(answered, '<answer>', '</answer>') && answered.includes('<answer>')) return null
  return statementOf(answered) ?? unmarked(answered)
}

/** The answer that a text marks as such; null: it marks none, or marks nothing. */
export function statementOf(text: string): Statement | null {
  const boxed = lastBoxes(text)
  const tail = text.length > longest ? text.slice(-longest) : text
  const phrase = Array.from(tail.matchAll(phrases)).at(-1)
  const announced = phrase && text.length - tail.length + phrase.index + phrase[0].length
  if (announced !== undefined && (boxed === null || announced > boxed.end)) {
    const statement = announcedIn(text.slice(announced, announced + 2000))
    if (statement || boxed === null) return statement ?? { words: '', expression: null }
  }
  if (boxed === null) return null
  const words = boxed.contents.join(', ')
  const isPercent = percent.test(text.slice(boxed.end, boxed.end + 20)) && !/%|percent/.test(words)
  return { words, expression: isPercent ? `${words}%` : words }
}

function announcedIn(rest: string): Statement | null {
  const [line = ''] = rest.replace(/^[\s:：*_=]+/, '').split(/\n\s*\n|\n(?=[A-Z])/, 1)
  const sentence = line
    .slice(0, line.search(endOfSentence) >>> 0)
    .replace(/\*\*/g, '')
    .trim()
  if (sentence === '') return null
  return { words: sentence, expression: wholeExpression(sentence) ?? lastExpression(sentence) }
}

/** A response that marks nothing: itself if it is an expression, else the last expression in it. */
function unmarked(text: string): Statement | null {
  const trimmed = text.trim()
  if (trimmed === '') return null
  const expression =
    (trimmed.length <= 400 ? wholeExpression(trimmed) : null) ?? lastExpression(trimmed.slice(-longest))
  return { words: trimmed.length <= 400 ? trimmed : '', expression }
}

const wholeExpression = (text: string): string | null => (readAnswer(text) === null ? null : text)
