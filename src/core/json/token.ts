/** Bits of a token's class. */
const [tokenDigit, tokenLetter, tokenSign, tokenDot] = [1, 2, 4, 8] as const

/** By byte: what may stand in a number or in a word; 0: nothing of that. */
const tokenClasses = new Uint8Array(256)
const members: readonly (readonly [string, number])[] = [
  ['0123456789', tokenDigit],
  ['abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_', tokenLetter],
  ['+-', tokenSign],
  ['.', tokenDot],
]
for (const [text, found] of members) for (const byte of Buffer.from(text)) tokenClasses[byte] = found

/** True where only white space stands. */
export function isBlank(bytes: Buffer, from: number, to: number): boolean {
  for (let at = from; at < to; at++) if ((bytes[at] as number) > 0x20) return false
  return true
}

const jsonNumber = /^-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][-+]?\d+)?$/
const integer = /^-?\d{16,}$/
const words: readonly string[] = ['NaN', 'Infinity', '-Infinity']

/** Python's words, numbers beyond a double's range, and integers that a double would round. */
export function isOddWord(word: string): boolean {
  if (integer.test(word)) return !Number.isSafeInteger(Number(word))
  return words.includes(word) || (jsonNumber.test(word) && !Number.isFinite(Number(word)))
}

/** A search by `indexOf` costs as much as a look at so many bytes. */
const nearBytes = 48
const [quote, backslash] = [0x22, 0x5c]

/**
 * The place behind the quote that ends a string of which `at` is no escaped character; where that is not found up to
 * `until`, the negative of the place from which to go on. Throws SyntaxError where there is none.
 */
export function stringEnd(bytes: Buffer, from: number, until: number): number {
  let at = from
  let near = nearBytes
  while (at < until) {
    // Most strings are names and end soon; and what is full of escaped quotes is read quicker byte by byte.
    for (const end = Math.min(at + near, bytes.length); at < end; ) {
      const byte = bytes[at++]
      if (byte === quote) return at
      if (byte === backslash) at++
    }
    const end = bytes.indexOf(quote, at)
    if (end < 0) throw new SyntaxError('it ends within a text')
    let escapes = end
    while (escapes > at && bytes[escapes - 1] === backslash) escapes--
    near = end - at < 4 * nearBytes ? Math.min(4 * near, 4096) : nearBytes
    at = end + 1
    if ((end - escapes) % 2 === 0) return at
  }
  return -at
}

/** A number or a word, which may have any length and is read a piece at a time. */
export class JsonToken {
  /** -1: none goes on. */
  from = -1
  #classes = 0

  /** Where it ends, once that is known; the negative of the place from which to go on. */
  read(bytes: Buffer, from: number, at: number, until: number): number {
    let classes = this.from < 0 ? 0 : this.#classes
    let end = at
    for (; end < until; end++) {
      const one = tokenClasses[bytes[end] as number] as number
      if (one === 0) break
      // A sign belongs into an integer only where it begins.
      classes |= one === tokenSign && end > from ? tokenLetter : one
    }
    this.#classes = classes
    this.from = end === until && end < bytes.length ? from : -1
    return this.from < 0 ? end : -end
  }

  /** Whether it could be rounded, be infinite or be no number. */
  isSuspect(length: number): boolean {
    const isLong = length > 15 && ((this.#classes & tokenDot) === 0 || length > 300)
    return isLong || (this.#classes & tokenLetter) !== 0
  }

  isInteger(first: number | undefined): boolean {
    return (this.#classes & ~tokenSign) === tokenDigit && first !== plus
  }
}

const plus = 0x2b
