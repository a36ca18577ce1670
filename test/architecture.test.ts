import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { dirname, join, normalize } from 'node:path'
import t from 'tap'

/** Files that everyone may import. */
const open = [
  'errors',
  'clock',
  'nearest-name',
  'package-version',
  'system-error',
  'secrets',
  'slices',
  'listener-guard',
  'heap-share',
]

/**
 * Room -> the rooms that it imports, besides itself and the open files. A folder within a room that has a line of its own
 * is a room of its own. Types count: who names another room's types knows that room.
 */
const rooms: Record<string, readonly string[]> = {
  errors: [],
  clock: [],
  'nearest-name': [],
  'package-version': [],
  'system-error': [],
  secrets: [],
  slices: [],
  'listener-guard': [],
  'heap-share': [],
  sample: [],
  statistics: [],
  extract: [],
  tracing: [],
  contract: ['sample'],
  wire: ['sample'],
  functions: ['sample', 'extract', 'contract'],
  models: ['sample', 'tracing', 'contract'],
  // gateway.yaml has a section for each wire.
  plan: ['sample', 'wire', 'contract', 'functions', 'models'],
  engine: ['sample', 'statistics', 'extract', 'tracing', 'contract', 'functions', 'models', 'plan'],
  canary: ['sample', 'plan', 'engine'],
  'telemetry/record': ['sample', 'engine'],
  'telemetry/monitors': ['sample', 'statistics', 'engine'],
  gateway: [
    'sample',
    'functions',
    'models',
    'plan',
    'engine',
    'canary',
    'telemetry/record',
    'telemetry/monitors',
  ],
  'telemetry/metrics': ['functions', 'models', 'engine', 'canary', 'telemetry/record', 'telemetry/monitors'],
  // A row is shown as it is recorded.
  'telemetry/live': ['sample', 'engine', 'telemetry/record'],
  'http/inspector': ['telemetry/monitors', 'gateway', 'telemetry/live'],
  http: [
    'sample',
    'tracing',
    'wire',
    'telemetry/record',
    'telemetry/monitors',
    'gateway',
    'telemetry/metrics',
    'telemetry/live',
    'http/inspector',
  ],
  // Runs in a browser: types, and how a reward is folded.
  ui: ['wire', 'telemetry/live', 'http/inspector', 'plan'],
  library: ['sample', 'gateway'],
  index: ['sample', 'library'],
  // The policy's servers are pools as judges' are; sampling knows nothing of rewards.
  policy: ['sample', 'models'],
  // A shuffled data set is a permutation.
  dataset: ['sample', 'statistics', 'wire'],
  // Rows, a policy and a gateway meet here; a suite is a config, so it is read as plan reads configs.
  evaluation: ['sample', 'wire', 'models', 'plan', 'gateway', 'policy', 'dataset'],
  prepare: ['sample', 'statistics', 'gateway', 'dataset'],
  audit: ['sample', 'statistics', 'gateway', 'dataset'],
  // A reward and its data, before a run: scored by the engine, with no gateway to record or to serve it.
  preflight: [
    'sample',
    'statistics',
    'contract',
    'functions',
    'models',
    'plan',
    'engine',
    'policy',
    'dataset',
    'audit',
  ],
  analysis: ['statistics', 'dataset'],
  report: ['analysis'],
  import: ['plan'],
  simulate: [],
  cli: [
    'sample',
    'statistics',
    'wire',
    'functions',
    'plan',
    'telemetry/record',
    'gateway',
    'telemetry/metrics',
    'telemetry/live',
    'http',
    'policy',
    'dataset',
    'evaluation',
    'prepare',
    'audit',
    'preflight',
    'analysis',
    'report',
    'import',
    'simulate',
  ],
  'reward-functions': ['extract', 'contract'],
}

/** Package -> the rooms that import it. */
const packages: Record<string, readonly string[]> = {
  zod: [
    'contract',
    'wire',
    'functions',
    'models',
    'plan',
    'telemetry/record',
    'telemetry/monitors',
    'http',
    'evaluation',
    'import',
    'reward-functions',
  ],
  fastify: ['http/inspector', 'http'],
  '@fastify/swagger': ['http'],
  '@fastify/swagger-ui': ['http'],
  undici: ['models'],
  'lru-cache': ['models'],
  'prom-client': ['telemetry/metrics'],
  '@opentelemetry/api': ['tracing'],
  jiti: ['functions'],
  yaml: ['plan', 'import'],
  jsep: ['plan'],
  '@duckdb/node-api': ['dataset', 'analysis'],
  echarts: ['report'],
  '@resvg/resvg-wasm': ['report'],
  re2js: ['extract'],
  ajv: ['extract'],
  eld: ['extract'],
  preact: ['ui'],
  vite: ['ui'],
}

/** Packages whose files are read and whose code is not imported. */
const files = ['@fontsource/arimo']

const sources = ['src', 'reward-functions'].filter(existsSync).flatMap((folder) =>
  readdirSync(folder, { recursive: true, encoding: 'utf8' })
    .filter((file) => /(?<!\.d)\.tsx?$/.test(file))
    .map((file) => join(folder, file)),
)

const texts = new Map(sources.map((file) => [file, readFileSync(file, 'utf8')]))

