const boxOpening = /\\(?:boxed|fbox)\s{0,9}\{/g
const longestBox = 4000
const mostBoxes = 64

interface Box {
  readonly start: number
  readonly end: number
  readonly content: string
}

/** The last boxed answer of a text. Boxes in one sentence form one answer with several items. */
export interface BoxedAnswer {
  readonly start: number
  readonly end: number
  readonly contents: readonly string[]
}

/** null if there is no box. Only examines the last boxes, to bound the cost. */
export function lastBoxes(text: string): BoxedAnswer | null {
  const boxes = closedBoxes(text)
  const last = boxes.at(-1)
  if (last === undefined) return null
  const group = [last]
  for (let k = boxes.length - 2; k >= 0; k--) {
    const [box, next] = [boxes[k], group[0]]
    if (!box || !next || !isOneSentence(text.slice(box.end, next.start))) break
    group.unshift(box)
  }
  return {
    start: group[0]?.start ?? 0,
    end: last.end,
    contents: [...new Set(group.map((box) => box.content))],
  }
}

/** The outermost boxes, in order. */
function closedBoxes(text: string): Box[] {
  const starts = Array.from(text.matchAll(boxOpening)).slice(-mostBoxes)
  const boxes: Box[] = []
  for (const match of starts) {
    const previous = boxes.at(-1)
    if (previous && match.index < previous.end) continue
    const from = match.index + match[0].length
    const end = closingBrace(text, from)
    if (end !== null) boxes.push({ start: match.index, end: end + 1, content: text.slice(from, end) })
    // A response cut off inside its last box has not answered.
    else if (match === starts.at(-1)) boxes.push({ start: match.index, end: text.length, content: '' })
  }
  return boxes
}

function closingBrace(text: string, from: number): number | null {
  let depth = 1
  for (let at = from; at < text.length && at - from <= longestBox; at++) {
    const character = text[at]
    if (character === '\\') at++
    else if (character === '{') depth++
    else if (character === '}' && --depth === 0) return at
  }
  return null
}

/** Boxes with words or signs between them in one sentence are one list. Boxes side by side are none. */
const isOneSentence = (gap: string): boolean =>
  gap.length <= 50 && gap.trim() !== '' && !/[.!?]\s+[\p{L}*#]|\n\s*\n/u.test(gap)
