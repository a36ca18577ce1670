import { trimSpace } from './characters.ts'
import { isObject } from './json/identity.ts'
import { readJson } from './json/json.ts'
import { afterThink } from './tags.ts'

const around = '["\'`*_“”‘’\\s]*'
const tail = '["\'`*_“”‘’.。．\\s]*'
const said = new RegExp(
  `^${around}([01])(?:\\.0+)?${tail}(?:(?:\\(\\s*([A-Za-z]+)\\.?\\s*\\)|[,:–—-]${around}([A-Za-z]+))${tail})?$`,
)

/** A longer text is more than a verdict. The bound also limits the pattern's cost. */
const longest = 64

/**
 * Words that may repeat the verdict in parentheses or after a comma or dash. Other words might take it back.
 */
const names: readonly (readonly string[])[] = [
  ['no', 'incorrect', 'wrong', 'false'],
  ['yes', 'correct', 'right', 'true'],
]

/**
 * A judge's 1 or 0 after its thinking, if the reply contains nothing else: `1`, `**0**`, `1。`, `1 (yes)`,
 * `0, no` or `{"score": 1}`. null: no verdict. Further words, in any language, could contradict the verdict.
 *
 * @example
 * ```ts
 * import { binaryVerdict } from 'reward-gateway/grading'
 *
 * binaryVerdict('<think>It is right.</think> **1**') // 1
 * ```
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

/** Maximum length of emphasis around a label. The bound also limits the patterns' cost. */
const mostEmphasis = 32

/**
 * The one of `labels` that a judge's reply consists of after its thinking, ignoring emphasis. null: no
 * verdict. Further words could name another label or take it back.
 *
 * @example
 * ```ts
 * import { labelVerdict } from 'reward-gateway/grading'
 *
 * labelVerdict('**B**', ['A', 'B']) // 'B'
 * ```
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
