import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { dirname, join, normalize } from 'node:path'
import t from 'tap'

/**
 * Wing -> the wings that it imports, and its rooms with the rooms of the same wing that each imports. A file of a wing
 * that lies in no room is open to the wing. Types count: who names another room's types knows that room.
 */
const wings: Record<string, { knows: readonly string[]; rooms: Record<string, readonly string[]> }> = {
  core: { knows: [], rooms: { json: ['sample'], sample: [], statistics: [], tracing: [] } },
  contract: { knows: ['core'], rooms: {} },
  grading: { knows: ['core'], rooms: {} },
  trainers: { knows: ['core'], rooms: {} },
  scoring: {
    knows: ['core', 'contract', 'grading', 'trainers'],
    rooms: {
      functions: [],
      'models/interface': [],
      'models/transport': [],
      'models/backends': ['models/interface', 'models/transport'],
      'models/pool': ['models/interface', 'models/transport', 'models/backends'],
      'models/dispatch': ['models/interface', 'models/transport', 'models/pool'],
      'models/memory': ['models/interface', 'models/transport', 'models/backends', 'models/pool'],
      models: [
        'models/interface',
        'models/transport',
        'models/backends',
        'models/pool',
        'models/dispatch',
        'models/memory',
      ],
      // Servers of programs are pools as judges' are.
      sandboxes: [
        'models/interface',
        'models/transport',
        'models/backends',
        'models/pool',
        'models/dispatch',
      ],
      plan: ['functions', 'models/interface', 'sandboxes'],
      engine: ['functions', 'models/interface', 'models', 'sandboxes', 'plan'],
      canary: ['plan', 'engine'],
      gateway: ['functions', 'models/interface', 'models', 'sandboxes', 'plan', 'engine', 'canary'],
    },
  },
  serving: {
    knows: ['core', 'trainers', 'scoring'],
    rooms: {
      'telemetry/record': [],
      'telemetry/monitors': [],
      'telemetry/metrics': ['telemetry/record', 'telemetry/monitors'],
      // A row is shown as it is recorded.
      'telemetry/live': ['telemetry/record'],
      'http/inspector': ['queue', 'telemetry/monitors', 'telemetry/live'],
      queue: [],
      http: [
        'queue',
        'telemetry/record',
        'telemetry/monitors',
        'telemetry/metrics',
        'telemetry/live',
        'http/inspector',
      ],
      // Runs in a browser: types, and how a reward is folded.
      ui: ['telemetry/live', 'http/inspector'],
    },
  },
  workbench: {
    knows: ['core', 'contract', 'grading', 'trainers', 'scoring'],
    rooms: {
      // The policy's servers are pools as judges' are; sampling knows nothing of rewards.
      rollout: [],
      dataset: [],
      evaluation: ['rollout', 'dataset'],
      prepare: ['dataset'],
      audit: ['dataset'],
      preflight: ['rollout', 'dataset', 'audit'],
      analysis: ['dataset'],
      report: ['analysis'],
      export: ['dataset'],
      migrate: [],
    },
  },
  simulator: { knows: ['core'], rooms: {} },
  cli: { knows: ['core', 'trainers', 'scoring', 'serving', 'workbench', 'simulator'], rooms: {} },
  // The library's public names.
  index: { knows: ['core', 'serving'], rooms: {} },
  'reward-functions': { knows: ['contract', 'grading'], rooms: {} },
}

/** Wing, or wing and room -> those that it imports. */
const known = new Map(
  Object.entries(wings).flatMap(([wing, { knows, rooms }]) => [
    [wing, knows] as const,
    ...Object.entries(rooms).map(
      ([room, others]) => [`${wing}/${room}`, others.map((other) => `${wing}/${other}`)] as const,
    ),
  ]),
)

/** Package -> the rooms, or wings, that import it. */
const packages: Record<string, readonly string[]> = {
  zod: [
    'grading',
    'contract',
    'trainers',
    'scoring/functions',
    'scoring/models/interface',
    'scoring/sandboxes',
    'scoring/plan',
    'serving/telemetry/record',
    'serving/telemetry/monitors',
    'serving/queue',
    'serving/http',
    'workbench/evaluation',
    'workbench/migrate',
    'reward-functions',
  ],
  fastify: ['serving/http/inspector', 'serving/http'],
  '@fastify/swagger': ['serving/http'],
  '@fastify/swagger-ui': ['serving/http'],
  undici: ['scoring/models/transport'],
  'lru-cache': ['scoring/models/dispatch'],
  'prom-client': ['serving/telemetry/metrics'],
  '@opentelemetry/api': ['core/tracing'],
  jiti: ['scoring/functions'],
  yaml: ['scoring/plan', 'workbench/migrate'],
  jsep: ['scoring/plan'],
  '@duckdb/node-api': ['workbench', 'workbench/dataset', 'workbench/analysis'],
  echarts: ['workbench', 'workbench/report'],
  '@resvg/resvg-wasm': ['workbench'],
  re2js: ['grading'],
  ajv: ['grading'],
  'p-limit': ['workbench/evaluation'],
  eld: ['grading'],
  preact: ['serving/ui'],
  vite: ['serving/ui'],
}

/** Packages whose files are read and whose code is not imported. */
const files = ['@fontsource/arimo']

const sources = ['src', 'reward-functions'].filter(existsSync).flatMap((folder) =>
  readdirSync(folder, { recursive: true, encoding: 'utf8' })
    .filter((file) => /(?<!\.d)\.tsx?$/.test(file))
    .map((file) => join(folder, file)),
)

const texts = new Map(sources.map((file) => [file, readFileSync(file, 'utf8')]))

