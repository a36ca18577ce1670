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
    // Those that pass requests through differ in their paths alone.
    ...routes
      .filter(
        ({ operation }) =>
          !operation.summary.startsWith('Forward to') &&
          (operation.requestBody || resultOf(operation)) &&
          !operation.tags[0]?.startsWith('trainer'),
      )
      .flatMap(described),
  ])
  return paragraphs([
    '# HTTP API',
    `The gateway describes its routes itself: \`/docs\` is a page to try them, \`/openapi.json\` is OpenAPI 3.1. ${note} Bodies are JSON with the
header \`content-type: application/json\`. If keys are configured, send one as \`authorization: Bearer <key>\` ([keys](configuration.md#a-key)). An error
has [a code](errors.md) and the status of that code.`,
    ...parts,
  ])
}

async function describedRoutes(): Promise<
  readonly { readonly name: string; readonly operation: Operation }[]
> {
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

function described({
  name,
  operation,
}: {
  readonly name: string
  readonly operation: Operation
}): readonly string[] {
  const [method = '', path = ''] = name.split(' ')
  const body = operation.requestBody?.content['application/json']
  const values = new Map(
    operation.parameters?.map(({ name, example, schema }) => [
      name,
      String(example ?? schema?.example ?? name),
    ]),
  )
  const address = `localhost:8080${path.replace(/\{(\w+)\}/g, (_, name: string) => values.get(name) ?? name)}`
  const sent = body
    ? ` -H 'content-type: application/json' -d \\\n  '${JSON.stringify(body.example ?? {}).replaceAll("'", "'\\''")}'`
    : ''
  const call = `curl -s ${['GET', 'POST'].includes(method) ? '' : `-X ${method} `}${address}${sent}`
  const result = resultOf(operation)
  const reply = operation.responses['200']?.content?.['application/json']?.example
  const items = body?.schema.properties?.samples?.items
  return [
    `### ${name}`,
    `${operation.summary}.`,
    block('sh', call),
    ...(reply === undefined ? [] : [block('json', JSON.stringify(reply, null, 1))]),
    ...(body?.schema.properties ? [fieldsOf(body.schema)] : []),
    ...(items ? ['Of each sample:', fieldsOf(items)] : []),
    ...(result ? ['The reply:', ...replyFields(result)] : []),
  ]
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
