import { type ExactJson, readExactJson } from './json.ts'
import { exactCheck, exactJson, numericKeywords } from './schema-keywords.ts'

export { CheckTooLong } from './schema-keywords.ts'

/** Why a text does not satisfy a schema; null: it does. Throws CheckTooLong where that takes too many steps to tell. */
export type SchemaCheck = (text: string) => string | null

const kept = 32
const checks = new Map<string, SchemaCheck>()
const maxDepth = 128

/**
 * A check by a JSON Schema (draft 2020-12), as data or as its JSON text; throws an Error that says what is wrong with it.
 * Numbers count as they are written, in the text that is checked and in a schema that is a text.
 * ajv makes code of it, so the schema must be the operator's own, never a row's: the text is only ever data of that code.
 */
export function schemaCheck(schema: object | string): SchemaCheck {
  const key = JSON.stringify(schema)
  const known = checks.get(key)
  if (known) return known
  const fits = exactCheck(typeof schema === 'string' ? readSchema(schema) : asWritten(schema))
  const check: SchemaCheck = (text) => {
    const reading = readExactJson(text, maxDepth)
    if (!reading || reading.constants) return 'not_json'
    if (reading.repeatedKeys) return 'repeated_key'
    return fits(reading.value)?.slice(0, 200) ?? null
  }
  if (checks.size >= kept) checks.clear()
  checks.set(key, check)
  return check
}

function readSchema(text: string): ExactJson {
  const reading = readExactJson(text, maxDepth)
  if (!reading || reading.constants) throw new Error('the text is no JSON')
  if (reading.repeatedKeys) throw new Error('the text names a key twice')
  if (!(reading.value instanceof Map)) throw new Error('the text is no JSON object')
  return reading.value
}

/** Throws where the config that the schema stood in was rounded when it was read. */
function asWritten(schema: object): ExactJson {
  const value = exactJson(schema)
  refuseRounded(value, false)
  return value
}

function refuseRounded(value: ExactJson, counts: boolean): void {
  if (counts && typeof value === 'number' && Number.isInteger(value) && !Number.isSafeInteger(value)) {
    throw new Error(
      `${value}: an integer beyond 2^53 is rounded in a config; write the schema as a JSON text`,
    )
  }
  if (value instanceof Map) {
    for (const [key, item] of value) refuseRounded(item, counts || numericKeywords.includes(key))
  } else if (Array.isArray(value)) for (const item of value) refuseRounded(item, counts)
}
