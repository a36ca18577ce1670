import { Ajv2020, type AnySchemaObject, str } from 'ajv/dist/2020.js'
import type { DataValidateFunction, KeywordErrorCxt } from 'ajv/dist/types/index.js'
import { linearPattern } from '../regex.ts'
import { JsonIdentities, typed } from './identity.ts'
import { type ExactJson, ExactNumber, readExactJson } from './json.ts'

/** A compiled schema. Returns the first problem of a value, or null. */
type ExactCheck = (value: ExactJson) => string | null

/**
 * ajv with our own numeric keywords. ajv works on doubles, for which 19.99 is not a multiple of 0.01 and 2^53
 * + 1 equals 2^53. Patterns run in linear time, formats are annotations, and inherited names are not
 * properties. Throws an Error that names the problem of an invalid schema.
 */
function exactCheck(schema: ExactJson): ExactCheck {
  const written = new PlainValues()
  const read = written.plain(schema)
  if (typeof read === 'object' && read !== null && '$async' in read)
    throw new Error('$async: checks are synchronous')
  const ajv = new Ajv2020({
    strict: false,
    ownProperties: true,
    validateFormats: false,
    code: { regExp: linear },
  })
  // Otherwise ajv tries every branch of anyOf, even after one matches.
  ajv.opts.unevaluated = JSON.stringify(read).includes('"unevaluated')
  // The checked data: the schema itself while ajv validates it, then each value.
  let values = written
  let identities = new JsonIdentities(typed)
  const add = (keyword: string, type: 'number' | 'array' | null, made: Made) => {
    const of = ({ schema, parentSchema }: Place) => made(written.exact(schema, parentSchema, keyword))
    ajv.removeKeyword(keyword)
    ajv.addKeyword({
      keyword,
      ...(type && { type }),
      compile(own: unknown, parent: AnySchemaObject): DataValidateFunction {
        const { fits } = of({ schema: own, parentSchema: parent })
        return (data, at) => fits(values.exact(data, at?.parentData, at?.parentDataProperty))
      },
      // ajv builds the errors. A list of ours would be copied with all earlier ones for each item that
      // `contains` tries.
      errors: false,
      error: { message: (at) => str`${of(at).message}` },
    })
  }
  for (const [keyword, { sign, holds }] of Object.entries(limits)) {
    add(keyword, 'number', (own) => {
      const limit = numberOf(own, keyword)
      return {
        message: `must be ${sign} ${shown(limit)}`,
        fits: (value) => holds(compare(value as JsonNumber, limit)),
      }
    })
  }
  add('multipleOf', 'number', (own) => {
    const step = numberOf(own, 'multipleOf')
    const exactStep = exact(step)
    return {
      message: `must be multiple of ${shown(step)}`,
      fits: (value) => exact(value as JsonNumber).isMultipleOf(exactStep),
    }
  })
  add('const', null, (own) => ({
    message: 'must be equal to constant',
    fits: (value) => identities.of(value) === identities.of(own),
  }))
  add('enum', null, (own) => {
    if (!Array.isArray(own) || own.length === 0) throw new Error('enum: must be a non-empty list')
    const allowed: readonly ExactJson[] = own
    let known: { readonly by: JsonIdentities; readonly among: ReadonlySet<number> } | undefined
    return {
      message: 'must be equal to one of the allowed values',
      fits(value) {
        if (known?.by !== identities)
          known = { by: identities, among: new Set(allowed.map((one) => identities.of(one))) }
        return known.among.has(identities.of(value))
      },
    }
  })
  add('uniqueItems', 'array', (own) => ({
    message: 'must not contain equal items',
    fits(items) {
      if (own !== true) return true
      const all = items as readonly ExactJson[]
      return new Set(all.map((item) => identities.of(item))).size === all.length
    },
  }))
  // Branches that lead to the same reference double the work at each level of the value.
  let stepsLeft = Number.POSITIVE_INFINITY
  ajv.addKeyword({
    keyword: stepKeyword,
    validate() {
      if (--stepsLeft < 0) throw new CheckTooLong()
      return true
    },
    before: '$ref',
    schema: false,
    errors: false,
  })
  for (const target of targetsOf(read)) target[stepKeyword] = true
  const validate = ajv.compile(read as AnySchemaObject)
  return (value) => {
    values = new PlainValues()
    identities = new JsonIdentities(typed)
    // The outermost value needs a parent, too.
    const parentData = values.plain([value]) as [unknown]
    const [data] = parentData
    stepsLeft = fewestSteps + stepsAValue * values.count
    if (validate(data, { ...outermost, parentData, rootData: parentData })) return null
    const [error] = validate.errors ?? []
    return `${error?.instancePath ?? ''} ${error?.message ?? ''}`.trim()
  }
}

/** Thrown if a check exceeds its steps, so nothing is known about the value. */
export class CheckTooLong extends Error {}

const stepKeyword = 'reward-gateway:step'
const fewestSteps = 100_000
const stepsAValue = 100
const outermost = { instancePath: '', parentDataProperty: 0, dynamicAnchors: {} }

