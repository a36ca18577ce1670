import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { dirname, join, normalize, relative } from 'node:path'
import t from 'tap'

/** Files that everyone may import. */
const open = ['errors', 'clock', 'nearest-name', 'package-version']

/** Room -> the rooms that it may import, besides itself and the open files. */
const rooms: Record<string, readonly string[]> = {
  errors: [],
  clock: [],
  'nearest-name': [],
  'package-version': [],
  sample: [],
  statistics: [],
  extract: [],
  tracing: [],
  contract: ['sample'],
  wire: ['sample'],
  functions: ['contract', 'extract', 'sample'],
  models: ['contract', 'sample', 'tracing'],
  plan: ['contract', 'functions', 'models', 'sample'],
  engine: ['plan', 'contract', 'extract', 'functions', 'models', 'sample', 'statistics', 'tracing'],
  telemetry: ['sample', 'engine', 'functions', 'models', 'statistics'],
  // The policy's servers are pools as judges' are; sampling knows nothing of rewards.
  policy: ['models', 'sample'],
  canary: ['engine', 'models', 'plan', 'sample'],
  gateway: [
    'sample',
    'contract',
    'functions',
    'models',
    'plan',
    'engine',
    'telemetry',
    'canary',
    'statistics',
    'tracing',
  ],
  http: ['gateway', 'wire', 'telemetry', 'sample', 'tracing'],
  // A shuffled data set is a permutation.
  dataset: ['sample', 'wire', 'statistics'],
  // Rows, a policy and a gateway meet here; a suite is a config, so it is read as plan reads configs.
  evaluation: ['gateway', 'policy', 'dataset', 'plan', 'models', 'wire', 'sample'],
  prepare: ['gateway', 'dataset', 'sample', 'statistics'],
  // A reward and its data, before a run: scored by the engine, with no gateway to record or to serve it.
  preflight: ['plan', 'engine', 'functions', 'models', 'policy', 'audit', 'dataset', 'sample', 'statistics'],
  audit: ['gateway', 'sample', 'statistics'],
  analysis: ['dataset', 'statistics'],
  report: ['analysis'],
  import: ['plan'],
  simulate: ['audit', 'extract'],
  cli: [
    'gateway',
    'http',
    'wire',
    'plan',
    'import',
    'audit',
    'analysis',
    'report',
    'dataset',
    'evaluation',
    'policy',
    'prepare',
    'preflight',
    'simulate',
    'sample',
    'functions',
    'models',
    'engine',
    'statistics',
    'telemetry',
  ],
  index: ['statistics', 'gateway', 'sample', 'contract', 'plan', 'http'],
  'reward-functions': ['contract', 'extract'],
}

/** Package -> the rooms where it may be imported. */
const packages: Record<string, readonly string[]> = {
  zod: [
    'contract',
    'functions',
    'models',
    'plan',
    'http',
    'wire',
    'gateway',
    'telemetry',
    'reward-functions',
    'import',
    'audit',
    'analysis',
    'evaluation',
    'cli',
  ],
  fastify: ['http', 'simulate'],
  '@fastify/swagger': ['http'],
  '@fastify/swagger-ui': ['http'],
  '@fastify/static': ['http'],
  undici: ['models'],
  'lru-cache': ['models'],
  'prom-client': ['telemetry'],
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
}

const root = process.cwd()

const files = (folder: string): string[] =>
  readdirSync(join(root, folder), { recursive: true, encoding: 'utf8' })
    .filter((file) => file.endsWith('.ts') && !file.startsWith('ui/'))
    .map((file) => join(folder, file))

const sources = ['src', 'reward-functions'].filter((folder) => existsSync(join(root, folder))).flatMap(files)

const roomOf = (file: string): string => {
  const [top = '', next = ''] = file.split('/')
  return top === 'src' ? next.replace(/\.ts$/, '') : top
}

const specifiers = (file: string): string[] =>
  [...readFileSync(join(root, file), 'utf8').matchAll(/(?:\bfrom|\bimport\(|^import)\s*'([^']+)'/gm)].map(
    (match) => match[1] ?? '',
  )

t.test('every import is in the table', async (t) => {
  const used = new Set<string>()
  for (const file of sources) {
    const room = roomOf(file)
    const allowed = rooms[room]
    if (!allowed) {
      t.fail(`${file}: the room '${room}' is not in the table`)
      continue
    }
    for (const specifier of specifiers(file)) {
      if (specifier.startsWith('node:')) continue
      if (specifier.startsWith('.')) {
        const target = roomOf(relative(root, normalize(join(root, dirname(file), specifier))))
        if (target === room || open.includes(target)) continue
        used.add(`${room} -> ${target}`)
        t.ok(allowed.includes(target), `${file} imports ${specifier}: ${room} may not know ${target}`)
      } else {
        const name = specifier.split('/', specifier.startsWith('@') ? 2 : 1).join('/')
        used.add(`${room} -> ${name}`)
        t.ok(packages[name]?.includes(room), `${file} imports ${name}: not a package of the room ${room}`)
      }
    }
  }
})

t.test('no source file is over 300 lines', async (t) => {
  for (const file of sources) {
    const lines = readFileSync(join(root, file), 'utf8').split('\n').length - 1
    t.ok(lines <= 300, `${file} has ${lines} lines`)
  }
})
