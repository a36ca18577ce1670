import { whiteSpace } from '../white-space.ts'
import { readDecimal, unsigned } from './decimal.ts'

/** A place where a response says that its final answer follows. */
export interface Marker {
  /** UTF-16 offsets: of the marker, and of the end of its number (of the marker, where it has none). */
  readonly start: number
  readonly end: number
  /** The number's one spelling; null: no number follows. */
  readonly value: string | null
}

const wrapper = '(?:\\*|\\\\\\(|\\\\?\\$|[€£¥]|\\\\boxed\\{)'
/** What may follow a number: the end, or anything but a digit, a letter or a dot or comma inside a longer number. */
const border = `(?![\\p{Nd}\\p{L}]|[.,](?![${whiteSpace}*}]|$))`
const number = new RegExp(`[ \\t]*${wrapper}*([+-]?${unsigned})${border}`, 'uy')

/** Every run of four or more `#` of a text in NFKC form, and the number after it on the same line. */
export function answerMarkers(text: string): Marker[] {
  return Array.from(text.matchAll(/#{4,}/g), ({ index: start, 0: run }) => {
    number.lastIndex = start + run.length
    const digits = number.exec(text)?.[1]
    return digits === undefined
      ? { start, end: start + run.length, value: null }
      : { start, end: number.lastIndex, value: readDecimal(digits) }
  })
}

const box = new RegExp(`\\\\boxed\\{[ \\t]*(?:\\\\?\\$)?([+-]?${unsigned})[ \\t]*\\}`, 'g')

/** Every `\boxed{...}` that holds a number and nothing else, a `$` apart. */
export function boxedNumbers(text: string): Marker[] {
  return Array.from(text.matchAll(box), ({ index: start, 0: all, 1: digits = '' }) => {
    return { start, end: start + all.length, value: readDecimal(digits) }
  })
}

/** The number that all readable markers agree on, or the last one after a correction in words; null: contradiction, or none. */
export function settledAnswer(text: string, markers: readonly Marker[]): string | null {
  const readable = markers.filter((marker) => marker.value !== null)
  const last = readable.at(-1)
  if (!last) return null
  if (readable.every((marker) => marker.value === last.value)) return last.value
  const previous = readable.at(-2)
  return /\p{L}/u.test(text.slice(previous?.end, last.start)) ? last.value : null
}

/** True where some line without a `####` holds a letter: a bare answer shows no work. */
export function hasWords(text: string): boolean {
  return text.split(/[\n\r]/).some((line) => !line.includes('####') && /\p{L}/u.test(line))
}
