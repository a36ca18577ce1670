import type { Json } from '../sample/sample.ts'
import {
  eighthsOf,
  heapBytesPerEighth,
  type JsonLimits,
  type NonJsonLiteral,
  noJsonLimits,
  valueEighths,
} from './limits.ts'
import { JsonReader } from './reader.ts'

export { JsonLimitError, type NonJsonLiteral, UnreadRow } from './limits.ts'

import { isAscii } from 'node:buffer'
import { inSlices } from '../slices.ts'

/**
 * JSON as trainers send it: Python's NaN and Infinity literals are legal, integers beyond 2^53 are not silently rounded.
 * The strict parser reads almost every text; the scanner runs only where it fails or a number is that large.
 */

/** A text's value, with what strict JSON does not have. */
export interface ParsedText {
  /** Non-finite literals and too long integers stand as null. */
  readonly value: unknown
  /** The first of its kind in each row, and in each member of the root that holds no rows. */
  readonly oddities: readonly NonJsonLiteral[]
}

/** As ParsedText, with an estimate of the heap that the value takes, bytes; rather too much. */
interface SizedText extends ParsedText {
  readonly heapBytes: number
}

/**
 * Throws SyntaxError where the text is no JSON even with Python's literals, JsonLimitError where it holds more than
 * `maxValues` (see `valueEighths`). Linear in the text.
 */
export function parseJsonText(text: string, maxValues = Number.POSITIVE_INFINITY): ParsedText {
  const limits = { ...noJsonLimits, maxValues }
  return parseSmall(text, () => Buffer.from(text), text.length > 2 * maxValues, limits)
}

/** `isScanned`: the text may hold more than it may, so that it is scanned before it is parsed. */
function parseSmall(text: string, bytes: () => Buffer, isScanned: boolean, limits: JsonLimits): SizedText {
  if (!isScanned) {
    try {
      const value: unknown = JSON.parse(text)
      const eighths = eighthsOf(value)
      if (eighths >= 0 || !mayBeOdd.test(text)) {
        // What is very deep is not counted, and holds little but brackets.
        const counted = eighths >= 0 ? eighths : (text.length * valueEighths) / 2
        return { value, oddities: [], heapBytes: 2 * text.length + counted * heapBytesPerEighth }
      }
    } catch (error) {
      if (!text.includes('NaN') && !text.includes('Infinity')) throw error
    }
  }
  const reader = new JsonReader(bytes(), limits)
  while (reader.step());
  return reader
}

/** What is wrong where an integer was too long, its place below `where`; null: none was. */
export function tooLongInteger(
  oddities: readonly NonJsonLiteral[],
  where: readonly string[] = [],
): string | null {
  const tooLong = oddities.find(({ literal }) => /^-?\d+$/.test(literal))
  if (!tooLong) return null
  return `${[...where, ...tooLong.path].join('.')}: an integer beyond 2^53 would be rounded; send it as a string`
}

/** Where no such digits stand, no number was rounded, and none is infinite. */
const mayBeOdd = /\d{16}|[eE]\+?\d{3}/

/** True where a value nests deeper than `limit`. */
export function isDeeperThan(value: unknown, limit: number): boolean {
  if (value === null || typeof value !== 'object') return false
  if (limit === 0) return true
  if (Array.isArray(value)) {
    for (const child of value) if (isDeeperThan(child, limit - 1)) return true
    return false
  }
  // To list the values of tens of thousands of fields takes twice as long.
  const fields = value as Readonly<Record<string, unknown>>
  for (const name in fields) if (isDeeperThan(fields[name], limit - 1)) return true
  return false
}

/** The value as plain data: asserts nothing, since everything that JSON.parse makes is Json. */
export const asJson = (value: unknown): Json => value as Json

/** V8 gives a text beyond half a page of its heap, 128 KiB, pages of its own: those cost more than to parse it in parts. */
const longBytes = 100_000

/**
 * JSON from UTF-8 bytes, as parseJsonText reads it. A long body is read in slices: each holds up the event loop for some
 * milliseconds. `taken` hears how much of the heap the value takes so far, bytes; what it throws ends the reading.
 * Throws or rejects with SyntaxError, which is a JsonLimitError where the body holds more than it may.
 */
export function parseJsonBytes(
  bytes: Buffer,
  limits: JsonLimits = noJsonLimits,
  taken: (heapBytes: number) => void = () => {},
): SizedText | Promise<SizedText> {
  // So few bytes hold no more values than a row may.
  if (bytes.length <= Math.min(longBytes, 2 * limits.maxValues)) {
    const text = bytes.toString(isAscii(bytes) ? 'latin1' : 'utf8')
    const small = parseSmall(text, () => bytes, false, limits)
    taken(small.heapBytes)
    return small
  }
  const reader = new JsonReader(bytes, limits)
  const reading = inSlices(
    () => {
      const isMore = reader.step()
      taken(reader.heapBytes)
      return isMore
    },
    undefined,
    1,
  )
  return reading === null ? reader : reading.then(() => reader)
}
