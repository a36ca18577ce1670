import { garbledPiece } from './garbled.ts'

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
