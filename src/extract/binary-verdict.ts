import { isObject } from './json/identity.ts'
import { readJson } from './json/json.ts'
import { afterThink } from './think.ts'
import { trimSpace } from './white-space.ts'

const around = '["\'`*“”‘’\\s]*'
const digit = new RegExp(`^${around}([01])(?:\\.0+)?\\.?${around}(?:\\(.*\\)${around})?$`)

/** A judge's 1 or 0 after its thinking: alone on the first line, a remark in parentheses aside, or `{"score": 1}`; null: no verdict. */
export function binaryVerdict(text: string): 0 | 1 | null {
  const region = afterThink(text)
  if (region === null) return null
  const verdict = trimSpace(region)
  const line = /^[^\n]*/.exec(verdict)?.[0] ?? ''
  const found = digit.exec(line)?.[1]
  if (found !== undefined) return found === '1' ? 1 : 0
  const reading = verdict.startsWith('{') ? readJson(verdict) : null
  if (!reading || reading.repeatedKeys || !isObject(reading.value) || reading.value.size !== 1) return null
  const score = reading.value.get('score')
  return score === 0 || score === 1 ? score : null
}
