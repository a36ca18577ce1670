/** Reads texts of Python literals, as repr() writes them. */
import { maxIntegerDigits } from './characters.ts'
import type { JsonValue } from './json/json.ts'

const space = /[ \t\n\r\f]*/y
const word = /None|True|False/y
const number =
  /[-+]?(?:0[xX](?:_?[0-9a-fA-F])+|(?:[0-9](?:_?[0-9])*)?\.?(?:[0-9](?:_?[0-9])*)?(?:[eE][-+]?[0-9](?:_?[0-9])*)?)/y
const plainText = /[^\\'"\n\r]*/y
const words = new Map<string, JsonValue>([
  ['None', null],
  ['True', true],
  ['False', false],
])
const escapes = new Map([
  ['n', '\n'],
  ['r', '\r'],
  ['t', '\t'],
  ['\\', '\\'],
  ["'", "'"],
  ['"', '"'],
])

/**
 * Reads a Python list of numbers, texts, `None`, `True`, `False` and lists. null: invalid. Tuples, sets,
 * dictionaries, bytes and rarer escapes are not supported.
 */
export function readPythonList(text: string, maxDepth = 90): readonly JsonValue[] | null {
  const value = readLiteral(text, maxDepth, false)
  return Array.isArray(value) ? value : null
}

/**
 * Reads a Python literal as repr() writes it: lists and dictionaries of texts, numbers, `None`, `True` and `False`.
 * undefined: it is none. Keys are texts. Integers that a double cannot hold are bigint.
 */
export const readPythonLiteral = (text: string, maxDepth = 90): unknown => readLiteral(text, maxDepth, true)

/** `isWide`: with dictionaries, and with the escapes of any character. */
function readLiteral(text: string, maxDepth: number, isWide: boolean): unknown {
  let at = 0

  function match(pattern: RegExp): string {
    pattern.lastIndex = at
    const found = pattern.exec(text)?.[0] ?? ''
    at += found.length
    return found
  }

  function value(depth: number): unknown {
    if (text[at] === '[') return list(depth - 1)
    if (isWide && text[at] === '{') return dictionary(depth - 1)
    if (text[at] === "'" || text[at] === '"') return quoted(text[at++] ?? '')
    const name = match(word)
    return name === '' ? numeral(match(number).replaceAll('_', '')) : words.get(name)
  }

  /** Reads items up to the end mark, each by `item`. False: it is broken. */
  function items(end: string, item: () => boolean): boolean {
    at++
    for (;;) {
      match(space)
      if (text[at] === end) break
      if (!item()) return false
      match(space)
      if (text[at] === end) break
      if (text[at] !== ',') return false
      at++
    }
    at++
    return true
  }

  function list(depth: number): unknown[] | undefined {
    if (depth < 0) return undefined
    const read: unknown[] = []
    const isWhole = items(']', () => {
      const item = value(depth)
      read.push(item)
      return item !== undefined
    })
    return isWhole ? read : undefined
  }

  function dictionary(depth: number): Readonly<Record<string, unknown>> | undefined {
    if (depth < 0) return undefined
    const read = new Map<string, unknown>()
    const isWhole = items('}', () => {
      const key = text[at] === "'" || text[at] === '"' ? quoted(text[at++] ?? '') : undefined
      match(space)
      if (key === undefined || text[at++] !== ':') return false
      match(space)
      const item = value(depth)
      read.set(key, item)
      return item !== undefined
    })
    return isWhole ? Object.fromEntries(read) : undefined
  }

  function quoted(quote: string): string | undefined {
    let content = ''
    for (;;) {
      content += match(plainText)
      const next = text[at++]
      if (next === quote) return content
      if (next === '\\') {
        const character = escapes.get(text[at] ?? '') ?? (isWide ? coded() : undefined)
        if (character === undefined) return undefined
        at++
        content += character
      } else if (next === "'" || next === '"') content += next
      else return undefined
    }
  }

  /** The character of `\xa0`, `\u200b` or `\U0001f600`; stops before the last digit. */
  function coded(): string | undefined {
    const length = { x: 2, u: 4, U: 8 }[text[at] ?? '']
    if (length === undefined) return undefined
    const digits = text.slice(at + 1, at + 1 + length)
    const point = /^[0-9a-fA-F]+$/.test(digits) && digits.length === length ? Number.parseInt(digits, 16) : -1
    if (point < 0 || point > 0x10ffff) return undefined
    at += length
    return String.fromCodePoint(point)
  }

  match(space)
  const whole =
    text[at] === '[' ? list(maxDepth) : isWide && text[at] === '{' ? dictionary(maxDepth) : undefined
  match(space)
  return at === text.length ? whole : undefined
}

function numeral(digits: string): JsonValue | undefined {
  if (!/[0-9]/.test(digits) || /^[-+]?(?:0+[1-9]\d*|[eE].*|\.[eE].*)$/.test(digits)) return undefined
  const value = Number(digits)
  if (/[.eE]/.test(digits) && !/^[-+]?0[xX]/.test(digits)) return value
  if (Number.isSafeInteger(value)) return value + 0
  const [, sign, magnitude = ''] = /^([-+]?)(.*)$/.exec(digits) ?? []
  if (magnitude.length > maxIntegerDigits) return undefined
  return sign === '-' ? -BigInt(magnitude) : BigInt(magnitude)
}