/** The usual targets of references: the whole schema and its definitions. */
function targetsOf(schema: unknown): Record<string, unknown>[] {
  if (!isPlainObject(schema)) return []
  const definitions = [schema.$defs, schema.definitions].filter(isPlainObject)
  return [schema, ...definitions.flatMap((named) => Object.values(named).filter(isPlainObject))]
}

const isPlainObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

type Place = Pick<KeywordErrorCxt, 'schema' | 'parentSchema'>

interface Keyword {
  readonly message: string
  fits(value: ExactJson): boolean
}

/** Builds a keyword from its value in the schema. */
type Made = (own: ExactJson) => Keyword

/** By the sign of the value minus the limit. */
const limits: Readonly<Record<string, { readonly sign: string; holds(difference: number): boolean }>> = {
  maximum: { sign: '<=', holds: (difference) => difference <= 0 },
  minimum: { sign: '>=', holds: (difference) => difference >= 0 },
  exclusiveMaximum: { sign: '<', holds: (difference) => difference < 0 },
  exclusiveMinimum: { sign: '>', holds: (difference) => difference > 0 },
}

/** Keywords that hold numbers or values with numbers. */
const numericKeywords: readonly string[] = [...Object.keys(limits), 'multipleOf', 'const', 'enum']

type JsonNumber = number | ExactNumber

const isNumber = (value: ExactJson): value is JsonNumber =>
  typeof value === 'number' || value instanceof ExactNumber

function numberOf(value: ExactJson, keyword: string): JsonNumber {
  if (isNumber(value)) return value
  throw new Error(`${keyword}: must be a number`)
}

const exact = (value: JsonNumber): ExactNumber => (typeof value === 'number' ? ExactNumber.of(value) : value)

/** Doubles compare by their shortest decimal form. */
const compare = (a: JsonNumber, b: JsonNumber): number =>
  typeof a === 'number' && typeof b === 'number' ? a - b : exact(a).compare(exact(b))

const shown = (value: JsonNumber): string => (typeof value === 'number' ? `${value}` : value.written)

type Container = readonly ExactJson[] | ReadonlyMap<string, ExactJson>

const isContainer = (value: ExactJson): value is Container =>
  typeof value === 'object' && value !== null && !(value instanceof ExactNumber)

/** Maps values as ajv reads them to the exact values that they stand for. */
class PlainValues {
  private readonly containers = new Map<unknown, Container>()
  /** Values created so far, including nested ones. */
  count = 0

  /**
   * An exact number becomes a double that is an integer only if the number is. ajv itself needs nothing more.
   */
  plain(value: ExactJson): unknown {
    this.count++
    if (value instanceof ExactNumber) return value.isInteger() ? 2 ** 53 : 0.5
    if (!isContainer(value)) return value
    const made =
      value instanceof Map
        ? this.object(value)
        : (value as readonly ExactJson[]).map((item) => this.plain(item))
    this.containers.set(made, value)
    return made
  }

  /** The exact value of `data` at its place in `parent`, or `data` itself if it was not created here. */
  exact(data: unknown, parent: unknown, key: unknown): ExactJson {
    if (typeof data === 'object' && data !== null) return this.containers.get(data) ?? exactJson(data)
    if (typeof data !== 'number') return data as ExactJson
    const container = this.containers.get(parent)
    const item =
      container instanceof Map
        ? container.get(String(key))
        : (container as readonly ExactJson[])?.[Number(key)]
    return item instanceof ExactNumber ? item : data
  }

  private object(entries: ReadonlyMap<string, ExactJson>): object {
    const made: Record<string, unknown> = {}
    for (const [key, item] of entries) {
      const value = this.plain(item)
      if (key !== '__proto__') made[key] = value
      else Object.defineProperty(made, key, { value, enumerable: true, writable: true, configurable: true })
    }
    return made
  }
}

/** Data from JSON.parse or YAML, with objects as maps. */
function exactJson(value: unknown): ExactJson {
  if (Array.isArray(value)) return value.map(exactJson)
  if (typeof value !== 'object' || value === null) return value as ExactJson
  return new Map(Object.entries(value).map(([key, item]) => [key, exactJson(item)]))
}

/** ajv caches compiled patterns by their text. */
const linear = Object.assign(
  (source: string) => {
    const pattern = linearPattern(source)
    return { test: (text: string) => pattern.matches(text, false), toString: () => source }
  },
  { code: 'linearPattern' },
)

/** Why a text violates a schema, or null. Throws CheckTooLong if that takes too many steps. */
type SchemaCheck = (text: string) => string | null

const kept = 32
const checks = new Map<string, SchemaCheck>()
const maxDepth = 128

/**
 * Compiles a JSON Schema (draft 2020-12), given as data or JSON text. Throws an Error that names the problem
 * of an invalid schema. Numbers are exact in the checked text and in a schema given as text. ajv generates
 * code from the schema, so it must come from the operator, never from a row.
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
  if (!reading || reading.constants) throw new Error('the text is not JSON')
  if (reading.repeatedKeys) throw new Error('the text repeats a key')
  if (!(reading.value instanceof Map)) throw new Error('the text is not a JSON object')
  return reading.value
}

/** Throws if reading the config has rounded a number of its schema. */
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
