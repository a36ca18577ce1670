import { spawnSync } from 'node:child_process'
import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname, join, resolve } from 'node:path'
import { createJiti } from 'jiti'
import t from 'tap'
import * as zod from 'zod'

/** The package's entries, and the source of each. */
const entries = {
  'reward-gateway': 'src/index.ts',
  'reward-gateway/contract': 'src/contract/index.ts',
  'reward-gateway/grading': 'src/grading/readers.ts',
  'reward-gateway/testing': 'src/contract/testing.ts',
}

interface Example {
  /** File and line of its doc comment. */
  readonly place: string
  /** The name of the file that it is written to. */
  readonly name: string
  readonly text: string
}

const filesIn = (folder: string): string[] =>
  readdirSync(folder, { recursive: true, encoding: 'utf8' })
    .filter((file) => file.endsWith('.ts'))
    .map((file) => join(folder, file))

const examples = [
  'src/library.ts',
  'src/core/errors.ts',
  ...filesIn('src/contract'),
  ...filesIn('src/grading'),
].flatMap((file) => {
  const source = readFileSync(file, 'utf8')
  return [...source.matchAll(/^ \* ```ts\n(.*?)^ \* ```$/gms)].map(({ 1: block = '', index }): Example => {
    const line = source.slice(0, index).split('\n').length
    return {
      place: `${file}:${line}`,
      name: `${file.replaceAll('/', '-')}-${line}.mts`,
      text: `${block.replace(/^ \* ?/gm, '')}\nexport {}\n`,
    }
  })
})

/** The blocks of pages that show no file of a recipe. docs/api.md shows signatures, and its examples are those of the comments. */
const blocks = readdirSync('docs', { recursive: true, encoding: 'utf8' })
  .filter((page) => page.endsWith('.md') && !page.includes('node_modules') && page !== 'api.md')
  .flatMap((page) => {
    const text = readFileSync(join('docs', page), 'utf8')
    return [...text.matchAll(/^```ts\n([\s\S]*?)^```$/gm)].map(({ 1: block = '', index }): Example => {
      const line = text.slice(0, index).split('\n').length
      return { place: `docs/${page}:${line}`, name: `${page.replaceAll('/', '-')}-${line}.mts`, text: block }
    })
  })

const modules: Readonly<Record<string, Readonly<Record<string, unknown>>>> = Object.fromEntries(
  await Promise.all(
    Object.entries(entries).map(async ([name, file]) => [name, await import(compiledFrom(file))] as const),
  ),
)

/** What tsc made of a source. */
function compiledFrom(source: string): string {
  return resolve('dist', source.replace(/\.ts$/, '.js'))
}

/** Writes the examples to a folder and compiles them there. Returns what the compiler says, a line for each fault. */
function compile(folder: string): readonly string[] {
  const all = [...examples, ...blocks]
  for (const { name, text } of all) writeFileSync(join(folder, name), text)
  const settings = {
    noEmit: true,
    incremental: false,
    allowImportingTsExtensions: true,
    rootDir: '/',
    paths: Object.fromEntries(Object.entries(entries).map(([name, file]) => [name, [resolve(file)]])),
  }
  const project = join(folder, 'tsconfig.json')
  const names = all.map(({ name }) => name)
  const config = { extends: resolve('tsconfig.json'), compilerOptions: settings, files: names, include: [] }
  writeFileSync(project, JSON.stringify(config))
  const tsc = ['node_modules/typescript/bin/tsc', '--project', project, '--pretty', 'false']
  const { stdout, stderr, status } = spawnSync(process.execPath, tsc, { encoding: 'utf8' })
  const lines = `${stdout}${stderr}`.split('\n').filter((line) => line.trim() !== '')
  return status === 0 ? lines : [...lines, `exit code ${status}`]
}

t.test('the examples compile against the public entries', async (t) => {
  const faults = compile(t.testdir({}))
  t.ok(blocks.length > 5, `${blocks.length} blocks of pages`)
  for (const { name, place } of [...examples, ...blocks])
    t.strictSame(
      faults.filter((line) => line.includes(name)),
      [],
      place,
    )
  t.strictSame(faults, [], 'nothing else is wrong')
})

/** The doc comment of what a file exports by this name, in the file or in one that it exports it from. */
function docOf(file: string, name: string): string {
  const text = readFileSync(file, 'utf8')
  for (const [, names = '', from = ''] of text.matchAll(/^export \{([^}]*)\} from '(\..+)'$/gm))
    for (const one of names.split(',')) {
      const [given, exported = given] = one.trim().split(' as ')
      if (exported === name) return docOf(join(dirname(file), from), given as string)
    }
  const declared = new RegExp(`^export (?:async )?(?:function\\*?|class|const) ${name}\\b`, 'm').exec(text)
  const before = text.slice(0, declared?.index ?? 0)
  return before.endsWith('*/\n') ? before.slice(before.lastIndexOf('/**')) : ''
}

t.test('every function and class of a public entry has an example', async (t) => {
  for (const [entry, file] of Object.entries(entries)) {
    const functions = Object.entries(modules[entry] ?? {}).filter(([, value]) => typeof value === 'function')
    t.ok(functions.length > 0, entry)
    for (const [name] of functions) t.match(docOf(file, name), /^ \* @example$/m, `${entry}: ${name}`)
  }
})

/** `expression // value`, alone or after `const name =`. Values are literals, so that they are easy to tell from remarks. */
const claim = /^(?:const \w+ = )?(.+?) \/\/ (.+)$/

t.test('the examples give the values that their comments state', async (t) => {
  const folder = t.testdir({})
  const jiti = createJiti(import.meta.url, { fsCache: false, virtualModules: { zod, ...modules } })
  let claims = 0
  for (const { name, place, text } of examples) {
    const lines = text.split('\n').map((line) => {
      const [, expression, value] = claim.exec(line) ?? []
      if (expression === undefined) return line
      claims += 1
      return `stated.push([${expression}, ${value}])`
    })
    if (!lines.some((line) => line.startsWith('stated.'))) continue
    const file = join(folder, name)
    writeFileSync(file, ['export const stated: unknown[][] = []', ...lines].join('\n'))
    const { stated } = await jiti.import<{ stated: [unknown, unknown][] }>(file)
    for (const [given, value] of stated) t.strictSame(given, value, place)
  }
  t.ok(claims > 30, `${claims} values are checked`)
})
