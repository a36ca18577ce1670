import { type ZodObject, z } from 'zod'
import type { Problem } from '../../core/errors.ts'
import { didYouMean } from '../../core/nearest-name.ts'
import { type Issue, innermost, kindOf, unionWords, wordOf } from '../../trainers/issues.ts'
import { type ConfigPath, type ParsedConfig, replacedAt } from './config-text.ts'
import { newNameOf, newValueOf } from './renamed-settings.ts'

/** Every mistake, and the value with defaults and without the invalid keys. */
export interface Read<S extends ZodObject> {
  readonly value: Partial<z.output<S>>
  readonly problems: readonly Problem[]
}

/** Another kind of config, for the hint that a setting belongs there. */
interface OtherConfig {
  readonly name: string
  readonly schema: ZodObject
}

/** Checks the part of a config at a path against a schema. Valid keys stay usable for further checks. */
export function readShape<S extends ZodObject>(
  schema: S,
  config: ParsedConfig,
  written: unknown,
  at: ConfigPath,
  elsewhere?: OtherConfig,
): Read<S> {
  const asWritten = schema.safeParse(written)
  const piece = asWritten.success ? written : rereadVariables(schema, config, written, at, asWritten.error)
  const read = piece === written ? asWritten : schema.safeParse(piece)
  if (read.success) return { value: read.data as Partial<z.output<S>>, problems: [] }
  const issues = read.error.issues.flatMap(innermost)
  const problems = issues.flatMap((issue) => problemsOf(issue, schema, config, piece, at, elsewhere))
  const wrong = new Set(issues.flatMap((issue) => [issue.path[0], ...('keys' in issue ? issue.keys : [])]))
  const isObject = typeof piece === 'object' && piece !== null && !Array.isArray(piece)
  const right = isObject ? Object.entries(piece).filter(([key]) => !wrong.has(key)) : []
  const rest = schema.partial().safeParse(Object.fromEntries(right))
  return { value: (rest.success ? rest.data : {}) as Partial<z.output<S>>, problems }
}

/**
 * Switches values from variables to their other reading where the schema refuses the first: `"${PORT:-8090}"` for a number,
 * a version 1.10 for a string. If neither fits, it takes the one of the right type. Returns `piece` if nothing helps.
 */
function rereadVariables(
  schema: ZodObject,
  config: ParsedConfig,
  piece: unknown,
  at: ConfigPath,
  error: z.ZodError,
): unknown {
  let reread = piece
  for (const path of refusedPaths(error.issues, [])) {
    const other = config.otherReading([...at, ...path])
    if (!other) continue
    const tried = replacedAt(reread, path, other.value)
    const left = schema.safeParse(tried)
    const refused = left.success ? [] : issuesAt(left.error.issues, path)
    // "Too large" is a better message than "not a string".
    const fitsBetter = !refused.some(isWrongKind) && issuesAt(error.issues, path).some(isWrongKind)
    if (refused.length === 0 || fitsBetter) reread = tried
  }
  return reread
}

/** The paths of issues, including those inside a union's alternatives. */
function refusedPaths(issues: readonly Issue[], from: ConfigPath): ConfigPath[] {
  return issues.flatMap((issue) => {
    const path = [...from, ...issue.path.filter((part) => typeof part !== 'symbol')]
    const inner = issue.code === 'invalid_union' ? issue.errors.flatMap((one) => refusedPaths(one, path)) : []
    return [path, ...inner]
  })
}

/** The issues at a path, including those inside a union's alternatives. */
function issuesAt(issues: readonly Issue[], at: ConfigPath, from: ConfigPath = []): Issue[] {
  return issues.flatMap((issue) => {
    const path = [...from, ...issue.path.filter((part) => typeof part !== 'symbol')]
    const inner = issue.code === 'invalid_union' ? issue.errors.flatMap((one) => issuesAt(one, at, path)) : []
    return isSame(path, at) ? [issue, ...inner] : inner
  })
}

