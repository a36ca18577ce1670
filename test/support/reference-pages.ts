/** Reference pages that follow from the code: commands from their help, routes from the API's description. */

import { appendFileSync, cpSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { systemClock } from '../../src/core/clock.ts'
import { createApp } from '../../src/serving/http/app.ts'
import { openObservedGateway } from '../../src/serving/observed-gateway.ts'
import { openQueue } from '../../src/serving/queue/queue.ts'
import { openMetrics } from '../../src/serving/telemetry/metrics/metrics.ts'
import { runCommand } from './command-line.ts'

const note = 'Written by `npm run generate`.'

async function printed(...argv: string[]): Promise<string> {
  return (await runCommand(argv)).stdout.trimEnd()
}

/** docs/cli.md */
export async function commandsPage(): Promise<string> {
  const overview = await printed('--help')
  const sections = overview.split('\n\n').slice(1, -1)
  const parts: string[] = []
  for (const section of sections) {
    const [title = '', ...rows] = section.split('\n')
    parts.push(`## ${title.replace(/:$/, '')}`)
    for (const row of rows) {
      const [name = '', summary = ''] = row.trim().split(/ {2,}/)
      const help = await printed(...name.split(' '), '--help')
      const [about = '', example = ''] = help.split('\n\nExample:\n')
      parts.push(`### ${name}`, `\`${name}\` ${summary}.`, block('text', about), block('sh', example.trim()))
    }
  }
  return paragraphs([
    '# Commands',
    `\`reward-gateway COMMAND --help\` prints what stands here. Exit codes are on [the page of errors](errors.md#exit-codes). ${note}`,
    ...parts,
  ])
}

const paragraphs = (parts: readonly string[]): string => `${parts.join('\n\n')}\n`

const block = (language: string, text: string): string => `\`\`\`${language}\n${text}\n\`\`\``

interface Schema {
  readonly type?: string | readonly string[]
  readonly description?: string
  readonly enum?: readonly unknown[]
  readonly anyOf?: readonly Schema[]
  readonly items?: Schema
  readonly properties?: Readonly<Record<string, Schema>>
  readonly required?: readonly string[]
}

interface Operation {
  readonly tags: readonly string[]
  readonly summary: string
  readonly security?: readonly object[]
  readonly parameters?: readonly {
    readonly name: string
    readonly in: string
    readonly description?: string
    readonly example?: string
    readonly schema?: Schema & { readonly example?: string }
  }[]
  readonly requestBody?: { readonly content: Body }
  readonly responses: Readonly<Record<string, { readonly description: string; readonly content?: Body }>>
}

type Body = Readonly<Record<string, { readonly schema: Schema; readonly example?: unknown }>>

const titles: Readonly<Record<string, string>> = {
  score: 'Scoring',
  rewards: 'Rewards and functions',
  models: 'Models',
  operation: 'Operation',
  admin: 'Administration',
  runs: 'Durable scoring',
}

/** docs/http.md */
export async function routesPage(): Promise<string> {
  const routes = await describedRoutes()
  const groups = new Map<string, (typeof routes)[number][]>()
  for (const route of routes) {
    const [tag = ''] = route.operation.tags
    const title = tag.startsWith('trainer: ') ? "Trainers' formats" : (titles[tag] ?? tag)
    groups.set(title, [...(groups.get(title) ?? []), route])
  }
  const parts = [...groups].flatMap(([title, routes]) => [
    `## ${title}`,
    [
      '| route | |',
      '| --- | --- |',
      ...routes.map(({ name, operation }) => `| \`${name}\` | ${cell(operation.summary)} |`),
    ].join('\n'),
    ...alike(routes).flatMap(described),
  ])
  return paragraphs([
    '# HTTP API',
    `The gateway describes its routes itself: \`/docs\` is a page to try them, \`/openapi.json\` is OpenAPI 3.1. ${note} Bodies are JSON with the
header \`content-type: application/json\`. If keys are configured, send one as \`authorization: Bearer <key>\` ([keys](configuration.md#a-key)). An error
has [a code](errors.md) and the status of that code.`,
    'Numbers in replies are unrounded doubles. A reward or a `contribution` may read 7.199999999999999 where the sum is 7.2; compare with a tolerance.',
    `Each route is shown with a call and its reply: those of \`npm start\`, without the fields of a model server that the example does not need. Routes under
\`/v1/runs\` and \`/v1/queue\` need [a queue](queue.md), those under \`/admin\` a key with the scope \`admin\`, and \`/wire/llama-factory\`
[a file of ground truths](trainers/llama-factory.md).`,
    ...parts,
  ])
}

interface Route {
  readonly name: string
  readonly operation: Operation
}

/** Routes that take and answer the same, under several paths. */
interface Routes extends Route {
  readonly others: readonly string[]
}

function alike(routes: readonly Route[]): readonly Routes[] {
  const byExample = new Map<string, Routes>()
  for (const { name, operation } of routes) {
    const { requestBody, responses } = operation
    const key = JSON.stringify([
      operation.summary.startsWith('Forward to') ? '' : operation.summary,
      requestBody ?? name.replace(/\/.*\//, ''),
      responses,
    ])
    const first = byExample.get(key)
    byExample.set(
      key,
      first ? { ...first, others: [...first.others, name] } : { name, operation, others: [] },
    )
  }
  return [...byExample.values()]
}

async function describedRoutes(): Promise<readonly Route[]> {
  const folder = mkdtempSync(join(tmpdir(), 'reward-gateway-reference-'))
  cpSync('rm-configs', folder, { recursive: true })
  appendFileSync(join(folder, 'gateway.yaml'), '\nqueue: { folder: queue }\n')
  const gateway = await openObservedGateway({
    configs: [folder],
    functionFolders: [],
    env: {},
    secret: 'reference',
  })
  const queue = await openQueue({ gateway, clock: systemClock })
  const app = await createApp({
    gateway,
    queue,
    metrics: openMetrics({ version: 'reference', inFlight: () => 0 }),
    bodyLimit: 1 << 20,
  })
  try {
    const { paths }: { paths: Readonly<Record<string, Readonly<Record<string, Operation>>>> } = (
      await app.inject('/openapi.json')
    ).json()
    return Object.entries(paths).flatMap(([path, operations]) =>
      Object.entries(operations).map(([method, operation]) => ({
        name: `${method.toUpperCase()} ${path}`,
        operation,
      })),
    )
  } finally {
    await app.close()
    await gateway.close(0)
    await queue?.close()
    rmSync(folder, { recursive: true })
  }
}

/** What a route without a body answers, if that is described. */
const resultOf = ({ requestBody, responses }: Operation): Schema | undefined => {
  const schema = requestBody ? undefined : responses['200']?.content?.['application/json']?.schema
  return schema?.properties && schema
}

function described({ name, operation, others }: Routes): readonly string[] {
  const [method = '', path = ''] = name.split(' ')
  const [[type = '', body] = []] = Object.entries(operation.requestBody?.content ?? {})
  const example = body?.example ?? {}
  const text = typeof example === 'string' ? example.trimEnd() : JSON.stringify(example)
  const values = new Map(
    operation.parameters?.map(({ name, example, schema }) => [
      name,
      String(example ?? schema?.example ?? name),
    ]),
  )
  const address = `localhost:8080${path.replace(/\{(\w+)\}/g, (_, name: string) => values.get(name) ?? name)}`
  const sent = body
    ? ` -H 'content-type: ${type}' ${typeof example === 'string' ? '--data-binary' : '-d'} \\\n  '${text.replaceAll("'", "'\\''")}'`
    : ''
  const [only, ...ways] = operation.security ?? []
  const key = only && ways.length === 0 ? ' -H "authorization: Bearer $KEY"' : ''
  const isPost = method === 'POST' && body !== undefined
  const call = `curl -s ${method === 'GET' || isPost ? '' : `-X ${method} `}${address}${key}${sent}`
  const result = resultOf(operation)
  const [reply] = ['200', '201', '202'].flatMap((status) => {
    const shown = operation.responses[status]?.content?.['application/json']?.example
    return shown === undefined ? [] : [shown]
  })
  const items = body?.schema.properties?.samples?.items
  return [
    `### ${name}`,
    `${operation.summary}.`,
    ...(others.length > 0 ? [`The same: ${others.map((other) => `\`${other}\``).join(', ')}.`] : []),
    block('sh', call),
    ...(reply === undefined ? [] : [block('json', jsonText(reply))]),
    ...(body?.schema.properties ? [fieldsOf(body.schema)] : []),
    ...(items ? ['Of each sample:', fieldsOf(items)] : []),
    ...(result ? ['The reply:', ...replyFields(result)] : []),
  ]
}

const longestLine = 110

/** JSON with a line for each value that fits into one. */
function jsonText(value: unknown, indent = ''): string {
  const whole = JSON.stringify(value)
  if (typeof value !== 'object' || value === null || indent.length + whole.length <= longestLine) return whole
  const inner = `${indent}  `
  const [open, close] = Array.isArray(value) ? '[]' : '{}'
  const items = Object.entries(value).map(
    ([key, item]) =>
      `${inner}${Array.isArray(value) ? '' : `${JSON.stringify(key)}: `}${jsonText(item, inner)}`,
  )
  return `${open}\n${items.join(',\n')}\n${indent}${close}`
}

/** The fields of a reply, and those of the items of its lists. */
function replyFields(schema: Schema): readonly string[] {
  const { required: _, ...shown } = schema
  return [
    fieldsOf(shown),
    ...Object.entries(schema.properties ?? {}).flatMap(([name, { items, anyOf = [] }]) => [
      ...(items?.properties ? [`Of each of \`${name}\`:`, ...replyFields(items)] : []),
      ...anyOf.flatMap((one) => (one.properties ? [`Of \`${name}\`:`, ...replyFields(one)] : [])),
    ]),
  ]
}

const fieldsOf = ({ properties = {}, required = [] }: Schema): string =>
  [
    '| field | type | |',
    '| --- | --- | --- |',
    ...Object.entries(properties).map(
      ([name, schema]) =>
        `| \`${name}\`${required.includes(name) ? ', required' : ''} | ${cell(typeOf(schema))} | ${cell(schema.description ?? '')} |`,
    ),
  ].join('\n')

function typeOf({ type, anyOf, items, enum: values }: Schema): string {
  if (anyOf) return [...new Set(anyOf.map(typeOf))].filter((one) => one !== '').join(' or ')
  if (values) return values.map((value) => `\`${String(value)}\``).join(', ')
  const names = (typeof type === 'string' ? [type] : (type ?? ['any JSON'])).filter((one) => one !== 'null')
  return names.map((name) => (name === 'array' && items ? `list of ${typeOf(items)}` : name)).join(' or ')
}

const cell = (text: string): string => text.replaceAll('|', '\\|').replaceAll('\n', ' ')
