const pieceLength = 24
const longest = 4096
const factor = 0x01000193

/**
 * The share of 24-unit substrings that occurred earlier in the text, 0 to 1, over its first 4096 UTF-16
 * units. Near 0 for prose, near 1 for a loop. Linear time.
 */
export function repeatedSubstringShare(text: string): number {
  const length = Math.min(text.length, longest)
  const pieces = length - pieceLength + 1
  if (pieces < 1) return 0
  // A rolling hash of the last 24 units.
  let out = 1
  for (let at = 0; at < pieceLength; at += 1) out = Math.imul(out, factor)
  const slots = 2 ** Math.ceil(Math.log2(2 * pieces))
  const seen = new Int32Array(slots)
  let [hash, repeated] = [0, 0]
  for (let at = 0; at < length; at += 1) {
    hash = Math.imul(hash, factor) + text.charCodeAt(at)
    if (at >= pieceLength) hash -= Math.imul(out, text.charCodeAt(at - pieceLength))
    hash |= 0
    if (at < pieceLength - 1) continue
    const mark = hash === 0 ? 1 : hash
    let slot = (Math.imul(mark ^ (mark >>> 15), 0x2c1b3c6d) >>> 16) & (slots - 1)
    while (seen[slot] !== 0 && seen[slot] !== mark) slot = (slot + 1) & (slots - 1)
    if (seen[slot] === mark) repeated += 1
    seen[slot] = mark
  }
  return repeated / pieces
}
