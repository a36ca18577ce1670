const open = '<think>'
const close = '</think>'

/** What follows the last `</think>`, all of it where there is none; null: a `<think>` stays open, so nothing was answered. */
export function afterThink(text: string): string | null {
  const end = text.lastIndexOf(close)
  if (text.lastIndexOf(open) > end) return null
  return end < 0 ? text : text.slice(end + close.length)
}
