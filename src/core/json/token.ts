/** Bits of a token's class. */
const [tokenDigit, tokenLetter, tokenSign, tokenDot] = [1, 2, 4, 8] as const

/** By byte: its class in a number or a word, or 0. */
const tokenClasses = new Uint8Array(256)
const members: readonly (readonly [string, number])[] = [
  ['0123456789', tokenDigit],
  ['abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_', tokenLetter],
  ['+-', tokenSign],
  ['.', tokenDot],
]
for (const [text, found] of members) for (const byte of Buffer.from(text)) tokenClasses[byte] = found

/** True if the range is all white space. */
export function isBlank(bytes: Buffer, from: number, to: number): boolean {
  for (let at = from; at < to; at++) if ((bytes[at] as number) > 0x20) return false
  return true
}

const jsonNumber = /^-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][-+]?\d+)?$/
const integer = /^-?\d{16,}$/
const words: readonly string[] = ['NaN', 'Infinity', '-Infinity']

/** Python's literals, numbers beyond a double's range, and integers that a double would round. */
export function isOddWord(word: string): boolean {
  if (integer.test(word)) return !Number.isSafeInteger(Number(word))
  return words.includes(word) || (jsonNumber.test(word) && !Number.isFinite(Number(word)))
}

/** A search with `indexOf` costs as much as examining this many bytes. */
const nearBytes = 48
const [quote, backslash] = [0x22, 0x5c]

/**
 * The offset after the quote that ends a string. `at` must not be an escaped character. If no quote is found
 * before `until`, the negated offset at which to continue. Throws SyntaxError if the string never ends.
 */
export function stringEnd(bytes: Buffer, from: number, until: number): number {
  let at = from
  let near = nearBytes
  while (at < until) {
    // Most strings are short names, and strings full of escaped quotes are faster byte by byte.
    for (const end = Math.min(at + near, bytes.length); at < end; ) {
      const byte = bytes[at++]
      if (byte === quote) return at
      if (byte === backslash) at++
    }
    const end = bytes.indexOf(quote, at)
    if (end < 0) throw new SyntaxError('it ends inside a string')
    let escapes = end
    while (escapes > at && bytes[escapes - 1] === backslash) escapes--
    near = end - at < 4 * nearBytes ? Math.min(4 * near, 4096) : nearBytes
    at = end + 1
    if ((end - escapes) % 2 === 0) return at
  }
  return -at
}

/** Reads a number or a word of any length, piece by piece. */
export class JsonToken {
  /** -1: no token is open. */
  from = -1
  #classes = 0

  /** The end of the token, or the negated offset at which to continue. */
  read(bytes: Buffer, from: number, at: number, until: number): number {
    let classes = this.from < 0 ? 0 : this.#classes
    let end = at
    for (; end < until; end++) {
      const one = tokenClasses[bytes[end] as number] as number
      if (one === 0) break
      // A sign belongs to an integer only at its start.
      classes |= one === tokenSign && end > from ? tokenLetter : one
    }
    this.#classes = classes
    this.from = end === until && end < bytes.length ? from : -1
    return this.from < 0 ? end : -end
  }

  /** Whether the token could be rounded, infinite or no number. */
  isSuspect(length: number): boolean {
    const isLong = length > 15 && ((this.#classes & tokenDot) === 0 || length > 300)
    return isLong || (this.#classes & tokenLetter) !== 0
  }

  isInteger(first: number | undefined): boolean {
    return (this.#classes & ~tokenSign) === tokenDigit && first !== plus
  }
}

const plus = 0x2b
