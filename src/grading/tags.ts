import { isBlank } from './characters.ts'

/** The text after the last mark, or the whole text without one. */
export function afterLast(text: string, mark: string): string {
  const at = text.lastIndexOf(mark)
  return at < 0 ? text : text.slice(at + mark.length)
}

const open = '<think>'
const close = '</think>'

/**
 * The text after the last `</think>`, or the whole text without one. null: a `<think>` stays open, so nothing
 * was answered.
 *
 * @example
 * ```ts
 * import { afterThink } from 'reward-gateway/grading'
 *
 * afterThink('<think>2 + 2</think>4') // '4'
 * ```
 */
export function afterThink(text: string): string | null {
  const end = text.lastIndexOf(close)
  if (text.lastIndexOf(open) > end) return null
  return end < 0 ? text : text.slice(end + close.length)
}

const endToken = /^<(?:[|｜][\w▁-]{1,30}[|｜]|\/s|eos|end_of_turn|pad|im_end)>$/

/** A text without the tokens with which a model ends, where the trainer keeps them: `</s>`, `<|im_end|>`. Linear. */
function withoutEnd(text: string): string {
  let end = text
  for (;;) {
    const open = end.lastIndexOf('<')
    if (open < 0 || !endToken.test(end.slice(open, open + 40).trimEnd())) return end
    end = end.slice(0, open).trimEnd()
  }
}

/** What a response answers: its text after the thinking, without the tokens with which a model ends. null: as `afterThink`. */
export const answeredText = (response: string): string | null => afterThink(withoutEnd(response))

/**
 * The texts between an opening tag and the next closing tag, from left to right. A nested opening tag is
 * text.
 *
 * @example
 * ```ts
 * import { blocks } from 'reward-gateway/grading'
 *
 * blocks('<b>1</b> and <b>2</b>', '<b>', '</b>') // ['1', '2']
 * ```
 */
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

/**
 * Like `blocks`, but null unless opening and closing tags alternate to the end of the text.
 *
 * @example
 * ```ts
 * import { pairedBlocks } from 'reward-gateway/grading'
 *
 * pairedBlocks('<b>1</b></b>', '<b>', '</b>') // null
 * ```
 */
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

/** More closing tags than blocks: the tags' content is ambiguous. */
export const isNested = (text: string, open: string, close: string): boolean =>
  text.split(close).length - 1 > blocks(text, open, close).length

/**
 * The text between the only `open` and the only `close`, in this order; otherwise null.
 *
 * @example
 * ```ts
 * import { soleBetween } from 'reward-gateway/grading'
 *
 * soleBetween('<answer>4</answer>', '<answer>', '</answer>') // '4'
 * ```
 */
export function soleBetween(text: string, open: string, close: string): string | null {
  const start = text.indexOf(open)
  const end = text.indexOf(close)
  if (start < 0 || end < start + open.length) return null
  if (text.indexOf(open, start + 1) >= 0 || text.indexOf(close, end + 1) >= 0) return null
  return text.slice(start + open.length, end)
}

/**
 * The content of the only fenced block (three backticks and an optional language). null: none, or several.
 *
 * @example
 * ```ts
 * import { soleFence } from 'reward-gateway/grading'
 *
 * soleFence(['Run this:', '```py', 'print(4)', '```'].join('\n')) // 'print(4)\n'
 * ```
 */
export function soleFence(text: string): string | null {
  const pieces = text.split('```')
  const [, inside] = pieces
  if (pieces.length !== 3 || inside === undefined) return null
  return inside.replace(/^[^\n]*\n/, '')
}

/** How a response uses the required tags. */
export interface TagFormat {
  /** Tags, in the required order, that open and close once and contain visible text. */
  readonly kept: readonly string[]
  /** There is no visible text outside of them. */
  readonly alone: boolean
}

/**
 * Checks `<a>...</a><b>...</b>`. `opened`: the prompt already contains the first opening tag. Linear in the
 * text per tag.
 *
 * @example
 * ```ts
 * import { tagFormat } from 'reward-gateway/grading'
 *
 * const { kept, alone } = tagFormat('<think>2 + 2</think><answer>4</answer>', ['think', 'answer'])
 * const isWellFormed = alone && kept.length === 2
 * ```
 */
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
    if (isBlank(text.slice(start, close))) continue
    kept.push(tag)
    outside += text.slice(at, open)
    at = close + tag.length + 3
  }
  return { kept, alone: isBlank(outside + text.slice(at)) }
}

/** The offset of a unique mark. -1: none, or several. */
function sole(text: string, mark: string): number {
  const at = text.indexOf(mark)
  return text.indexOf(mark, at + 1) > at ? -1 : at
}
