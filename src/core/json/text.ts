/**
 * JSON as trainers send it. Python's NaN and Infinity are accepted, and integers beyond 2^53 are never
 * rounded silently. The strict parser reads almost every text; the scanner runs only if it fails or if a
 * number is that large.
 */
import { isAscii } from 'node:buffer'
import type { Json } from '../sample/sample.ts'
import { inSlices } from '../slices.ts'
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

/** A parsed text and the literals that strict JSON does not allow. */
export interface ParsedText {
  /** Non-finite literals and oversized integers are null. */
  readonly value: unknown
  /** The first of each kind, in each row and in each member of the root without rows. */
  readonly literals: readonly NonJsonLiteral[]
}

/** A ParsedText with the estimated heap use of its value in bytes, rounded up. */
interface SizedText extends ParsedText {
  readonly heapBytes: number
}

/**
 * Parses a text. Throws SyntaxError if it is not JSON, even with Python's literals, and JsonLimitError if it
 * exceeds `maxValues` (see `valueEighths`). Linear time.
 */
export function parseJsonText(text: string, maxValues = Number.POSITIVE_INFINITY): ParsedText {
  const limits = { ...noJsonLimits, maxValues }
  return parseSmall(text, () => Buffer.from(text), text.length > 2 * maxValues, limits)
}

/** `isScanned`: the text may exceed the limits, so it is scanned before it is parsed. */
function parseSmall(text: string, bytes: () => Buffer, isScanned: boolean, limits: JsonLimits): SizedText {
  if (!isScanned) {
    try {
      const value: unknown = JSON.parse(text)
      const eighths = eighthsOf(value)
      if (eighths >= 0 || !mayBeOdd.test(text)) {
        // Very deep text is not counted. It holds little but brackets.
        const counted = eighths >= 0 ? eighths : (text.length * valueEighths) / 2
        return { value, literals: [], heapBytes: 2 * text.length + counted * heapBytesPerEighth }
      }
    } catch (error) {
      if (!text.includes('NaN') && !text.includes('Infinity')) throw error
    }
  }
  const reader = new JsonReader(bytes(), limits)
  while (reader.step());
  return reader
}

/** The message for an oversized integer, with its place below `where`, or null. */
export function tooLongInteger(
  literals: readonly NonJsonLiteral[],
  where: readonly string[] = [],
): string | null {
  const tooLong = literals.find(({ literal }) => /^-?\d+$/.test(literal))
  if (!tooLong) return null
  return `${[...where, ...tooLong.path].join('.')}: an integer beyond 2^53 would be rounded; send it as a string`
}

/** Without such digits, no number was rounded and none is infinite. */
const mayBeOdd = /\d{16}|[eE]\+?\d{3}/

export function isDeeperThan(value: unknown, limit: number): boolean {
  if (value === null || typeof value !== 'object') return false
  if (limit === 0) return true
  if (Array.isArray(value)) {
    for (const child of value) if (isDeeperThan(child, limit - 1)) return true
    return false
  }
  // Object.values takes twice as long on tens of thousands of fields.
  const fields = value as Readonly<Record<string, unknown>>
  for (const name in fields) if (isDeeperThan(fields[name], limit - 1)) return true
  return false
}

/** The value as plain data. Nothing needs checking, since everything that JSON.parse returns is Json. */
export const asJson = (value: unknown): Json => value as Json

/**
 * V8 gives strings beyond half a heap page (128 KiB) pages of their own, which costs more than parsing in
 * parts.
 */
const longBytes = 100_000

/**
 * Parses UTF-8 bytes like parseJsonText. A long body is read in slices that block the event loop for some
 * milliseconds each. `taken` receives the heap use so far in bytes; if it throws, reading stops. Throws or
 * rejects with SyntaxError, or JsonLimitError if the body exceeds the limits.
 */
export function parseJsonBytes(
  bytes: Buffer,
  limits: JsonLimits = noJsonLimits,
  taken: (heapBytes: number) => void = () => {},
): SizedText | Promise<SizedText> {
  // A body of this size cannot hold more values than a row may.
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

/** A backslash with what it escapes. JSON.stringify writes a surrogate as an escape only if it is half of a character. */
const escaped = /\\(?:u(d[89a-f][\da-f]{2})|.)/gs

/**
 * A JSON line that every reader accepts. Half of a character, which a policy may write, becomes U+FFFD: DuckDB refuses
 * a file with one of them.
 */
export function jsonLine(value: unknown): string {
  const text = JSON.stringify(value)
  const whole = text.includes('\\ud')
    ? text.replace(escaped, (all, half: string | undefined) => (half === undefined ? all : '\\ufffd'))
    : text
  return `${whole}\n`
}
