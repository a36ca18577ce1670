import { hasForeignWords } from '../answer/known-words.ts'
import { disownsNext, isDisowned, leadIn, leadingSentence, leadWithin } from '../answer/lead-in.ts'
import { firstTurn, withoutComments } from '../answer/shown.ts'
import { isWithdrawn } from '../answer/withdrawal.ts'
import { isHedged, isMocked } from '../answer/wording.ts'
import { answerAt } from '../answer-place.ts'
import { closingBrace, latexText } from '../latex.ts'
import { isPartOfFormula } from '../math/around.ts'
import { readDecimal } from '../number-answer.ts'
import { afterThink } from '../tags.ts'
import { isUnreal } from './lists.ts'
import { type AnswerMark, afterHashes, graphWords, inBrackets, isStray, withoutFinalMarks } from './wiz.ts'

/** The list in the last box after the thinking, without LaTeX. '' if there is none. */
export function strictBoxedListText(response: string, place: AnswerMark, asksForList: boolean): string {
  const text = place === 'box' ? boxedText(response) : committedLine(response)
  return text === null || !holdsOneList(latexText(text)) ? '' : inBrackets(latexText(text), asksForList)
}

/** The text of the last box, unless the words around it take it back. null: none. */
export function boxedText(response: string): string | null {
  const box = answerAt(response, 'boxed')
  if (!('text' in box) || isUnreal(response.slice(0, response.lastIndexOf('\\boxed')))) return null
  const shown = firstTurn(withoutComments(afterThink(response) ?? ''))
  const start = shown.lastIndexOf('\\boxed')
  const end = closingBrace(shown, shown.indexOf('{', start) + 1)
  return isPartOfFormula(shown, start, end + 1) ? null : box.text
}

/** Whether a text has at most one outermost list, and around it only words that take nothing back. Linear. */
function holdsOneList(text: string): boolean {
  const open = text.indexOf('[')
  const close = text.lastIndexOf(']')
  if (open < 0 || close < open) return true
  let depth = 0
  for (let at = open; at < close; at++) {
    if (text[at] === '[') depth++
    else if (text[at] === ']' && --depth === 0) return false
  }
  const around = `${text.slice(0, open)} ${text.slice(close + 1)}`
  return (
    /^[\s\p{L}:=*_$.,()"'`]{0,80}$/u.test(around) &&
    !isHedged(around) &&
    leadWithin(around) === null &&
    !isStray(around, 'list path route tour order clique set cover nodes names such one found')
  )
}

/**
 * The first line after the last `###` after the thinking. null: none, or the text around it denies it or takes it back.
 * Comments are not read.
 */
export function committedLine(
  response: string,
  readValue?: (line: string) => string | null,
  question = '',
): string | null {
  const answered = afterThink(response) ?? ''
  if (isDisowned(response) || isDisowned(answered)) return null
  const shown = firstTurn(withoutComments(answered))
  const found = afterHashes(shown)
  const before = shown.slice(0, shown.length - (found?.length ?? 0) - 3)
  if (found === null || leadIn(before) !== null || disownsNext(before, question)) return null
  if (question !== '' && hasForeignWords(leadingSentence(before), `${question} ${graphWords}`)) return null
  const line = shown.slice(0, hashesStart(shown, shown.length - found.length))
  // The mark is no part of a formula, a word or a list, and stands behind no other one in its line.
  const own = line.slice(line.lastIndexOf('\n') + 1)
  if (/(?:[={(<≈~\\]|\p{L}-|\b(?:or|of|equals|and|vs))\s*$/u.test(own) || own.includes('###')) return null
  if (
    /\\[^.]{0,24}$/.test(own.slice(-30)) ||
    (/:\W*$/.test(own.slice(-60)) && leadWithin(own.slice(-60)) !== null)
  )
    return null
  const text = found.trimStart()
  const end = text.indexOf('\n') >>> 0
  const answer = text.slice(0, end)
  const value = readValue?.(answer) ?? null
  const rest = text.slice(end, end + longestRest)
  const later = value === null ? withLists(rest, answer) : withValues(rest, value)
  const another = (next: string) => sortOf(next, value)
  if (isWithdrawn(later, another) || isMocked(answer)) return null
  return value !== null && isContradicted(before, value, readValue) ? null : answer
}

const longestRest = 20_000
const [sameMark, otherMark] = ['7000000001', '7000000002']

/** A text in which `Yes` and `No` as answers are numbers, as the readers of prose compare them. */
const withValues = (text: string, value: string): string =>
  text.replace(/(?<![\p{L}\p{N}])(?:Yes|No|YES|NO)(?=\W*(?:$|\n|[.!]\s))/gu, (word) =>
    word.toLowerCase() === value ? sameMark : otherMark,
  )

/** A text in which lists are numbers that tell the list of an answer from others. */
const withLists = (text: string, answer: string): string =>
  answer.includes('[')
    ? text.replace(/\[[^[\]\n]{1,400}\]/g, (list) => (answer.includes(list) ? sameMark : otherMark))
    : text

function sortOf(text: string, value: string | null): 'same' | 'other' | null {
  if (text.startsWith(sameMark)) return 'same'
  if (text.startsWith(otherMark)) return 'other'
  if (value === null || !/^\d/.test(value)) return null
  const number = /^-?\d[\d.,]*/.exec(text)?.[0]
  return number === undefined ? null : readDecimal(withoutFinalMarks(number)) === value ? 'same' : 'other'
}

/** What leads from one marked line to the next without correcting it. */
const announcing = /\b(?:the|final|answer|answers|is|or|and|so|it|result|also)\b|[^\p{L}]/giu

/** Whether the line marked before holds another answer, and no word leads from it to the last. */
function isContradicted(before: string, value: string, readValue?: (line: string) => string | null): boolean {
  const near = before.slice(-600)
  const mark = near.lastIndexOf('###')
  if (mark < 0) return false
  const [line = '', ...gap] = near
    .slice(mark + 3)
    .trimStart()
    .split('\n')
  const earlier = readValue?.(line) ?? null
  return earlier !== null && earlier !== value && gap.join(' ').replace(announcing, '') === ''
}

/** Where the run of hashes that ends at an offset starts. */
function hashesStart(text: string, end: number): number {
  let start = end
  while (text[start - 1] === '#') start--
  return start
}
