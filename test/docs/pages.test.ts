import { readdirSync, readFileSync } from 'node:fs'
import { basename, join } from 'node:path'
import t from 'tap'
import { parse } from 'yaml'
import { errorCodes, GatewayError } from '../../src/core/errors.ts'
import { failureKinds } from '../../src/core/sample/sample.ts'
import { configSchemas, gatewayConfig } from '../../src/scoring/plan/gateway-config.ts'
import { trainerFormats } from '../../src/trainers/index.ts'
import { knownTrainers } from '../../src/trainers/sent.ts'
import { namesOn, trainerPages } from '../support/trainer-pages.ts'
import { wholeConfig } from '../support/whole-config.ts'
import { recordedRequests } from '../trainers/recorded.ts'

const page = (name: string) => readFileSync(join('docs', name), 'utf8')

interface Schema {
  readonly oneOf?: readonly Schema[]
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

/** The cells of a section's table, by rows whose first cell is code. */
function rowsOf(markdown: string, heading: string): string[][] {
  const section = markdown.split(/^## /m).find((text) => text.startsWith(`${heading}\n`)) ?? ''
  const rows = section.split('\n').filter((line) => line.startsWith('| `'))
  return rows.map((row) => row.slice(2, -2).split(' | '))
}

/** The names in the first column of a section's table. */
const documented = (markdown: string, heading: string): string[] =>
  rowsOf(markdown, heading).flatMap(([first = '']) =>
    [...first.matchAll(/`([^`]+)`/g)].map(([, name = '']) => name),
  )

const schemas = configSchemas() as Readonly<Record<string, Schema>>
const gateway = schemas['gateway.schema.json'] ?? {}
const reward = schemas['reward.schema.json'] ?? {}
const model = gateway.properties?.models?.additionalProperties as Schema
const sandbox = gateway.properties?.sandboxes?.additionalProperties as Schema
const step = reward.properties?.steps?.items as Schema

t.test('every key of the configs is on its page, and no other', async (t) => {
  const markdown = page('configuration.md')
  const sections: [string, string[]][] = [
    ['gateway.yaml', keys(gateway, ['models', 'trainers', 'sandboxes'])],
    ['A model', keys(model, ['sampling'])],
    ['A sandbox', [...new Set((sandbox.oneOf ?? []).flatMap((kind) => keys(kind)))]],
    ['Sampling', keys(model.properties?.sampling ?? {})],
    ['A reward', keys(reward, ['models', 'steps'])],
    ['A step', keys(step, ['sampling'])],
  ]
  for (const [heading, wanted] of sections) {
    t.ok(wanted.length > 3, heading)
    t.strictSame(documented(markdown, heading).sort(), wanted.sort(), heading)
  }
})

t.test('the defaults on the page are those of the code', async (t) => {
  const given = parse(wholeConfig(new Set()))
  const { record, queue, canary, reload, models, ...settings } = given
  const server = { model: 'judge', instances: models.judge.instances }
  const bare = {
    record: { folder: 'rows' },
    queue: { folder: 'rows' },
    canary: {},
    reload: { samples: {} },
    models: { judge: { ...server, lifecycle: {} } },
  }
  const whole = gatewayConfig.parse({
    ...settings,
    reload: { ...reload, samples: {} },
    record: { ...record, folder: 'rows' },
    queue: { ...queue, folder: 'rows' },
    canary,
    models,
  })
  t.strictSame(whole, gatewayConfig.parse(bare))
  t.strictSame(gatewayConfig.parse(parse(wholeConfig())), gatewayConfig.parse({ models: { judge: server } }))
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

const trainersPage = page('trainers.md')

t.test('the page of trainers has every format with its deadline and how it says invalid', async (t) => {
  const wanted = trainerFormats.map(({ name, deadlineS, routes }) => [
    `\`${name}\``,
    String(deadlineS ?? 'none'),
    [...new Set(Object.values(routes).map(({ invalid }) => invalid))].join(' '),
  ])
  const said = rowsOf(trainersPage, 'Deadlines, invalid samples, retries').map(
    ([name, deadline, , invalid = '']) => [
      name,
      deadline,
      invalid.match(/\b(?:number|marked)\b/g)?.join(' '),
    ],
  )
  t.strictSame(said.sort(), wanted.sort(), 'npm run generate adds rows of what is missing')
})

t.test('every address on the page of trainers is served, and every path of a format is on it', async (t) => {
  const inAll = [trainersPage, ...trainerPages().values()].join('\n')
  const addresses = [...inAll.matchAll(/\/wire\/([\w-]+)\/(?:\{reward\}|gsm8k|code\b)([\w/]*)/g)]
  t.ok(addresses.length > 2 * trainerFormats.length)
  for (const [address, wire, path = ''] of addresses) {
    const { routes = {}, fixed = {}, facts = {} } = trainerFormats.find(({ name }) => name === wire) ?? {}
    const served = Object.keys({ ...routes, ...fixed, ...facts })
    t.ok(served.includes(path) || (wire === 'axolotl' && path === ''), address)
  }
  for (const { name, routes, fixed = {}, facts = {} } of trainerFormats) {
    const row = trainersPage.split('\n').find((line) => line.includes(`/wire/${name}/{reward}`)) ?? ''
    for (const path of Object.keys({ ...routes, ...fixed, ...facts })) {
      const isSaid = row.includes(`/wire/${name}/{reward}${path}`) || row.includes(`\`${path}\``)
      if (!['/test_program_stdio', '/reward'].includes(path) && name !== 'axolotl')
        t.ok(isSaid, `${name}: ${path}`)
    }
  }
})

