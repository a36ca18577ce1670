import { type ZodObject, z } from 'zod'
import type { Problem } from '../errors.ts'
import { didYouMean } from '../nearest-name.ts'
import type { ConfigPath, ParsedConfig } from './config-text.ts'

/** Every mistake, and what is left of the value without the keys that hold them, defaults filled in. */
export interface Read<S extends ZodObject> {
  readonly value: Partial<z.output<S>>
  readonly problems: readonly Problem[]
}

/** Another kind of config, whose settings may have been meant. */
export interface Elsewhere {
  readonly name: string
  readonly schema: ZodObject
}

/** Checks the piece of a config at a path against a schema; what is right stays usable for further checks. */
export function readShape<S extends ZodObject>(
  schema: S,
  config: ParsedConfig,
  piece: unknown,
  at: ConfigPath,
  elsewhere?: Elsewhere,
): Read<S> {
  const read = schema.safeParse(piece)
  if (read.success) return { value: read.data as Partial<z.output<S>>, problems: [] }
  const issues = read.error.issues.flatMap((issue) => innermost(issue, piece))
  const problems = issues.flatMap((issue) => problemsOf(issue, schema, config, piece, at, elsewhere))
  const wrong = new Set(issues.flatMap((issue) => [issue.path[0], ...('keys' in issue ? issue.keys : [])]))
  const isObject = typeof piece === 'object' && piece !== null && !Array.isArray(piece)
  const right = isObject ? Object.entries(piece).filter(([key]) => !wrong.has(key)) : []
  const rest = schema.partial().safeParse(Object.fromEntries(right))
  return { value: (rest.success ? rest.data : {}) as Partial<z.output<S>>, problems }
}

type Issue = z.core.$ZodIssue

/** Of a union's alternatives the one that the value was meant to be: the one that fails below its top. */
function innermost(issue: Issue, piece: unknown): Issue[] {
  if (issue.code !== 'invalid_union') return [issue]
  const meant = issue.errors.find((inner) =>
    inner.every(({ code, path }) => path.length > 0 || code === 'unrecognized_keys'),
  )
  if (!meant) return [issue]
  return meant.flatMap((inner) => innermost({ ...inner, path: [...issue.path, ...inner.path] }, piece))
}

function problemsOf(
  issue: Issue,
  schema: ZodObject,
  config: ParsedConfig,
  piece: unknown,
  at: ConfigPath,
  elsewhere: Elsewhere | undefined,
): Problem[] {
  const inner = issue.path.filter((part) => typeof part !== 'symbol')
  const path = [...at, ...inner]
  if (issue.code === 'unrecognized_keys') {
    const known = keysAt(schema, inner)
    return issue.keys.map((key) => {
      const isElsewhere = inner.length === 0 && elsewhere && Object.hasOwn(elsewhere.schema.shape, key)
      const hint = isElsewhere ? `; it is one of ${elsewhere.name}` : didYouMean(key, known)
      return config.problemAt([...path, key], `there is no setting '${key}'${hint}`, 'key')
    })
  }
  const found = inner.reduce<unknown>(
    (value, key) => (typeof value === 'object' && value !== null ? Reflect.get(value, key) : undefined),
    piece,
  )
  if (found === undefined && inner.length > 0) return [config.problemAt(path, 'is missing')]
  if (issue.code === 'invalid_value') {
    const words = issue.values.map(String)
    const near = typeof found === 'string' ? didYouMean(found, words) : ''
    return [config.problemAt(path, `must be ${words.map((word) => `'${word}'`).join(' or ')}${near}`)]
  }
  const { message } = issue
  return [config.problemAt(path, /^[A-Z]/.test(message) ? decapitalised(message) : `must be ${message}`)]
}

const decapitalised = (text: string): string => text.charAt(0).toLowerCase() + text.slice(1)

interface JsonSchema {
  readonly properties?: Readonly<Record<string, JsonSchema>>
  readonly items?: JsonSchema
  readonly additionalProperties?: JsonSchema | boolean
  readonly anyOf?: readonly JsonSchema[]
}

/** The settings that may stand at a path. */
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
