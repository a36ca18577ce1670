/** Function calls: those that the trainer sent as such, or `<tool_call>` JSON in a text. Numbers are exact. */
import type { Json, ToolCall } from '../core/sample/sample.ts'
import { isObject } from './json/identity.ts'
import { type ExactJson, ExactNumber, readExactJson } from './json/json.ts'
import { pairedBlocks } from './tags.ts'

/** A call as `{ name, arguments }`. */
export type ExactCall = ReadonlyMap<string, ExactJson>

/** All calls of an answer, or why they cannot be relied on. */
export type CallReading = { readonly calls: readonly ExactCall[] } | { readonly reason: string }

export const callStart = '<tool_call>'
export const callEnd = '</tool_call>'

const deepest = 900

/** Requires paired tags, strict JSON between them, and nothing but calls. */
export function textCalls(text: string): CallReading {
  const found = pairedBlocks(text, callStart, callEnd)
  if (found === null) return { reason: 'tags_unbalanced' }
  if (found.length === 0) return { reason: 'no_call' }
  const calls: ExactCall[] = []
  for (const block of found) {
    const reading = readExactJson(block, deepest)
    if (!reading || reading.constants) return { reason: 'not_json' }
    if (reading.repeatedKeys) return { reason: 'repeated_key' }
    const call = callIn(reading.value)
    if (call === null) return { reason: 'not_a_call' }
    calls.push(call)
  }
  return { calls }
}

function callIn(value: ExactJson): ExactCall | null {
  if (!isObject(value) || value.size !== 2) return null
  const name = value.get('name')
  const args = value.get('arguments')
  return typeof name === 'string' && name !== '' && args !== undefined && isObject(args) ? value : null
}

/** Calls that the trainer sent as such. One that is malformed spoils them all. */
export function structuredCalls(sent: readonly ToolCall[]): CallReading {
  const calls: ExactCall[] = []
  for (const call of sent) {
    if (call.malformed || typeof call.arguments === 'string') return { reason: 'malformed_call' }
    calls.push(
      new Map<string, ExactJson>([
        ['name', call.name],
        ['arguments', exactOf(call.arguments)],
      ]),
    )
  }
  return calls.length > 0 ? { calls } : { reason: 'no_call' }
}

/** A list of calls in a ground truth, as OpenAI, TRL or the templates of Hugging Face write them. */
export const listedCalls = (listed: readonly Json[]): CallReading => callsOf(listed.map(exactOf))

/** The same in the JSON text of such a list. null if the text is no list. */
export function listedCallsIn(text: string): CallReading | null {
  const reading = text.trimStart().startsWith('[') ? readExactJson(text, deepest) : null
  if (!reading || !Array.isArray(reading.value)) return null
  if (reading.constants) return { reason: 'not_json' }
  return reading.repeatedKeys ? { reason: 'repeated_key' } : callsOf(reading.value)
}

function callsOf(listed: readonly ExactJson[]): CallReading {
  const calls: ExactCall[] = []
  for (const entry of listed) {
    const sent = fieldsOf(entry)
    const own = fieldsOf(sent.get('function') ?? sent)
    const [name, given = new Map()] = [own.get('name'), own.get('arguments')]
    const text = typeof given === 'string' ? readExactJson(given, deepest) : null
    const args = text ? (text.repeatedKeys || text.constants ? null : text.value) : given
    if (typeof name !== 'string' || name === '' || args === null || !isObject(args))
      return { reason: 'not_a_call' }
    calls.push(
      new Map<string, ExactJson>([
        ['name', name],
        ['arguments', args],
      ]),
    )
  }
  return calls.length > 0 ? { calls } : { reason: 'no_call' }
}

const fieldsOf = (value: ExactJson): ReadonlyMap<string, ExactJson> =>
  isObject(value) ? value : new Map<string, ExactJson>()

/** Parsed JSON with its objects as maps. */
function exactOf(value: Json): ExactJson {
  if (Array.isArray(value)) return value.map(exactOf)
  if (typeof value !== 'object' || value === null) return value as ExactJson
  return new Map(Object.entries(value).map(([key, item]) => [key, exactOf(item)]))
}

/** The JSON text of a value. Numbers are written as they were read. */
export function exactText(value: ExactJson): string {
  if (value instanceof ExactNumber) return value.written
  if (value instanceof Map)
    return `{${Array.from(value, ([key, item]) => `${JSON.stringify(key)}:${exactText(item)}`).join()}}`
  return Array.isArray(value) ? `[${value.map(exactText).join()}]` : JSON.stringify(value)
}