/** The innermost one that has a line. */
function roomOf(file: string): string {
  let place = file.replace(/^src\//, '').replace(/\.tsx?$/, '')
  while (!Object.hasOwn(rooms, place) && place.includes('/')) place = dirname(place)
  return place
}

/** What a file imports: files by their path, packages by their name. */
function importsOf(file: string): readonly string[] {
  const found = texts.get(file)?.matchAll(/(?:\bfrom|\bimport\(|^import)\s*'([^']+)'/gm) ?? []
  return [...found]
    .map(([, name = '']) => name)
    .filter((name) => !name.startsWith('node:'))
    .map((name) =>
      name.startsWith('.')
        ? normalize(join(dirname(file), name))
        : name.split('/', name.startsWith('@') ? 2 : 1).join('/'),
    )
}

const isSource = (name: string): boolean => texts.has(name)

t.test('every import is in the tables', async (t) => {
  for (const file of sources) {
    const room = roomOf(file)
    const allowed = rooms[room]
    if (!allowed) {
      t.fail(`${file}: the room '${room}' is not in the table`)
      continue
    }
    for (const name of importsOf(file)) {
      const target = roomOf(name)
      if (!isSource(name))
        t.ok(packages[name]?.includes(room), `${file} imports ${name}: not a package of the room ${room}`)
      else if (target !== room && !open.includes(target))
        t.ok(allowed.includes(target), `${file} imports ${name}: ${room} may not know ${target}`)
    }
  }
})

t.test('the tables allow nothing that nobody uses', async (t) => {
  const used = new Set(
    sources.flatMap((file) =>
      importsOf(file).map((name) => `${roomOf(file)} ${isSource(name) ? roomOf(name) : name}`),
    ),
  )
  for (const [room, allowed] of Object.entries(rooms)) {
    t.ok(
      sources.some((file) => roomOf(file) === room),
      `the room ${room} has a file`,
    )
    for (const target of allowed) t.ok(used.has(`${room} ${target}`), `${room} uses ${target}`)
  }
  for (const [name, homes] of Object.entries(packages))
    for (const room of homes) t.ok(used.has(`${room} ${name}`), `${room} uses the package ${name}`)
})

t.test('every dependency of the package is imported', async (t) => {
  const { dependencies, optionalDependencies } = JSON.parse(readFileSync('package.json', 'utf8'))
  const named = Object.keys({ ...dependencies, ...optionalDependencies }).filter(
    (name) => !files.includes(name),
  )
  for (const name of named) t.ok(Object.hasOwn(packages, name), `${name} has a home`)
})

t.test('rooms know each other one way, and so do files', async (t) => {
  const roomCircles = circles(Object.keys(rooms), (room) => rooms[room] ?? [])
  t.strictSame(roomCircles, [])
  const folderOf = (room: string): string => room.split('/')[0] ?? room
  const edges = Object.entries(rooms).flatMap(([room, known]) =>
    known.map((other) => ({ from: folderOf(room), to: folderOf(other) })),
  )
  const folders = [...new Set(edges.map(({ from }) => from))]
  const folderCircles = circles(folders, (folder) =>
    edges.filter(({ from, to }) => from === folder && to !== folder).map(({ to }) => to),
  )
  t.strictSame(folderCircles, [], 'nor do whole folders')
  t.strictSame(circles(sources, importsOf), [], 'nor do files')
})

t.test('files are short', async (t) => {
  const lengths = [...texts].map(([file, text]) => ({ file, lines: text.split('\n').length - 1 }))
  for (const { file, lines } of lengths) t.ok(lines <= 300, `${file} has ${lines} lines`)
  const ordered = lengths.map(({ lines }) => lines).sort((a, b) => a - b)
  const at = (share: number): number => ordered[Math.floor(share * ordered.length)] ?? 0
  t.ok(at(0.5) <= 70, `half of the files have at most ${at(0.5)} lines`)
  t.ok(at(0.9) <= 180, `nine of ten have at most ${at(0.9)}`)
})

t.test('every exported name has a doc comment', async (t) => {
  for (const [file, text] of texts)
    for (const { 1: name, index } of text.matchAll(
      /^export (?:async )?(?:const|function|interface|type|class) (\w+)/gm,
    ))
      t.ok(text.slice(0, index).endsWith('*/\n'), `${file}: ${name}`)
})

/** Every set of names of which each leads to each other (Tarjan's algorithm). */
function circles(names: readonly string[], next: (name: string) => readonly string[]): string[][] {
  const order = new Map<string, number>()
  const lowest = new Map<string, number>()
  const path: string[] = []
  const found: string[][] = []
  const visit = (name: string): number => {
    order.set(name, order.size)
    lowest.set(name, order.get(name) ?? 0)
    path.push(name)
    for (const other of next(name)) {
      const seen = order.get(other)
      const low =
        seen === undefined
          ? names.includes(other)
            ? visit(other)
            : null
          : path.includes(other)
            ? seen
            : null
      if (low !== null) lowest.set(name, Math.min(lowest.get(name) ?? 0, low))
    }
    const low = lowest.get(name) ?? 0
    if (low === order.get(name)) {
      const circle = path.splice(path.indexOf(name))
      if (circle.length > 1) found.push(circle)
    }
    return low
  }
  for (const name of names) if (!order.has(name)) visit(name)
  return found
}
