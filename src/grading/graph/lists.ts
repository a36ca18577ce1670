import { objectionAround } from '../answer/final-answer.ts'
import { isHidden } from '../answer/shown.ts'
import { asciiDigits, maxIntegerDigits, trimSpace, whiteSpace } from '../characters.ts'

/**
 * The contents of all `[...]` that close on their own line, in order. A `[` inside belongs to the text.
 * Linear.
 */
export function lineLists(text: string): string[] {
  const found: string[] = []
  const after = (mark: string, at: number): number => {
    const next = text.indexOf(mark, at)
    return next === -1 ? text.length : next
  }
  let open = after('[', 0)
  let close = -1
  let newline = -1
  while (open < text.length) {
    if (close < open) close = after(']', open)
    if (newline < open) newline = after('\n', open)
    if (close === text.length) break
    if (close < newline) found.push(text.slice(open + 1, close))
    open = after('[', Math.min(close, newline))
  }
  return found
}

/** The contents of all innermost `[...]`, across newlines, in order. Linear. */
export function innermostLists(text: string): string[] {
  const found: string[] = []
  let open = -1
  for (let at = 0; at < text.length; at++) {
    const unit = text.charCodeAt(at)
    if (unit === 0x5b) open = at
    else if (unit === 0x5d && open !== -1) {
      found.push(text.slice(open + 1, at))
      open = -1
    }
  }
  return found
}

const digitsAndCommas = new RegExp(`\\[([\\p{Nd},${whiteSpace}]+)\\]`, 'gu')
const capitalsAndCommas = new RegExp(`\\[([A-Z,${whiteSpace}]*)\\]`, 'gu')

/** Non-empty lists of digits, commas and white space, across newlines, in order. Linear: see `insides`. */
export const integerLists = (text: string): string[] => insides(text, digitsAndCommas)

/** Lists of ASCII capitals, commas and white space, possibly empty, in order. Linear. */
export const capitalLists = (text: string): string[] => insides(text, capitalsAndCommas)

/** Such a list cannot contain `[`, so a failed attempt ends before the next one starts: linear. */
const insides = (text: string, list: RegExp): string[] =>
  Array.from(text.matchAll(list), (match) => match[1] ?? '')

/** The numbers of an integer list. null if an item is blank or too long. */
export function integersOf(list: string): number[] | null {
  const numbers: number[] = []
  for (const piece of trimSpace(list).split(separators)) {
    if (piece === '' || [...piece].length > maxIntegerDigits) return null
    numbers.push(Number(asciiDigits(piece)))
  }
  return numbers
}

/** The trimmed items of a list of names. */
export function piecesOf(list: string): string[] {
  return list.split(',').map(trimSpace)
}

const separators = new RegExp(`[,${whiteSpace}]+`, 'u')

/** A text that starts with a list again. */
const nextList = /^[\s*_`$]*\[([^[\]]*)\]/

/** Words before an answer that make it the answer to another question. */
const unreal = /\bif\b[^.!?\n]{0,160}\b(?:would|could|might)\b[^.!?\n]{0,20}$/i

/** Whether the text before an answer says what it would be if things were otherwise. Constant time. */
export const isUnreal = (before: string): boolean => unreal.test(before.slice(-200))

/**
 * Whether a text commits to its last list: the words around it do not deny, doubt, condition or withdraw it, no mark
 * hides it, and no further lists stand beside it. `together`: how many lists are one answer. Linear.
 */
export function isCommittedTo(text: string, together: number): boolean {
  const end = text.lastIndexOf(']') + 1
  let start = text.lastIndexOf('[', end)
  let lists = 1
  for (; lists <= together; lists++) {
    const gap = /\][\s,;$]{0,8}(?:and\s{1,4})?$/.exec(text.slice(Math.max(0, start - 16), start))
    if (gap === null) break
    start = text.lastIndexOf('[', start - gap[0].length)
  }
  if (start < 0 || lists > together) return false
  const list = text.slice(start, end)
  const another = (next: string): 'same' | 'other' | null => {
    const found = nextList.exec(next.slice(0, 2000))?.[1]
    return found === undefined ? null : list.includes(found.trim()) ? 'same' : 'other'
  }
  const kind = {
    isVerbatim: true,
    read: (answer: string) => ({ answer, rest: '' }),
    same: (a: string, b: string) => a === b,
    another,
  }
  const place = { kind: 'tag', start, end, from: start, isClosed: true, text: list } as const
  return (
    !isHidden(text, start, end) &&
    !isUnreal(text.slice(0, start)) &&
    objectionAround(text, place, { answer: list, rest: '' }, kind) === null
  )
}
