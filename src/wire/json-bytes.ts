import { isAscii } from 'node:buffer'
import { mayBeRounded, type ParsedText, parseJsonText } from './json-text.ts'

/** V8 gives a text beyond half a page of its heap, 128 KiB, pages of its own: those cost more than to parse it. */
const longBytes = 131_072
/** Rows are parsed so many bytes at a time, and the body as a whole where one of them is much longer. */
const partBytes = 32_768
const longestPart = 2 * partBytes

/** Up to the first row: `{`, members that hold no list and no object, and a name with a list of objects. */
const beginning =
  /^\s*\{(?:\s*"[^"\\]*"\s*:\s*(?:"[^"\\]*"|-?\d+|true|false|null)\s*,)*\s*"(\w+)"\s*:\s*\[\s*(?=\{)/
const beginningBytes = 1024

const [comma, quote, brace] = [0x2c, 0x22, 0x7b]

/** JSON from UTF-8 bytes, as parseJsonText reads it. Throws SyntaxError as that does. */
export function parseJsonBytes(bytes: Buffer): ParsedText {
  const value = bytes.length > longBytes ? longValue(bytes) : undefined
  return value !== undefined && !mayBeRounded(value) ? { value, oddities: [] } : parseJsonText(textOf(bytes))
}

/**
 * The value of a long body whose bulk is a list of rows, read some rows at a time; undefined: not so, or not JSON. Every part
 * begins between two rows and is a whole list of them, or the cut was wrong: within a text or a deeper list, it cannot parse.
 */
function longValue(bytes: Buffer): unknown {
  const found = beginning.exec(bytes.toString('latin1', 0, beginningBytes))
  const end = bytes.lastIndexOf(']')
  if (!found || end < 0) return undefined
  const [{ length }, name = ''] = found
  const tail = textOf(bytes.subarray(end))
  // A name twice: the last one counts.
  if (name === '__proto__' || tail.includes(`"${name}"`) || tail.includes('\\')) return undefined
  try {
    const value = JSON.parse(textOf(bytes.subarray(0, length)) + tail) as Record<string, unknown>
    const rows: unknown[] = []
    for (let from = length; from < end; ) {
      const to = cutAfter(bytes, Math.min(from + partBytes, end), end)
      if (to - from > longestPart) return undefined
      const part = JSON.parse(`[${textOf(bytes.subarray(from, to))}]`) as unknown[]
      for (const row of part) rows.push(row)
      from = to + 1
    }
    value[name] = rows
    return value
  } catch {
    return undefined
  }
}

/** The place of the next comma that seems to stand between two rows, or `end`. */
function cutAfter(bytes: Buffer, from: number, end: number): number {
  for (let at = bytes.indexOf('}', from); at >= 0 && at < end; at = bytes.indexOf('}', at + 1)) {
    const between = nextOf(bytes, at + 1)
    const opening = bytes[between] === comma ? nextOf(bytes, between + 1) : end
    if (bytes[opening] === brace && bytes[nextOf(bytes, opening + 1)] === quote) return between
  }
  return end
}

/** The place of the first byte that is no white space. */
function nextOf(bytes: Buffer, from: number): number {
  let at = from
  while (at < bytes.length && (bytes[at] ?? 0) <= 0x20) at += 1
  return at
}

/** Most bodies are plain ASCII, which needs no decoding. */
const textOf = (bytes: Buffer): string => bytes.toString(isAscii(bytes) ? 'latin1' : 'utf8')
