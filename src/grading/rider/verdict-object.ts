import { isObject } from '../json/identity.ts'
import { type JsonReading, type JsonValue, readJson } from '../json/json.ts'

const innermost = /\{[^{}]*\}/g

/** The `{...}` pieces of a text that hold no braces, in their order. */
export const innermostObjects = (text: string): string[] => text.match(innermost) ?? []

/** Something is said here, or more JSON stands here. A code fence with its language says nothing. */
const says = /[\p{L}\p{N}{}]/u

/**
 * The only object of a judge's reply, at its end; read tolerantly where it is not strict JSON. null: none, several, or
 * something is said after it, which could take it back.
 */
export function soleObject(text: string): JsonReading | null {
  const [piece, ...others] = innermostObjects(text)
  if (piece === undefined || others.length > 0) return null
  const at = text.indexOf(piece)
  const rest = text.slice(at + piece.length)
  if (says.test(rest) || /[{}]/.test(text.slice(0, at))) return null
  return readJson(piece) ?? readJson(mended(piece))
}

/** Quotes of any form straightened, backslashes and a final comma deleted, keys quoted. */
function mended(piece: string): string {
  const inside = piece
    .slice(1, -1)
    .replaceAll('\\', '')
    .replace(/[“”„‟＂]/g, '"')
    .replace(/[‘’＇]/g, "'")
    .replaceAll('：', ':')
    .replaceAll('，', ',')
    .trim()
  const whole = `{${inside.endsWith(',') ? inside.slice(0, -1) : inside}}`
  return whole
    .replace(/([{,]\s*)'([^'"{},:]*)'/g, '$1"$2"')
    .replace(/([{,]\s*)([^\s"'{},:][^"'{},:]*):/g, (_, before, key) => `${before}"${key.trim()}":`)
}

/** A verdict's marks by dimension: every key allowed, none twice, each value exactly 0 or 1; null: anything else. */
export function readMarks(
  reading: JsonReading | null,
  allowed: readonly string[],
): ReadonlyMap<string, number> | null {
  if (!reading || reading.repeatedKeys || !isObject(reading.value) || reading.value.size === 0) return null
  const marks = new Map<string, number>()
  for (const [key, value] of reading.value) {
    if (!allowed.includes(key) || !isMark(value)) return null
    marks.set(key, value)
  }
  return marks
}

const isMark = (value: JsonValue): value is 0 | 1 => value === 0 || value === 1
