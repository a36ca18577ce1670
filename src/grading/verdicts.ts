import { trimSpace } from './characters.ts'
import { isObject } from './json/identity.ts'
import { readJson } from './json/json.ts'
import { afterThink } from './tags.ts'

const around = '["\'`*_“”‘’\\s]*'
const tail = '["\'`*_“”‘’.。．\\s]*'
const said = new RegExp(
  `^${around}([01])(?:\\.0+)?${tail}(?:(?:\\(\\s*([A-Za-z]+)\\.?\\s*\\)|[,:–—-]${around}([A-Za-z]+))${tail})?$`,
)

/** A longer text than this is no verdict alone; the bound also keeps the pattern's cost down. */
const longest = 64

/** What a verdict may say of itself in parentheses or behind a comma or a dash; another word might take it back. */
const names: readonly (readonly string[])[] = [
  ['no', 'incorrect', 'wrong', 'false'],
  ['yes', 'correct', 'right', 'true'],
]

/**
 * A judge's 1 or 0 after its thinking, where it says nothing else: `1`, `**0**`, `1。`, `1 (yes)`, `0, no` or `{"score": 1}`; null: no
 * verdict. Further words could contradict it, in any language, so that they leave none.
 */
export function binaryVerdict(text: string): 0 | 1 | null {
  const region = afterThink(text)
  if (region === null) return null
  const verdict = trimSpace(region)
  if (verdict.length <= longest) {
    const [, digit, inParentheses, behind] = said.exec(verdict) ?? []
    const name = inParentheses ?? behind
    if (digit !== undefined) {
      const value = digit === '1' ? 1 : 0
      return name === undefined || names[value]?.includes(name.toLowerCase()) ? value : null
    }
  }
  const reading = verdict.startsWith('{') ? readJson(verdict) : null
  if (!reading || reading.repeatedKeys || !isObject(reading.value) || reading.value.size !== 1) return null
  const score = reading.value.get('score')
  return score === 0 || score === 1 ? score : null
}

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
