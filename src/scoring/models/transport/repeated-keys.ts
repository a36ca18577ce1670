import { endOfText } from './reply-values.ts'

/** A JSON value as JSON.parse makes it. */
type Parsed = unknown

/**
 * Whether some object of a JSON text names a key twice, of which JSON.parse keeps the last. `value` is what it made of the
 * text, `keys` how many names stand in it. Counting is much cheaper than reading the text again, so that only a text with
 * more of them than its value has is read.
 */
export function hasRepeatedKey(text: string, value: Parsed, keys: number): boolean {
  return keys > keysOf(value) && namesTwice(text)
}

function keysOf(value: Parsed): number {
  if (typeof value !== 'object' || value === null) return 0
  let count = 0
  // A list of numbers holds nothing else in practice; a vector has thousands.
  if (Array.isArray(value)) for (const item of value) count += typeof item === 'object' ? keysOf(item) : 0
  else
    for (const key in value) {
      const inner = (value as Record<string, unknown>)[key]
      count += typeof inner === 'object' ? 1 + keysOf(inner) : 1
    }
  return count
}

/** Of a text that is JSON. */
function namesTwice(text: string): boolean {
  // null: a list.
  const open: (Set<string> | null)[] = []
  for (let at = 0; at < text.length; at += 1) {
    const char = text.charCodeAt(at)
    if (char === 0x7b) open.push(new Set())
    else if (char === 0x5b) open.push(null)
    else if (char === 0x7d || char === 0x5d) open.pop()
    else if (char === quote) {
      const end = endOfText(text, at + 1)
      let next = end + 1
      while (isSpace(text.charCodeAt(next))) next += 1
      if (text.charCodeAt(next) === 0x3a) {
        const key = JSON.parse(text.slice(at, end + 1)) as string
        const keys = open.at(-1)
        if (keys?.has(key)) return true
        keys?.add(key)
      }
      at = end
    }
  }
  return false
}

const quote = 0x22

const isSpace = (char: number): boolean => char === 0x20 || char === 0x0a || char === 0x0d || char === 0x09
