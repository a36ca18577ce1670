import { afterThink } from './think.ts'
import { trimSpace } from './white-space.ts'

const before = /^["'`*_“”‘’[(\s]*/
const after = /["'`*_“”‘’\]).。．\s]*$/

/** What emphasis may add to a label; the bound also keeps the patterns' cost down. */
const mostEmphasis = 32

/**
 * The one of `labels` that a judge's reply is, after its thinking, but for emphasis; null: no verdict. A reply that says
 * more has none: further words could name another label or take it back.
 */
export function labelVerdict<L extends string>(text: string, labels: readonly L[]): L | null {
  const region = afterThink(text)
  if (region === null) return null
  const reply = trimSpace(region)
  const longest = Math.max(0, ...labels.map(({ length }) => length))
  if (reply.length > longest + mostEmphasis) return null
  const bare = reply.replace(before, '').replace(after, '')
  return labels.find((label) => label === reply) ?? labels.find((label) => label === bare) ?? null
}
