/**
 * `npm run api-report`: writes what TypeScript declares of the public names of the package, and of the types that these reach, to
 * test/fixtures/api-report.txt, and docs/api.md for authors. With `--check` it fails instead if a file says something else. Reads dist/src/*.d.ts.
 */
import { readFileSync, writeFileSync } from 'node:fs'
import { dirname, join, relative } from 'node:path'
import { authorPage } from './support/author-api.ts'

const report = 'test/fixtures/api-report.txt'

/** The package's types by entry, as package.json has them. */
const entries = Object.entries(
  (JSON.parse(readFileSync('package.json', 'utf8')) as { exports: Record<string, { types?: string }> })
    .exports,
).flatMap(([entry, { types }]) =>
  types === undefined || types.includes('*') ? [] : [[entry, types] as const],
)

/** A name and where it is declared. */
interface Place {
  readonly file: string
  readonly name: string
}

interface Declarations {
  /** Name -> its statements; a function may have several. */
  readonly own: ReadonlyMap<string, string>
  /** Name -> where it comes from, of imports and of exports from other files. */
  readonly foreign: ReadonlyMap<string, Place>
  readonly exported: readonly string[]
}

const files = new Map<string, Declarations>()

function read(file: string): Declarations {
  const known = files.get(file)
  if (known) return known
  const [own, foreign] = [new Map<string, string>(), new Map<string, Place>()]
  const exported: string[] = []
  const text = readFileSync(file, 'utf8')
    .replace(/\/\*\*?[\s\S]*?\*\//g, '')
    .replace(/^[ \t]*\n/gm, '')
  // tsc begins each statement in the first column, and no other line but one that closes it.
  for (const [statement] of text.matchAll(/^[a-z].*\n(?:(?:[ \t].*|[^a-z\s].*)\n)*/gm)) {
    const list = /^(import|export) (?:type )?\{([^}]*)\}(?: from '(.+)')?/.exec(statement)
    if (list) {
      const [, kind, names = '', from] = list
      for (const one of names.split(',').filter((name) => name.trim() !== '')) {
        const [name = '', as = name] = one
          .trim()
          .replace(/^type /, '')
          .split(' as ')
        if (kind === 'export') exported.push(as)
        if (from?.startsWith('.'))
          foreign.set(as, { file: join(dirname(file), from.replace(/\.[jt]s$/, '.d.ts')), name })
      }
      continue
    }
    const [, isExported, name] =
      /^(export )?(?:declare )?(?:abstract )?(?:async )?(?:function|const|class|interface|type|enum) ([\w$]+)/.exec(
        statement,
      ) ?? []
    if (name === undefined) {
      if (!/^(?:import|export \{\})/.test(statement)) throw new Error(`${file}: ${statement}`)
      continue
    }
    own.set(name, (own.get(name) ?? '') + statement)
    if (isExported) exported.push(name)
  }
  const found = { own, foreign, exported }
  files.set(file, found)
  return found
}

/** The declaration of a name, with the file that has it; null for one of another package or of the language. */
function declared(file: string, name: string): (Place & { readonly text: string }) | null {
  const { own, foreign } = read(file)
  const text = own.get(name)
  if (text !== undefined) return { file, name, text }
  const place = foreign.get(name)
  return place ? declared(place.file, place.name) : null
}

const reached = new Map<string, string>()

function reach(file: string, name: string): void {
  const found = declared(file, name)
  if (!found) return
  const key = `${relative('dist/src', found.file).replace(/\.d\.ts$/, '')}: ${found.name}`
  if (reached.has(key)) return
  reached.set(key, found.text)
  for (const [word] of found.text.matchAll(/[A-Za-z_$][\w$]*/g))
    if (word !== found.name) reach(found.file, word)
}

const lists = entries.map(([entry, types]) => {
  const names = [...read(types).exported].sort()
  for (const name of names) reach(types, name)
  return `reward-gateway${entry.slice(1)}\n${names.map((name) => `  ${name}\n`).join('')}`
})
const details = [...reached].sort(([a], [b]) => (a < b ? -1 : 1)).map(([key, text]) => `// ${key}\n${text}`)
const written = `${lists.join('\n')}\n${details.join('\n')}`

for (const [file, text] of [
  [report, written],
  ['docs/api.md', authorPage()],
] as const) {
  if (!process.argv.includes('--check')) writeFileSync(file, text)
  else if (readFileSync(file, 'utf8') !== text) {
    process.stderr.write(`${file} is not what TypeScript declares: npm run api-report\n`)
    process.exitCode = 1
  }
}
