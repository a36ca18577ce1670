import { createHash } from 'node:crypto'
import { existsSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'

/**
 * By path: the text of a function's file, and of each file that it imports from beside it. Of Python's, which may name
 * another encoding, each character is a byte.
 */
export type SourceTexts = Readonly<Record<string, string>>

/** Finds the files that a text imports, of those that stand beside it or below; the first of each list that is there. */
type ImportsOf = (file: string, text: string) => Iterable<readonly string[]>

const relativeImport = /(?:\bfrom|\bimport\(?)\s*["'](\.{1,2}\/[^"'\n]{1,500})["']/g
const endings = ['', '.ts', '.js', '.mjs', '/index.ts', '/index.js']

/** JavaScript and TypeScript: imports by relative paths. */
function* scriptImports(file: string, text: string): Generator<readonly string[]> {
  for (const [, specifier = ''] of text.matchAll(relativeImport)) {
    const base = join(dirname(file), specifier)
    yield endings.map((ending) => base + ending).filter((path) => /\.(ts|js|mjs)$/.test(path))
  }
}

const pythonImport =
  /^[ \t]*(?:from[ \t]+(\.{0,9}[\w.]{0,200})[ \t]+import[ \t]+(\([^)]{1,4000}\)|.{1,500})|import[ \t]+([\w., \t]{1,500}))/gm

/** Python: modules of the function's own folder and of packages below it. */
const pythonImports = (root: string): ImportsOf =>
  function* (file, text) {
    for (const [, from, names = '', modules = ''] of text.matchAll(pythonImport)) {
      const dots = /^\.*/.exec(from ?? '')?.[0].length ?? 0
      let folder = dots === 0 ? root : dirname(file)
      for (let up = 1; up < dots; up++) folder = dirname(folder)
      const plain = (list: string): string[] =>
        list.split(',').flatMap((one) => /^[\s(]*([\w.]+)/.exec(one)?.[1] ?? [])
      const module = (from ?? '').slice(dots)
      const named =
        from === undefined ? plain(modules) : [module, ...plain(names).map((name) => `${module}.${name}`)]
      for (const name of named) {
        const parts = name.split('.').filter((part) => part !== '')
        for (let depth = 1; depth <= parts.length; depth++) {
          const base = join(folder, ...parts.slice(0, depth))
          yield [join(base, '__init__.py'), `${base}.py`]
        }
      }
    }
  }

/** Texts that were read already, by path; functions of one folder import the same files. */
export type ReadTexts = Map<string, ReadText>

interface ReadText {
  readonly bytes: Buffer
  readonly text: string
  readonly imports: readonly string[]
}

/**
 * The texts of a source file and of the files that it imports from beside it, and their SHA-256, hex, in order of first
 * mention. Throws where the file itself cannot be read.
 */
export function readSource(
  file: string,
  known: ReadTexts = new Map(),
): { readonly hash: string; readonly texts: SourceTexts } {
  const isPython = file.endsWith('.py')
  const importsOf = isPython ? pythonImports(dirname(file)) : scriptImports
  const hash = createHash('sha256')
  const texts: Record<string, string> = {}
  const waiting = [file]
  for (let next = waiting.shift(); next !== undefined; next = waiting.shift()) {
    if (Object.hasOwn(texts, next)) continue
    const read = known.get(next) ?? readText(next, isPython ? 'latin1' : 'utf8', importsOf)
    known.set(next, read)
    texts[next] = read.text
    hash.update(`${read.bytes.length}\n`).update(read.bytes)
    waiting.push(...read.imports)
  }
  return { hash: hash.digest('hex'), texts }
}

function readText(file: string, encoding: 'latin1' | 'utf8', importsOf: ImportsOf): ReadText {
  const bytes = readFileSync(file)
  const text = bytes.toString(encoding)
  const imports: string[] = []
  for (const candidates of importsOf(file, text)) {
    const found = candidates.find((path) => existsSync(path))
    if (found !== undefined) imports.push(found)
  }
  return { bytes, text, imports }
}
