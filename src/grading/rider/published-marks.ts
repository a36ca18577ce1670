import { isObject } from '../json/identity.ts'
import { type JsonValue, readJson } from '../json/json.ts'
import { readFloat } from '../python/number.ts'
import { trimSpace } from '../white-space.ts'
import { quoteKeys } from './key-repair.ts'
import { innermostObjects } from './verdict-object.ts'

/** The keys and values that the published judges' parser finds after the first `</think>`; 'none' or 'broken' otherwise. */
export function publishedVerdict(
  text: string,
  backslashes: boolean,
): ReadonlyMap<string, JsonValue> | 'none' | 'broken' {
  const end = text.indexOf('</think>')
  const last = innermostObjects(end < 0 ? text : text.slice(end + '</think>'.length)).at(-1)
  if (last === undefined) return 'none'
  const piece = trimSpace(last)
  const value = (readJson(piece) ?? readJson(quoteKeys(piece, backslashes)))?.value
  return value !== undefined && isObject(value) ? value : 'broken'
}

/** Mean of the values where each is 0 or 1 as a number, a boolean or a number in a text; otherwise 0. */
export function publishedMean(verdict: ReadonlyMap<string, JsonValue>): number {
  const marks = Array.from(verdict.values(), markOf)
  if (marks.length === 0 || marks.some((mark) => mark !== 0 && mark !== 1)) return 0
  return marks.filter((mark) => mark === 1).length / marks.length
}

function markOf(value: JsonValue): number | null {
  if (typeof value === 'string') return readFloat(value)
  return typeof value === 'object' ? null : Number(value)
}
