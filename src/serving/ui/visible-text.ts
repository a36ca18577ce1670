/** Signs that are not seen, that turn the direction of text, or that belong to no character. */
const unseen = /[\p{Cc}\p{Cf}\p{Co}\p{Cs}\u2028\u2029\u115f\u1160\u3164\uffa0]/u
const pieces = /([\p{Cc}\p{Cf}\p{Co}\p{Cs}\u2028\u2029\u115f\u1160\u3164\uffa0]+)/u
const kept = /^[\n\t]+$/

/** A piece of text; `isMark`: it stands for signs that would not be seen. */
interface VisiblePiece {
  readonly text: string
  readonly isMark: boolean
}

/** Marks of one run of unseen signs that are written out. */
const mostMarks = 8
const mostPieces = 4000

/** Text with every unseen sign but line breaks and tabs named by its code point. */
export function visiblePieces(text: string): readonly VisiblePiece[] {
  if (!unseen.test(text)) return [{ text, isMark: false }]
  const parts = text.split(pieces)
  const shown = parts.slice(0, mostPieces).flatMap((part, at): VisiblePiece[] => {
    if (part === '') return []
    if (at % 2 === 0 || kept.test(part)) return [{ text: part, isMark: false }]
    return part.split(/([\n\t]+)/).flatMap((run, inner) => {
      if (run === '') return []
      return [inner % 2 === 1 ? { text: run, isMark: false } : { text: marksOf(run), isMark: true }]
    })
  })
  return parts.length > mostPieces ? [...shown, { text: ' [more]', isMark: true }] : shown
}

/** The same as one text, for attributes. */
export const visibleText = (text: string): string =>
  visiblePieces(text)
    .map((piece) => piece.text)
    .join('')

function marksOf(run: string): string {
  const points = [...run]
  const named = points
    .slice(0, mostMarks)
    .map((sign) => `⟨U+${(sign.codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, '0')}⟩`)
  return named.join('') + (points.length > mostMarks ? `⟨${points.length - mostMarks} more⟩` : '')
}
