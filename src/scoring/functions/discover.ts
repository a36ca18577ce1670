import { createHash } from 'node:crypto'
import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs'
import { basename, dirname, extname, join, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { Problem } from '../../core/errors.ts'
import { type MaybePromise, workInSlices } from '../../core/slices.ts'
import { codeOf, reasonOf } from '../../core/system-error.ts'

const endings = new Set(['.ts', '.js', '.mjs', '.py'])
const notFunctions = /\.(?:d|test)\.[a-z]+$|^(?:_.*|test_.*|conftest)\.py$/
const kebabCase = /^[a-z0-9]+(?:-[a-z0-9]+)*$/
const pythonCase = /^[a-z0-9]+(?:[-_][a-z0-9]+)*$/

/** The package's own functions: next to `src`, or next to `dist/src` once built. */
export const builtInFolder: string = fileURLToPath(new URL('../../../reward-functions', import.meta.url))

interface Discovered {
  readonly sources: FunctionSource[]
  readonly problems: Problem[]
}

/**
 * Finds and reads the files of reward functions, in slices, without loading any. Subfolders are not searched: they hold
 * code that functions share.
 */
export const discover = (folders: readonly string[]): MaybePromise<Discovered> =>
  workInSlices(discovering(folders))

function* discovering(folders: readonly string[]): Generator<void, Discovered> {
  const byName = new Map<string, FunctionSource>()
  const problems: Problem[] = []
  for (const folder of new Set([builtInFolder, ...folders.map((folder) => resolve(folder))])) {
    const known: ReadTexts = new Map()
    for (const file of filesOf(folder, problems)) {
      yield
      const name = basename(file, extname(file))
      const other = byName.get(name)
      const isPython = file.endsWith('.py')
      if (!(isPython ? pythonCase : kebabCase).test(name)) {
        problems.push({
          path: file,
          message: `a reward function's file is named in small letters: rename it ${plainName(name, isPython ? '_' : '-')}${extname(file)}, or move it into a folder below if it is none`,
        })
      } else if (other) {
        problems.push({
          path: file,
          message: `'${name}' is also the name of ${other.file}; rename one of the two`,
        })
      } else {
        const loader = isPython ? 'python' : folder === builtInFolder ? 'native' : 'jiti'
        if (loader === 'native') {
          byName.set(name, new OwnFunction(name, file, known))
          continue
        }
        const read = readFor(file, loader, known, problems)
        if (read !== null) byName.set(name, { name, file, loader, ...read })
      }
    }
  }
  return { sources: [...byName.values()], problems }
}

function filesOf(folder: string, problems: Problem[]): string[] {
  try {
    return readdirSync(folder, { withFileTypes: true })
      .filter(
        (entry) => !entry.isDirectory() && endings.has(extname(entry.name)) && !notFunctions.test(entry.name),
      )
      .map((entry) => join(folder, entry.name))
      .sort()
  } catch (error) {
    if (folder !== builtInFolder) problems.push({ path: folder, message: unreadableFolder(error) })
    return []
  }
}

/** A function of the package. Its files are read when its hash is first asked for: most rewards use two of sixty. */
class OwnFunction implements FunctionSource {
  readonly name: string
  readonly file: string
  readonly loader = 'native'
  readonly texts = {}
  readonly #known: ReadTexts
  #hash: string | null = null

  constructor(name: string, file: string, known: ReadTexts) {
    this.name = name
    this.file = file
    this.#known = known
  }

  /** The copies of executors lack it. */
  get hash(): string {
    this.#hash ??= readSource(this.file, 'native', this.#known).hash
    return this.#hash
  }
}

function readFor(
  file: string,
  loader: FunctionSource['loader'],
  known: ReadTexts,
  problems: Problem[],
): ReturnType<typeof readSource> | null {
  try {
    return readSource(file, loader, known)
  } catch (error) {
    problems.push({ path: file, message: reasonOf(error) })
    return null
  }
}

function unreadableFolder(error: unknown): string {
  const code = codeOf(error)
  if (code === 'ENOENT') return 'there is no such folder of reward functions'
  return code === 'ENOTDIR' ? 'is a file; name the folder that it lies in' : reasonOf(error)
}

/** `exact-match` for ExactMatch and exact_match. */
const plainName = (name: string, dash: '-' | '_'): string =>
  name
    .replace(/([a-z0-9])([A-Z])/g, '$1-$2')
    .toLowerCase()
    .split(/[^a-z0-9]+/)
    .filter((word) => word !== '')
    .join(dash) || `my${dash}rule`

/** A reward function's file. `name`: the file's name without its extension. */
export interface FunctionSource {
  readonly name: string
  readonly file: string
  /** `native`: part of this package. `jiti`: a user's TypeScript or JavaScript. */
  readonly loader: 'native' | 'jiti' | 'python'
  /**
   * SHA-256 of the digests of the file and of the files that it imports from beside it, hex. Of a function of the package it
   * throws a system error if one of them cannot be read.
   */
  readonly hash: string
  /** The text that was hashed. Executors run it whenever they start; empty for the package's own functions. */
  readonly texts: SourceTexts
}

/**
 * Path -> text of a function's file and of the local files that it imports. Python files may declare another encoding, so
 * each character of their texts is one byte.
 */
export type SourceTexts = Readonly<Record<string, string>>

/** Finds the local imports of a text. Of each list of candidates the first file that exists is meant. */
type ImportsOf = (file: string, text: string) => Iterable<readonly string[]>

const relativeImport = /(?:\bfrom|\bimport\(?)\s*["'](\.{1,2}\/[^"'\n]{1,500})["']/g
const importEndings = ['', '.ts', '.js', '.mjs', '/index.ts', '/index.js']

/** Relative imports of JavaScript and TypeScript. */
function* scriptImports(file: string, text: string): Generator<readonly string[]> {
  for (const [, specifier = ''] of text.matchAll(relativeImport)) {
    const base = join(dirname(file), specifier)
    yield importEndings.map((ending) => base + ending).filter((path) => /\.(ts|js|mjs)$/.test(path))
  }
}

const pythonImport =
  /^[ \t]*(?:from[ \t]+(\.{0,9}[\w.]{0,200})[ \t]+import[ \t]+(\([^)]{1,4000}\)|.{1,500})|import[ \t]+([\w., \t]{1,500}))/gm

/** Imports of Python modules in the function's folder and in packages below it. */
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

/** Cache of files by path, because functions of one folder import the same files. */
type ReadTexts = Map<string, ReadText>

interface ReadText {
  /** SHA-256 of its bytes. */
  readonly digest: Buffer
  readonly text: string
  readonly imports: readonly string[]
}

/**
 * Reads a file and its local imports, and hashes their digests (SHA-256, hex) in order of first mention: a file that many
 * functions import is hashed once. Throws if the file itself cannot be read.
 */
function readSource(
  file: string,
  loader: FunctionSource['loader'],
  known: ReadTexts,
): { readonly hash: string; readonly texts: SourceTexts } {
  const importsOf = loader === 'python' ? pythonImports(dirname(file)) : scriptImports
  const hash = createHash('sha256')
  const texts: Record<string, string> = {}
  const waiting = [file]
  for (let next = waiting.shift(); next !== undefined; next = waiting.shift()) {
    if (Object.hasOwn(texts, next)) continue
    const read =
      known.get(next) ??
      (loader === 'native'
        ? ownText(next)
        : readText(next, loader === 'python' ? 'latin1' : 'utf8', importsOf))
    known.set(next, read)
    texts[next] = read.text
    hash.update(read.digest)
    waiting.push(...read.imports)
  }
  return { hash: hash.digest('hex'), texts }
}

/** What was read of the package's own files, which seldom change while it runs, and how they were then. */
const ownTexts = new Map<string, { readonly stamp: string; readonly read: ReadText }>()

/** A file of the package, without its text, which nobody needs: Node loads the file itself. */
function ownText(file: string): ReadText {
  // An upgrade by npm keeps the time of modification, but not that of the last change.
  const { ino, size, ctimeMs } = statSync(file)
  const stamp = `${ino} ${size} ${ctimeMs}`
  const kept = ownTexts.get(file)
  if (kept?.stamp === stamp) return kept.read
  const read = { ...readText(file, 'utf8', scriptImports), text: '' }
  ownTexts.set(file, { stamp, read })
  return read
}

function readText(file: string, encoding: 'latin1' | 'utf8', importsOf: ImportsOf): ReadText {
  const bytes = readFileSync(file)
  const text = bytes.toString(encoding)
  const imports: string[] = []
  for (const candidates of importsOf(file, text)) {
    const found = candidates.find((path) => existsSync(path))
    if (found !== undefined) imports.push(found)
  }
  return { digest: createHash('sha256').update(bytes).digest(), text, imports }
}
