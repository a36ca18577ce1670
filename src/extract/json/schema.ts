import { Ajv2020 } from 'ajv/dist/2020.js'
import { linearPattern } from '../regex.ts'
import { readJson } from './json.ts'

/** Why a text does not satisfy a schema; null: it does. */
export type SchemaCheck = (text: string) => string | null

const kept = 32
const checks = new Map<string, SchemaCheck>()
const maxDepth = 128

/**
 * A check by a JSON Schema (draft 2020-12); throws an Error that says what is wrong with the schema.
 * ajv makes code of it, so the schema must be the operator's own, never a row's: the text is only ever data of that code.
 */
export function schemaCheck(schema: object): SchemaCheck {
  const key = JSON.stringify(schema)
  const known = checks.get(key)
  if (known) return known
  if ('$async' in schema) throw new Error('$async: checks are synchronous')
  const validate = compiler().compile(schema)
  const check: SchemaCheck = (text) => {
    const reading = readJson(text, maxDepth)
    if (!reading || reading.constants) return 'not_json'
    if (reading.repeatedKeys) return 'repeated_key'
    if (validate(JSON.parse(text))) return null
    const [error] = validate.errors ?? []
    return `${error?.instancePath ?? ''} ${error?.message ?? ''}`.trim().slice(0, 200)
  }
  if (checks.size >= kept) checks.clear()
  checks.set(key, check)
  return check
}

/** Patterns run in linear time, formats are remarks, and names that every object inherits are no properties. */
function compiler(): Ajv2020 {
  const regExp = Object.assign(
    (source: string) => {
      const pattern = linearPattern(source)
      // ajv shares what it compiled by this text
      return { test: (text: string) => pattern.matches(text, false), toString: () => source }
    },
    { code: 'linearPattern' },
  )
  const ajv = new Ajv2020({ strict: false, ownProperties: true, validateFormats: false, code: { regExp } })
  ajv.removeKeyword('uniqueItems')
  ajv.addKeyword({
    keyword: 'uniqueItems',
    type: 'array',
    schemaType: 'boolean',
    validate: (unique: boolean, items: readonly unknown[]) =>
      !unique || new Set(items.map((item) => JSON.stringify(item, sorted))).size === items.length,
    error: { message: 'must not hold equal items' },
  })
  return ajv
}

/** Puts the keys of objects in order, so that equal values are equal texts. */
const sorted = (_: string, value: unknown): unknown =>
  typeof value === 'object' && value !== null && !Array.isArray(value)
    ? Object.fromEntries(Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1)))
    : value