const libraryFiles = ['src/index.ts', 'src/library.ts']

/** The wing that a file lies in. */
const wingOf = (file: string): string =>
  libraryFiles.includes(file) ? 'index' : (file.replace(/^src\//, '').split('/')[0] ?? '')

/** The innermost wing or room that has a line. */
function roomOf(file: string): string {
  let place = libraryFiles.includes(file) ? 'index' : dirname(file.replace(/^src\//, ''))
  while (!known.has(place) && place.includes('/')) place = dirname(place)
  return place
}

/** What a file imports, and in which line: files by their path, packages by their name. */
function importsOf(file: string): readonly { readonly name: string; readonly line: number }[] {
  // Examples in doc comments import the package by its name.
  const text = (texts.get(file) ?? '').replace(/^ *\* .*$/gm, '')
  return [...text.matchAll(/(?:\bfrom|\bimport\(|^import)\s*'([^']+)'/gm)]
    .filter(([, name = '']) => !name.startsWith('node:'))
    .map(({ 1: name = '', index }) => ({
      name: name.startsWith('.')
        ? normalize(join(dirname(file), name))
        : name.split('/', name.startsWith('@') ? 2 : 1).join('/'),
      line: text.slice(0, index).split('\n').length,
    }))
}

const isSource = (name: string): boolean => texts.has(name)

t.test('every import is in the tables', async (t) => {
  for (const file of sources) {
    const [wing, room] = [wingOf(file), roomOf(file)]
    if (!known.has(room)) {
      t.fail(`${file}: '${room}' is not in the table`)
      continue
    }
    for (const { name, line } of importsOf(file)) {
      const place = `${file}:${line} imports ${name}`
      const [otherWing, otherRoom] = [wingOf(name), roomOf(name)]
      if (!isSource(name)) t.ok(packages[name]?.includes(room), `${place}: not a package of ${room}`)
      else if (otherWing !== wing)
        t.ok(known.get(wing)?.includes(otherWing), `${place}: ${wing} may not know ${otherWing}`)
      else if (otherRoom !== room && otherRoom !== wing)
        t.ok(
          room === wing || known.get(room)?.includes(otherRoom),
          `${place}: ${room} may not know ${otherRoom}`,
        )
    }
  }
})

t.test('the tables allow nothing that nobody uses', async (t) => {
  const used = new Set(
    sources.flatMap((file) =>
      importsOf(file).flatMap(({ name }) =>
        isSource(name)
          ? [`${wingOf(file)} ${wingOf(name)}`, `${roomOf(file)} ${roomOf(name)}`]
          : [`${roomOf(file)} ${name}`],
      ),
    ),
  )
  for (const [place, others] of known) {
    t.ok(
      sources.some((file) => roomOf(file) === place || wingOf(file) === place),
      `${place} has a file`,
    )
    for (const other of others) t.ok(used.has(`${place} ${other}`), `${place} uses ${other}`)
  }
  for (const [name, homes] of Object.entries(packages))
    for (const home of homes) t.ok(used.has(`${home} ${name}`), `${home} uses the package ${name}`)
})

t.test('every dependency of the package is imported', async (t) => {
  const { dependencies, peerDependencies } = JSON.parse(readFileSync('package.json', 'utf8'))
  const named = Object.keys({ ...dependencies, ...peerDependencies }).filter((name) => !files.includes(name))
  for (const name of named) t.ok(Object.hasOwn(packages, name), `${name} has a home`)
})

/** Packages that take as long to load as most commands take for the rest, and that most commands do not need. */
const loadedOnUse = [
  'undici',
  'jiti',
  'prom-client',
  '@opentelemetry/api',
  '@duckdb/node-api',
  'echarts',
  '@resvg/resvg-wasm',
]

t.test('a command pays only for the packages that it uses', async (t) => {
  for (const name of loadedOnUse) {
    const loading = new RegExp(`^import (?!type )[^'\\n]*'${name}'`, 'm')
    t.strictSame(
      sources.filter((file) => loading.test(texts.get(file) ?? '')),
      [],
      name,
    )
  }
})

t.test('wings, rooms and files know each other one way', async (t) => {
  t.strictSame(
    circles([...known.keys()], (place) => known.get(place) ?? []),
    [],
  )
  t.strictSame(
    circles(sources, (file) => importsOf(file).map(({ name }) => name)),
    [],
    'nor do files',
  )
})

const linesOf = (file: string): number => (texts.get(file) ?? '').split('\n').length - 1

t.test('a file is one thought, and no heap', async (t) => {
  for (const file of sources) t.ok(linesOf(file) <= 400, `${file} has ${linesOf(file)} lines`)
})

/** Files that still break the rule below. Merge one into its importer and delete its line; never add one. */
const crumbs: readonly string[] = []

t.test('no file under 25 lines that only one neighbour imports', async (t) => {
  const importers = new Map<string, string[]>()
  for (const file of sources)
    for (const name of new Set(importsOf(file).map(({ name }) => name)))
      importers.set(name, [...(importers.get(name) ?? []), file])
  const isCrumb = (file: string): boolean => {
    const [importer, ...others] = importers.get(file) ?? []
    return (
      linesOf(file) < 25 &&
      importer !== undefined &&
      others.length === 0 &&
      dirname(importer) === dirname(file)
    )
  }
  for (const file of sources.filter(isCrumb))
    t.ok(crumbs.includes(file), `${file} belongs into ${importers.get(file)?.[0]}`)
  for (const file of crumbs) t.ok(isCrumb(file), `${file} is merged: delete it from the list`)
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
