/**
 * Hashes. Those of 32 and 53 bits are over UTF-16 units and not cryptographic. All are stable across processes and versions:
 * pools and records depend on that.
 */
import { createHash } from 'node:crypto'

/** FNV-1a over UTF-16 units, as an unsigned 32-bit integer. */
export function fnv1a(text: string): number {
  let hash = 0x811c9dc5
  for (let at = 0; at < text.length; at += 1) hash = Math.imul(hash ^ text.charCodeAt(at), 0x01000193)
  return hash >>> 0
}

/** FNV-1a with MurmurHash3's finalizer, as a number in [0, 1). */
export function hashedShare(text: string): number {
  let hash = fnv1a(text)
  hash = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b)
  hash = Math.imul(hash ^ (hash >>> 13), 0xc2b2ae35)
  return ((hash ^ (hash >>> 16)) >>> 0) / 2 ** 32
}

/** cyrb53: a 53-bit hash of the units from `start` to `end`. */
export function cyrb53(text: string, seed = 0, start = 0, end = text.length): number {
  let a = 0xdeadbeef ^ seed
  let b = 0x41c6ce57 ^ seed
  for (let i = start; i < end; i++) {
    const unit = text.charCodeAt(i)
    a = Math.imul(a ^ unit, 2654435761)
    b = Math.imul(b ^ unit, 1597334677)
  }
  a = Math.imul(a ^ (a >>> 16), 2246822507) ^ Math.imul(b ^ (b >>> 13), 3266489909)
  b = Math.imul(b ^ (b >>> 16), 2246822507) ^ Math.imul(a ^ (a >>> 13), 3266489909)
  return 4294967296 * (2097151 & b) + (a >>> 0)
}

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
