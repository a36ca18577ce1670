import { createHash } from 'node:crypto'

/** Characters that are hashed between two yields. */
const pieceChars = 128 * 1024

/**
 * SHA-256 of `before` and a text, hex, as one hash of both gives it: a piece between two yields, since megabytes in one go
 * hold up the loop. In UTF-16, texts with parted surrogates keep apart too; in UTF-8 they are all alike.
 */
export function* longHash(
  before: string,
  text: string,
  encoding: 'utf8' | 'utf16le',
): Generator<void, string> {
  const hash = createHash('sha256').update(before, encoding)
  for (let at = 0; at < text.length; ) {
    const wished = Math.min(at + pieceChars, text.length)
    // No pair of surrogates is parted.
    const end = wished < text.length && isHigh(text.charCodeAt(wished - 1)) ? wished - 1 : wished
    hash.update(text.slice(at, end), encoding)
    at = end
    yield
  }
  return hash.digest('hex')
}

const isHigh = (unit: number): boolean => unit >= 0xd800 && unit <= 0xdbff
