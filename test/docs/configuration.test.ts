import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { errorCodes, GatewayError } from '../../src/errors.ts'
import { configSchemas } from '../../src/plan/json-schema.ts'
import { failureKinds } from '../../src/sample/failure.ts'

const page = (name: string) => readFileSync(join('docs', name), 'utf8')

interface Schema {
  readonly properties?: Readonly<Record<string, Schema>>
  readonly items?: Schema
  readonly additionalProperties?: Schema | boolean
  readonly anyOf?: readonly Schema[]
}

/** Every key below a schema, dotted; what has a section of its own is named but not entered. */
function keys(schema: Schema, apart: readonly string[] = [], prefix = ''): string[] {
  const below = [
    schema,
    ...(schema.anyOf ?? []),
    ...(schema.items ? [schema.items, ...(schema.items.anyOf ?? [])] : []),
  ]
  return below.flatMap(({ properties = {} }) =>
    Object.entries(properties).flatMap(([name, inner]) => {
      const deeper = apart.includes(name) ? [] : keys(inner, apart, `${prefix}${name}.`)
      const isGroup = deeper.length > 0 && inner.properties !== undefined
      return isGroup ? deeper : [`${prefix}${name}`, ...deeper]
    }),
  )
}

/** The names in the first column of a section's table. */
function documented(markdown: string, heading: string): string[] {
  const section = markdown.split(/^## /m).find((text) => text.startsWith(`${heading}\n`)) ?? ''
  const rows = section.split('\n').filter((line) => line.startsWith('| `'))
  return rows.flatMap((row) =>
    [...(row.split(' | ')[0] ?? '').matchAll(/`([^`]+)`/g)].map(([, name = '']) => name),
  )
}

const schemas = configSchemas() as Readonly<Record<string, Schema>>
const gateway = schemas['gateway.schema.json'] ?? {}
const reward = schemas['reward.schema.json'] ?? {}
const model = gateway.properties?.models?.additionalProperties as Schema
const step = reward.properties?.steps?.items as Schema

t.test('every key of the configs is on its page, and no other', async (t) => {
  const markdown = page('configuration.md')
  const sections: [string, string[]][] = [
    ['gateway.yaml', keys(gateway, ['models', 'wires'])],
    ['A model', keys(model, ['sampling'])],
    ['Sampling', keys(model.properties?.sampling ?? {})],
    ['A reward', keys(reward, ['models', 'steps'])],
    ['A step', keys(step, ['sampling'])],
  ]
  for (const [heading, wanted] of sections) {
    t.ok(wanted.length > 5, heading)
    t.strictSame(documented(markdown, heading).sort(), wanted.sort(), heading)
  }
})

t.test('every code and every kind of failure is on its page, with its status, and no other', async (t) => {
  const markdown = page('errors.md')
  const rows = [...markdown.matchAll(/^\| `(RG_\w+)` \| (\d+) \|/gm)].map(([, code, status]) => [
    code,
    Number(status),
  ])
  t.strictSame(
    rows,
    errorCodes.map((code) => [code, new GatewayError(code, '').statusCode]),
  )
  t.strictSame(documented(markdown, 'Failures of a sample'), [...failureKinds])
})