t.test('every trainer has a page, and all pages have the same order', async (t) => {
  const pages = trainerPages()
  const names = [...pages.keys()].map((file) => basename(file, '.md'))
  t.strictSame(names, [...knownTrainers, 'ray-data'].sort())
  const order = [
    'Set it up',
    'What arrives',
    'What a failure becomes',
    'Turns, tools, images and steps',
    'Restarts and patience',
    'Asynchronous training',
    'Tested',
  ]
  for (const [file, text] of pages) {
    const headings = [...text.matchAll(/^## (.*)$/gm)].map(([, heading]) => heading)
    const wanted = order.filter(
      (heading) => heading !== 'Asynchronous training' || headings.includes(heading),
    )
    t.strictSame(headings, wanted, file)
  }
  const told = [...pages.values()].map(namesOn)
  const rows = page('trainer-failures.md').matchAll(/^\| ([^|]+) \| [^|]+ \| \d{4}-/gm)
  t.strictSame(told.flatMap(({ failing }) => failing).sort(), [...rows].map(([, name]) => name).sort())
  const recorded = recordedRequests().map(({ name }) => name.replaceAll('-', ' '))
  t.strictSame(told.flatMap((one) => one.recorded).sort(), recorded.sort())
})

t.test('a recipe names the Python client before a function that does without it', async (t) => {
  const names = readdirSync('docs/recipes').map((file) => `recipes/${file}`)
  const own = names.filter((name) => page(name).includes('import urllib'))
  t.ok(own.length >= 5, own.join(', '))
  for (const name of own)
    t.match(page(name), /\(\.\.\/\.\.\/clients\/python\/README\.md\).*import urllib/s, name)
})

t.test('the settings of trainers are on their page, and each trainer has settings', async (t) => {
  const { trainers: schema } = gatewayConfig.shape
  const shapes = Object.entries(schema.unwrap().shape)
  t.strictSame(shapes.map(([name]) => name).sort(), trainerFormats.map(({ name }) => name).sort())
  const settings = new Set(shapes.flatMap(([, shape]) => Object.keys(shape.unwrap().shape)))
  t.strictSame(documented(trainersPage, 'Settings'), [...settings])
})

t.test('the figures of a start are those that `npm run start-up` wrote', async (t) => {
  interface Start {
    readonly build: string
    readonly config: string
    readonly cpuSeconds: number
    readonly rssMib: number
  }
  const lines = readFileSync('bench/results/start-up.jsonl', 'utf8').trim().split('\n')
  const starts = lines.map((line): Start => JSON.parse(line))
  const of = (build: string, config: string, figure: 'cpuSeconds' | 'rssMib') => {
    const digits = figure === 'cpuSeconds' ? 2 : 0
    const own = starts.filter((one) => one.build === build && one.config === config)
    const all = own.map((one) => one[figure]).sort((a, b) => a - b)
    t.equal(all.length, 9, `${build}, ${config}: the median of nine`)
    const [least = 0, middle = 0, most = 0] = [all[0], all[4], all[8]].map((one) => one?.toFixed(digits))
    return { middle, whole: `${middle} X (${least} to ${most})` }
  }
  const written = page('performance.md')
  for (const [config, name] of [
    ['one rule', 'one rule, with the shipped gateway.yaml'],
    ['all shipped configs', 'all shipped configs, judges simulated elsewhere'],
  ] as const) {
    const [cpu, rss] = (['cpuSeconds', 'rssMib'] as const).map((figure) => of('this', config, figure).whole)
    const [cpuBefore, rssBefore] = (['cpuSeconds', 'rssMib'] as const).map(
      (figure) => of('other', config, figure).middle,
    )
    const now = `${cpu?.replace('X', 's of CPU')}, ${rss?.replace('X', 'MiB resident')}`
    t.ok(written.includes(`| ${name} | ${now} | ${cpuBefore} s, ${rssBefore} MiB |`), name)
  }
})

t.test("Open-Instruct's deadline lies below what its client waits for such a request", async (t) => {
  const { read } = trainerFormats.find(({ name }) => name === 'open-instruct')?.routes[''] ?? {}
  const deadlineOf = async (max_execution_time: number) => {
    const body = { program: '', max_execution_time }
    const reading = await read?.({ body, query: {}, literals: [], groundTruths: null, maxRowValues: 1000 })
    return reading?.deadlineMs
  }
  const deadlines = await Promise.all([0.1, 1, 10, 1000].map(deadlineOf))
  t.strictSame(deadlines, [28_000, 28_000, 98_000, 298_000])
})

t.test('messages on the page of troubleshooting are those of the code', async (t) => {
  const sources = ['src', 'reward-functions']
    .flatMap((folder) =>
      readdirSync(folder, { recursive: true, encoding: 'utf8' })
        .filter((name) => name.endsWith('.ts'))
        .map((name) => readFileSync(join(folder, name), 'utf8')),
    )
    .join('\n')
  let checked = 0
  for (const section of page('troubleshooting.md').split(/^## /m).slice(1)) {
    const [head = '', , ...rows] = section.split('\n').filter((line) => line.startsWith('|'))
    const column = head.split(' | ').findIndex((name) => /message|symptom/.test(name))
    for (const row of rows)
      for (const [, message = ''] of (row.split(' | ')[column] ?? '').matchAll(/`([^`]{9,})`/g))
        for (const piece of message.split('...').map((text) => text.replace(/^[\s:',]+|[\s:',]+$/g, ''))) {
          if (piece.length < 6 || piece.startsWith('"')) continue
          t.ok(sources.includes(piece), `${piece}: ${row.slice(0, 80)}`)
          checked += 1
        }
  }
  t.ok(checked > 40, `${checked} are checked`)
})
