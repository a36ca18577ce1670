/**
 * Lists, objects, names and texts of one reply; a number counts as a twelfth of one. JSON.parse takes some 50 ms for so many.
 * The largest honest replies, batches of embeddings and log probabilities, hold fewer.
 */
const mostValues = 50_000
const numberShare = 12

const [quote, backslash, colon] = [0x22, 0x5c, 0x3a]
/** By character: what it counts outside of texts. */
const weights = new Uint8Array(128)
weights[0x2c] = 1
for (const opening of [quote, 0x5b, 0x7b]) weights[opening] = numberShare
/** Counts nothing, and is looked at. */
const name = 255
weights[colon] = name

/** How many names a JSON text holds; null: it holds more values than any honest reply. They are counted, not made. Linear in the text. */
export function namesIn(text: string): number | null {
  let left = numberShare * mostValues
  let names = 0
  for (let at = 0; at < text.length; at++) {
    const char = text.charCodeAt(at)
    const weight = char < 128 ? (weights[char] as number) : 0
    if (weight === 0) continue
    if (weight === name) {
      names += 1
      continue
    }
    left -= weight
    if (left < 0) return null
    if (char === quote) at = endOfText(text, at + 1)
  }
  return names
}

/** A search costs as much as a look at so many characters; and what is full of escaped quotes is read quicker one by one. */
const nearChars = 32
const mostNearChars = 4096

/** The place of the quote that ends the text whose first character is at `from`; the end where there is none. */
export function endOfText(text: string, from: number): number {
  let at = from
  for (let near = nearChars; ; near = Math.min(4 * near, mostNearChars)) {
    for (const until = Math.min(at + near, text.length); at < until; at++) {
      const char = text.charCodeAt(at)
      if (char === quote) return at
      if (char === backslash) at++
    }
    const end = text.indexOf('"', at)
    if (end < 0) return text.length
    let before = end
    while (before > at && text.charCodeAt(before - 1) === backslash) before--
    if ((end - before) % 2 === 0) return end
    at = end + 1
  }
}
