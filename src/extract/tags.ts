/** What stands between the first `open` and the nearest `close` after it; null: no such pair. */
export function firstBetween(text: string, open: string, close: string): string | null {
  const start = text.indexOf(open)
  if (start < 0) return null
  const end = text.indexOf(close, start + open.length)
  return end < 0 ? null : text.slice(start + open.length, end)
}

/** What stands between the only `open` and the only `close`, in this order; null: otherwise. */
export function soleBetween(text: string, open: string, close: string): string | null {
  const start = text.indexOf(open)
  const end = text.indexOf(close)
  if (start < 0 || end < start + open.length) return null
  if (text.indexOf(open, start + 1) >= 0 || text.indexOf(close, end + 1) >= 0) return null
  return text.slice(start + open.length, end)
}

/** What stands in the only fenced block (three backticks, a word of language after the first); null: none, or several. */
export function soleFence(text: string): string | null {
  const pieces = text.split('```')
  const [, inside] = pieces
  if (pieces.length !== 3 || inside === undefined) return null
  return inside.replace(/^[^\n]*\n/, '')
}
