/** Text between an opening tag and the nearest closing tag after it, left to right; an opening tag inside is text. */
export function blocks(text: string, open: string, close: string): string[] {
  const found: string[] = []
  let at = text.indexOf(open)
  while (at >= 0) {
    const start = at + open.length
    const end = text.indexOf(close, start)
    if (end < 0) break
    found.push(text.slice(start, end))
    at = text.indexOf(open, end + close.length)
  }
  return found
}

/** Like `blocks`, but null unless the tags alternate open, close, ... to the end of the text. */
export function pairedBlocks(text: string, open: string, close: string): string[] | null {
  const found: string[] = []
  let at = 0
  for (;;) {
    const start = text.indexOf(open, at)
    const end = text.indexOf(close, at)
    if (start < 0 || end < 0) return start === end ? found : null
    const inner = text.slice(start + open.length, end)
    if (end < start || inner.includes(open)) return null
    found.push(inner)
    at = end + close.length
  }
}
