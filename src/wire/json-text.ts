/**
 * JSON as trainers send it: Python's NaN and Infinity literals are legal, integers beyond 2^53 are not silently rounded.
 * The strict parser reads almost every body; the scanner below runs only where it fails or a number is that large.
 */
import type { Json } from '../sample/json.ts'

/** A literal that JSON or a double cannot carry, at its place in the parsed value. */
export interface Oddity {
  readonly path: readonly (string | number)[]
  /** `NaN`, `Infinity`, `-Infinity`, or the integer's digits. */
  readonly literal: string
}

/** A text's value, with what strict JSON does not have. */
export interface ParsedText {
  /** Non-finite literals and too long integers stand as null. */
  readonly value: unknown
  readonly oddities: readonly Oddity[]
}

const manyDigits = /\d{16}/
const depthLimit = 512

/** Throws SyntaxError where the text is no JSON even with Python's literals. Linear in the text. */
export function parseJsonText(text: string): ParsedText {
  try {
    const value: unknown = JSON.parse(text)
    if (!mayBeRounded(value) || !manyDigits.test(text)) return { value, oddities: [] }
  } catch (error) {
    if (!text.includes('NaN') && !text.includes('Infinity')) throw error
  }
  const literals: string[] = []
  const marker = unusedMarker(text)
  const readable = withMarkers(text, marker, literals)
  const oddities: Oddity[] = []
  const value = restored(JSON.parse(readable), marker, literals, [], oddities)
  return { value, oddities }
}

/** What is wrong where an integer was too long, its place below `where`; null: none was. */
export function tooLongInteger(oddities: readonly Oddity[], where: readonly string[] = []): string | null {
  const tooLong = oddities.find(({ literal }) => /\d/.test(literal))
  if (!tooLong) return null
  return `${[...where, ...tooLong.path].join('.')}: an integer beyond 2^53 would be rounded; send it as a string`
}

/** False where no number in a parsed value can have been a longer integer; what is very deep is not looked into. */
export function mayBeRounded(value: unknown, depth = 0): boolean {
  if (typeof value === 'number') return !(Math.abs(value) < 2 ** 53)
  if (value === null || typeof value !== 'object') return false
  if (depth === depthLimit) return true
  if (Array.isArray(value)) {
    for (const item of value) if (mayBeRounded(item, depth + 1)) return true
    return false
  }
  for (const key in value) {
    if (mayBeRounded((value as Record<string, unknown>)[key], depth + 1)) return true
  }
  return false
}

/** True where a value nests deeper than `limit`. */
export function isDeeperThan(value: unknown, limit: number): boolean {
  if (value === null || typeof value !== 'object') return false
  if (limit === 0) return true
  for (const child of Object.values(value)) if (isDeeperThan(child, limit - 1)) return true
  return false
}

/** The value as plain data: asserts nothing, since everything that JSON.parse makes is Json. */
export const asJson = (value: unknown): Json => value as Json

const token = /[-\w.+]+/y

/** Replaces what JSON cannot carry, outside of strings, by marker strings. One pass. */
function withMarkers(text: string, marker: string, literals: string[]): string {
  const pieces: string[] = []
  let kept = 0
  for (let at = 0; at < text.length; ) {
    if (text[at] === '"') {
      at = endOfString(text, at)
      continue
    }
    token.lastIndex = at
    const word = token.exec(text)?.[0]
    if (word === undefined) {
      at++
      continue
    }
    if (isOdd(word)) {
      pieces.push(text.slice(kept, at), `"${marker}${literals.length}"`)
      literals.push(word)
      kept = at + word.length
    }
    at += word.length
  }
  return pieces.join('') + text.slice(kept)
}

function endOfString(text: string, start: number): number {
  for (let at = start + 1; at < text.length; at++) {
    const char = text.charCodeAt(at)
    if (char === 0x22) return at + 1
    if (char === 0x5c) at++
  }
  return text.length
}

const nonFinite: readonly string[] = ['NaN', 'Infinity', '-Infinity']

const isOdd = (word: string): boolean =>
  nonFinite.includes(word) || (/^-?\d{16,}$/.test(word) && !Number.isSafeInteger(Number(word)))

function unusedMarker(text: string): string {
  let marker = '\u2063odd'
  while (text.includes(marker)) marker += '\u2063'
  return marker
}

function restored(
  value: unknown,
  marker: string,
  literals: readonly string[],
  path: readonly (string | number)[],
  found: Oddity[],
): unknown {
  if (typeof value === 'string') {
    if (!value.startsWith(marker)) return value
    found.push({ path, literal: literals[Number(value.slice(marker.length))] ?? '' })
    return null
  }
  if (value === null || typeof value !== 'object') return value
  if (path.length >= depthLimit) throw new SyntaxError(`nested deeper than ${depthLimit}`)
  if (Array.isArray(value)) {
    for (const [index, item] of value.entries()) {
      value[index] = restored(item, marker, literals, [...path, index], found)
    }
    return value
  }
  for (const [key, item] of Object.entries(value)) {
    const kept = restored(item, marker, literals, [...path, key], found)
    Object.defineProperty(value, key, { value: kept, enumerable: true, writable: true, configurable: true })
  }
  return value
}
