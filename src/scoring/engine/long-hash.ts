import { createHash } from 'node:crypto'

/** Characters hashed between two yields. */
const pieceChars = 128 * 1024

/**
 * SHA-256 of `before` followed by a text, in hex. Yields between slices, since hashing megabytes at once blocks the event loop.
 * UTF-16 keeps texts with different lone surrogates apart; UTF-8 does not.
 */
export function* longHash(
  before: string,
  text: string,
  encoding: 'utf8' | 'utf16le',
): Generator<void, string> {
  const hash = createHash('sha256').update(before, encoding)
  for (let at = 0; at < text.length; ) {
    const wished = Math.min(at + pieceChars, text.length)
    // Never splits a surrogate pair.
    const end = wished < text.length && isHigh(text.charCodeAt(wished - 1)) ? wished - 1 : wished
    hash.update(text.slice(at, end), encoding)
    at = end
    yield
  }
  return hash.digest('hex')
}

const isHigh = (unit: number): boolean => unit >= 0xd800 && unit <= 0xdbff