/** Whether a value has the wrong type, such as a string for a number. 8.5 for an integer has the right type. */
const isWrongKind = (issue: Issue): boolean =>
  issue.code === 'invalid_union' || (issue.code === 'invalid_type' && issue.expected !== 'int')

const isSame = (a: ConfigPath, b: ConfigPath): boolean =>
  a.length === b.length && a.every((part, at) => part === b[at])

function problemsOf(
  issue: Issue,
  schema: ZodObject,
  config: ParsedConfig,
  piece: unknown,
  at: ConfigPath,
  elsewhere: OtherConfig | undefined,
): Problem[] {
  const inner = issue.path.filter((part) => typeof part !== 'symbol')
  const path = [...at, ...inner]
  if (issue.code === 'unrecognized_keys') {
    const known = keysAt(schema, inner)
    const section = valueAt(piece, inner)
    return issue.keys.map((key) => {
      const value = valueAt(section, [key])
      const renamed = newNameOf([...path, key], value, known, config.fixable)
      if (renamed !== null) return config.problemAt([...path, key], renamed, 'key')
      const isElsewhere = inner.length === 0 && elsewhere && Object.hasOwn(elsewhere.schema.shape, key)
      const hint = isElsewhere ? `; it is one of ${elsewhere.name}` : didYouMean(key, known)
      return config.problemAt([...path, key], `there is no setting '${key}'${hint}`, 'key')
    })
  }
  const found = valueAt(piece, inner)
  if (found === null && inner.length === 0 && at.length === 0) return [config.problemAt(path, 'is empty')]
  if (found === undefined && inner.length > 0) return [config.problemAt(path, 'is missing')]
  if (issue.code === 'invalid_value') {
    const renamed = newValueOf(path, found, config.fixable)
    if (renamed !== null) return [config.problemAt(path, renamed)]
    const words = issue.values.map(String)
    const near = typeof found === 'string' ? didYouMean(found, words) : ''
    return [config.problemAt(path, `must be ${words.map((word) => `'${word}'`).join(' or ')}${near}`)]
  }
  const message = kindsOf(issue, found) ?? issue.message
  return [config.problemAt(path, /^[A-Z]/.test(message) ? decapitalised(message) : `must be ${message}`)]
}

const valueAt = (piece: unknown, path: ConfigPath): unknown =>
  path.reduce<unknown>(
    (value, key) => (typeof value === 'object' && value !== null ? Reflect.get(value, key) : undefined),
    piece,
  )

/** The expected type and the type that was found. */
function kindsOf(issue: Issue, found: unknown): string | null {
  if (issue.code === 'invalid_type') return `${wordOf(issue.expected)}, not ${kindOf(found)}`
  return issue.code === 'invalid_union' ? unionWords(issue) : null
}

const decapitalised = (text: string): string => text.charAt(0).toLowerCase() + text.slice(1)

interface JsonSchema {
  readonly properties?: Readonly<Record<string, JsonSchema>>
  readonly items?: JsonSchema
  readonly additionalProperties?: JsonSchema | boolean
  readonly anyOf?: readonly JsonSchema[]
}

/** The settings that are valid at a path. */
function keysAt(schema: ZodObject, path: readonly (string | number)[]): readonly string[] {
  let here = [z.toJSONSchema(schema, { io: 'input', unrepresentable: 'any' }) as JsonSchema]
  for (const part of path) {
    here = here
      .flatMap((one) => [one, ...(one.anyOf ?? [])])
      .flatMap(({ properties = {}, items, additionalProperties }) => {
        if (typeof part === 'number') return items ?? []
        if (Object.hasOwn(properties, part)) return properties[part] ?? []
        return typeof additionalProperties === 'object' ? additionalProperties : []
      })
  }
  return here
    .flatMap((one) => [one, ...(one.anyOf ?? [])])
    .flatMap(({ properties = {} }) => Object.keys(properties))
}
