/** Windows-1252 characters for the bytes 0x80 to 0x9F. A space marks an undefined byte. */
const windows = '€ ‚ƒ„…†‡ˆ‰Š‹Œ Ž  ‘’“”•–—˜™š›œ žŸ'
const byteOf = new Map(
  [...windows].flatMap((character, at) => (character === ' ' ? [] : [[character, 0x80 + at]])),
)

/**
 * In French, no-break spaces and guillemets follow accented letters. They count only after the most common
 * first bytes of garbled text.
 */
const typographic: ReadonlySet<number> = new Set([0xa0, 0xab, 0xbb])
/** Chinese text that was decoded wrongly twice. */
const wellKnown = /锟斤拷|烫烫烫|屯屯屯/

/**
 * Describes the first wrongly decoded part of a text, such as UTF-8 that was read as Latin-1 or Windows-1252.
 * null if there is none.
 */
export function garbledPiece(text: string): string | null {
  if (text.includes('\ufffd')) return 'U+FFFD, a character that was lost'
  const known = wellKnown.exec(text)
  if (known) return `'${known[0]}', characters that were lost`
  for (let at = 0; at < text.length; at++) {
    const first = text.charCodeAt(at)
    // The first byte of a UTF-8 sequence of two, three or four bytes.
    const more = first >= 0xc2 && first <= 0xdf ? 1 : first >= 0xe0 && first <= 0xef ? 2 : 3
    if (first < 0xc2 || first > 0xf4) continue
    const bytes = [first]
    while (bytes.length <= more) {
      const byte = byteAt(text, at + bytes.length)
      if (byte === null) break
      bytes.push(byte)
    }
    const isFrench = first > 0xc3 && bytes.some((byte) => typographic.has(byte))
    if (bytes.length <= more || isFrench) continue
    const meant = Buffer.from(bytes).toString('utf8')
    if (!meant.includes('\ufffd')) return `'${text.slice(at, at + bytes.length)}', which was '${meant}'`
  }
  const found = [...text].find(isControl)
  return found ? `the control character ${codeOf(found)}` : null
}

const codeOf = (character: string): string =>
  `U+${character.charCodeAt(0).toString(16).toUpperCase().padStart(4, '0')}`

function isControl(character: string): boolean {
  const code = character.charCodeAt(0)
  return (code < 0x20 && !'\t\n\f\r'.includes(character)) || (code >= 0x7f && code <= 0x9f && code !== 0x85)
}

/** The byte 0x80 to 0xBF that a character stands for. null if there is none. */
function byteAt(text: string, at: number): number | null {
  const code = text.charCodeAt(at)
  if (code >= 0x80 && code <= 0xbf) return code
  const byte = byteOf.get(text[at] ?? '')
  return byte !== undefined && byte <= 0xbf ? byte : null
}

/** The minimum share of letters, digits and blanks. Real text of any script has more. */
const leastWordy = 0.5
/** The minimum share of distinct words in a longer text. A repetition loop has fewer. */
const leastDifferent = 0.05
const manyWords = 60

/**
 * True if a working model can have written the text: mostly letters, digits and blanks, readable, and not a
 * repetition loop.
 */
export function looksLikeText(text: string): boolean {
  if (text.trim() === '' || garbledPiece(text) !== null) return false
  const points = [...text]
  const wordy = points.filter((point) => /[\p{L}\p{N}\s]/u.test(point)).length
  if (wordy < leastWordy * points.length && !text.includes('####')) return false
  const words = text.split(/\s+/)
  return words.length < manyWords || new Set(words).size >= leastDifferent * words.length
}
