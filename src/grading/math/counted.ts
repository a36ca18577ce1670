import { namesAsked } from '../answer/asked-unit.ts'
import { nameOf } from '../answer/known-words.ts'
import { unmarkedNumber } from '../answer/unmarked-number.ts'
import { numberWords } from '../number-words.ts'

const counts = new RegExp(
  `(?<![\\p{L}\\d.,])(?:\\d{1,9}|${numberWords.slice(0, 21).join('|')})\\s((?:\\p{L}+\\s){0,2}?)(\\p{L}{3,})(?!\\p{L})`,
  'giu',
)
const breaks = /[,;:—–]\s/g

/**
 * How many there are, as the last sentence says of what a question asks `how many` of: `2, 5 and 8, so it has three
 * solutions`. null: it does not say.
 */
export function countedAtEnd(text: string, question: string): string | null {
  if (!/\bhow\s+many\b/i.test(question)) return null
  const asked = namesAsked(question)
  const line = text.slice(Math.max(text.lastIndexOf('\n') + 1, text.length - 400))
  const sentence = line.slice(line.search(/(?<=[.!?]\s)[^.!?]*[.!?]?\s*$/) >>> 0) || line
  const found = Array.from(sentence.matchAll(counts)).findLast(([, , thing = '']) =>
    asked.has(nameOf(thing.toLowerCase())),
  )
  if (found === undefined) return null
  const before = sentence.slice(0, found.index)
  const from = Math.max(
    0,
    ...Array.from(before.matchAll(breaks), ({ index, 0: sign }) => index + sign.length),
  )
  const end = found.index + found[0].length
  // What goes on behind it in words may be another one.
  if (/^\s*(?:or|and|but|if|unless)\b/i.test(sentence.slice(end))) return null
  const stated = unmarkedNumber(`${sentence.slice(from, end)}.`, question)
  return 'answer' in stated ? stated.answer.written : null
}
