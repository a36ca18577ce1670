import { trimSpace } from './white-space.ts'

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
