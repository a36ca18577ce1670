import { trimSpace } from '../white-space.ts'

const opening = '\\boxed{'

/**
 * MATH's last box: `\boxed ` with what follows its last occurrence up to a `$`, wherever that form occurs; else from
 * the last `\boxed`, else `\fbox`, to the brace that closes it. null: no box, or one that is never closed. Linear.
 */
export function lastBox(text: string): string | null {
  const spaced = text.lastIndexOf('\\boxed ')
  if (spaced !== -1) return text.slice(spaced).split('$', 1)[0] ?? null
  const boxed = text.lastIndexOf('\\boxed')
  return balanced(text, boxed === -1 ? text.lastIndexOf('\\fbox') : boxed)
}

function balanced(text: string, start: number): string | null {
  const end = start === -1 ? -1 : closingBrace(text, start, 0)
  return end === -1 ? null : text.slice(start, end + 1)
}

/** Where the brace stands that closes the last of `open` braces before `from`, and of those after it; -1: nowhere. */
export function closingBrace(text: string, from: number, open = 1): number {
  let depth = open
  for (let at = from; at < text.length; at++) {
    if (text[at] === '{') depth++
    if (text[at] === '}' && --depth === 0) return at
  }
  return -1
}

/** What stands in every `\boxed{...}` that is closed, left to right; a box inside a box is text of the outer one. */
export function boxContents(text: string): string[] {
  const found: string[] = []
  let at = text.indexOf(opening)
  while (at >= 0) {
    const start = at + opening.length
    const end = closingBrace(text, start)
    if (end < 0) break
    found.push(text.slice(start, end))
    at = text.indexOf(opening, end)
  }
  return found
}

/** From the last `\boxed{` to the brace that closes it; null: no such box, or one that is never closed. */
export const lastBalancedBox = (text: string): string | null => balanced(text, text.lastIndexOf(opening))

/** What a box holds: inside the braces of `\boxed{...}`, or after `\boxed `; null: it is neither. */
export function boxContent(box: string): string | null {
  if (box.includes('\\boxed ')) return box.startsWith('\\boxed ') ? box.slice('\\boxed '.length) : null
  return box.startsWith('\\boxed{') && box.endsWith('}') ? box.slice('\\boxed{'.length, -1) : null
}

/** What stands between the first brace after the last `\boxed`, else `\fbox`, and its partner, trimmed; null: no such pair. */
export function lastBracedBox(text: string): string | null {
  const boxed = text.lastIndexOf('\\boxed')
  const box = balanced(text, boxed === -1 ? text.lastIndexOf('\\fbox') : boxed)
  return box === null || !box.includes('{') ? null : trimSpace(box.slice(box.indexOf('{') + 1, -1))
}

/** What G1's graders take from `lastBox`, be it a box or not: all but its first seven characters and its last. */
export function slicedBox(text: string): string | null {
  const box = lastBox(text)
  if (box === null) return null
  if (box.includes('\\boxed ')) return box.slice('\\boxed '.length)
  // The first six are ASCII, and so is the brace at the end; the seventh of a frame may be two units.
  return box.slice((box.codePointAt(6) ?? 0) > 0xffff ? 8 : 7, -1)
}

/** The content of the last `\boxed{...}`; null where the last `\boxed` is no closed box. Linear. */
export function strictBoxContent(text: string): string | null {
  const start = text.lastIndexOf('\\boxed')
  const open = start === -1 ? null : /^\\boxed[ \t]*\{/.exec(text.slice(start))
  return open ? (balanced(text, start)?.slice(open[0].length, -1) ?? null) : null
}
