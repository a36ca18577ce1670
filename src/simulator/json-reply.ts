import type { Judged } from './policies/policy.ts'

type Schema = Readonly<Record<string, unknown>>

const deepest = 12

/** A value that fits a JSON Schema and says the verdict: numbers and flags by the score, texts by the reason. */
export function jsonReply(schema: unknown, judged: readonly Judged[]): unknown {
  return fill(schema, judged, '', asSchema(schema), 0)
}

function fill(given: unknown, judged: readonly Judged[], name: string, root: Schema, depth: number): unknown {
  const schema = resolve(given, root)
  const [first = { score: 0, reason: '', label: '' }] = judged
  if (depth > deepest) return null
  if ('const' in schema) return schema.const
  if (Array.isArray(schema.enum)) return byScore(schema.enum, first.score)
  const [branch] = (schema.anyOf ?? schema.oneOf ?? schema.allOf ?? []) as readonly unknown[]
  if (branch !== undefined) return fill(branch, judged, name, root, depth + 1)
  const type = Array.isArray(schema.type) ? schema.type[0] : schema.type
  if (type === 'number' || type === 'integer') return numberFor(schema, candidateOf(name, judged), type)
  if (type === 'boolean') return first.score >= 0.5
  if (type === 'string') return stringFor(schema, name, first)
  if (type === 'array') return listFor(schema, judged, name, root, depth)
  if (type === 'null') return null
  const properties = asSchema(schema.properties)
  return Object.fromEntries(
    Object.entries(properties).map(([key, value]) => [key, fill(value, judged, key, root, depth + 1)]),
  )
}

/** One entry a candidate, within the list's bounds. */
function listFor(
  schema: Schema,
  judged: readonly Judged[],
  name: string,
  root: Schema,
  depth: number,
): unknown[] {
  const most = typeof schema.maxItems === 'number' ? schema.maxItems : judged.length
  const least = typeof schema.minItems === 'number' ? schema.minItems : 0
  const length = Math.max(least, Math.min(most, judged.length))
  return Array.from({ length }, (_, index) => {
    const candidate = judged[index] ?? judged[0]
    return fill(schema.items ?? {}, candidate ? [candidate] : [], name, root, depth + 1)
  })
}

function numberFor(schema: Schema, { score }: Judged, type: string): number {
  const low = typeof schema.minimum === 'number' ? schema.minimum : 0
  const high = typeof schema.maximum === 'number' ? schema.maximum : Math.max(1, low + 1)
  const value = low + score * (high - low)
  return type === 'integer' ? Math.round(value) : value
}

function stringFor(schema: Schema, name: string, { score, reason }: Judged): string {
  const isVerdict = /verdict|grade|label|decision|judg|winner/iu.test(name)
  const text = isVerdict ? (score >= 0.5 ? 'correct' : 'incorrect') : reason
  const most = typeof schema.maxLength === 'number' ? schema.maxLength : text.length
  const least = typeof schema.minLength === 'number' ? Math.min(schema.minLength, 10_000) : 0
  return text.slice(0, most).padEnd(least, '.')
}

/** From worst to best: the better end is 1, true, yes or pass, else the first entry. */
function byScore(values: readonly unknown[], score: number): unknown {
  const isRight = score >= 0.5
  if (values.every((value) => typeof value === 'number')) {
    const sorted = [...values].sort((a, b) => a - b)
    return sorted[Math.round(score * (sorted.length - 1))]
  }
  const words = isRight
    ? /^(?:1|yes|true|correct|right|pass|good)$/iu
    : /^(?:0|no|false|incorrect|wrong|fail|bad)$/iu
  return values.find((value) => words.test(String(value))) ?? (isRight ? values[0] : values.at(-1))
}

function candidateOf(name: string, judged: readonly Judged[]): Judged {
  const named = judged.find(({ label }) => label !== '' && name.endsWith(label))
  return named ?? judged[0] ?? { score: 0, reason: '', label: '' }
}

function resolve(given: unknown, root: Schema): Schema {
  const schema = asSchema(given)
  if (typeof schema.$ref !== 'string' || !schema.$ref.startsWith('#/')) return schema
  let target: unknown = root
  for (const key of schema.$ref.slice(2).split('/')) {
    const parent = asSchema(target)
    target = Object.hasOwn(parent, key) ? parent[key] : undefined
  }
  return asSchema(target)
}

function asSchema(value: unknown): Schema {
  return typeof value === 'object' && value !== null ? (value as Schema) : {}
}
