import { trimSpace } from './characters.ts'

const open = '<think>'
const close = '</think>'

/** What follows the last `</think>`, all of it where there is none; null: a `<think>` stays open, so nothing was answered. */
export function afterThink(text: string): string | null {
  const end = text.lastIndexOf(close)
  if (text.lastIndexOf(open) > end) return null
  return end < 0 ? text : text.slice(end + close.length)
}

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

/** More ends than blocks: what stands in such tags says two things. */
export const isNested = (text: string, open: string, close: string): boolean =>
  text.split(close).length - 1 > blocks(text, open, close).length

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

/** What a response makes of the tags that it should have. */
export interface TagFormat {
  /** Tags, in the wanted order, that are opened and closed once and hold text. */
  readonly kept: readonly string[]
  /** Nothing but white space stands outside of them. */
  readonly alone: boolean
}

/** Reads `<a>...</a><b>...</b>`; `opened`: the prompt already holds the first opening tag. Linear in the text for each tag. */
export function tagFormat(response: string, tags: readonly string[], opened = false): TagFormat {
  const text = opened ? `<${tags[0]}>${response}` : response
  const kept: string[] = []
  let outside = ''
  let at = 0
  for (const tag of tags) {
    const open = sole(text, `<${tag}>`)
    const close = sole(text, `</${tag}>`)
    if (open < at || close < open) continue
    const start = open + tag.length + 2
    if (trimSpace(text.slice(start, close)) === '') continue
    kept.push(tag)
    outside += text.slice(at, open)
    at = close + tag.length + 3
  }
  return { kept, alone: trimSpace(outside + text.slice(at)) === '' }
}

/** Where a mark stands; -1: nowhere, or more than once. */
function sole(text: string, mark: string): number {
  const at = text.indexOf(mark)
  return text.indexOf(mark, at + 1) > at ? -1 : at
}
