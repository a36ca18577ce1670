import { maxIntegerDigits } from '../digits.ts'
import type { JsonValue } from '../json/json.ts'

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
 * Reads a text as a Python list of numbers, texts, `None`, `True`, `False` and lists; null: it is none.
 * Tuples, sets, dictionaries, bytes and rarer escapes are not read.
 */
export function readPythonList(text: string, maxDepth = 90): readonly JsonValue[] | null {
  let at = 0

  function match(pattern: RegExp): string {
    pattern.lastIndex = at
    const found = pattern.exec(text)?.[0] ?? ''
    at += found.length
    return found
  }

  function value(depth: number): JsonValue | undefined {
    if (text[at] === '[') return list(depth - 1)
    if (text[at] === "'" || text[at] === '"') return quoted(text[at++] ?? '')
    const name = match(word)
    return name === '' ? numeral(match(number).replaceAll('_', '')) : words.get(name)
  }

  function list(depth: number): JsonValue[] | undefined {
    if (depth < 0) return undefined
    const items: JsonValue[] = []
    at++
    for (;;) {
      match(space)
      if (text[at] === ']') break
      const item = value(depth)
      if (item === undefined) return undefined
      items.push(item)
      match(space)
      if (text[at] === ']') break
      if (text[at] !== ',') return undefined
      at++
    }
    at++
    return items
  }

  function quoted(quote: string): string | undefined {
    let content = ''
    for (;;) {
      content += match(plainText)
      const next = text[at++]
      if (next === quote) return content
      if (next === '\\') {
        const character = escapes.get(text[at++] ?? '')
        if (character === undefined) return undefined
        content += character
      } else if (next === "'" || next === '"') content += next
      else return undefined
    }
  }

  match(space)
  const items = text[at] === '[' ? list(maxDepth) : undefined
  match(space)
  return items && at === text.length ? items : null
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
