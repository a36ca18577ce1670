/** What Windows-1252 has in place of the control characters 0x80 to 0x9F; a space where it has nothing. */
const windows = '€ ‚ƒ„…†‡ˆ‰Š‹Œ Ž  ‘’“”•–—˜™š›œ žŸ'
const byteOf = new Map(
  [...windows].flatMap((character, at) => (character === ' ' ? [] : [[character, 0x80 + at]])),
)

/** A no-break space and guillemets stand behind accented letters in French: only as most common wrong turns do they count. */
const typographic: ReadonlySet<number> = new Set([0xa0, 0xab, 0xbb])
/** What Chinese text becomes by a second wrong turn. */
const wellKnown = /锟斤拷|烫烫烫|屯屯屯/

/** What in a text was decoded wrongly, in words; null: nothing. UTF-8 that was read as Latin-1 or Windows-1252 is seen. */
export function garbledPiece(text: string): string | null {
  if (text.includes('\ufffd')) return 'U+FFFD, where a character was lost'
  const known = wellKnown.exec(text)
  if (known) return `'${known[0]}', where characters were lost`
  for (let at = 0; at < text.length; at++) {
    const first = text.charCodeAt(at)
    // The first byte of a character of two, three or four.
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

/** The byte 0x80 to 0xBF that a character stands for; null: it stands for none. */
function byteAt(text: string, at: number): number | null {
  const code = text.charCodeAt(at)
  if (code >= 0x80 && code <= 0xbf) return code
  const byte = byteOf.get(text[at] ?? '')
  return byte !== undefined && byte <= 0xbf ? byte : null
}

/** Of all characters; real text in any script has more. */
const leastWordy = 0.5
/** Of the words of a longer text; a loop has fewer different ones. */
const leastDifferent = 0.05
const manyWords = 60

/** Whether a text can have been written by a model that works: letters, digits and blanks, readable, not one loop. */
export function looksLikeText(text: string): boolean {
  if (text.trim() === '' || garbledPiece(text) !== null) return false
  const points = [...text]
  const wordy = points.filter((point) => /[\p{L}\p{N}\s]/u.test(point)).length
  if (wordy < leastWordy * points.length && !text.includes('####')) return false
  const words = text.split(/\s+/)
  return words.length < manyWords || new Set(words).size >= leastDifferent * words.length
}
