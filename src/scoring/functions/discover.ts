import { readdirSync } from 'node:fs'
import { basename, extname, join, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { Problem } from '../../core/errors.ts'
import { type MaybePromise, workInSlices } from '../../core/slices.ts'
import { codeOf, reasonOf } from '../../core/system-error.ts'
import type { FunctionSource } from './source.ts'
import { type ReadTexts, readSource } from './source-text.ts'

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
 * Finds the files and reads them, in slices; loads none. Folders below a folder are not searched: shared code of functions
 * lives there.
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
        const read = readFor(file, known, problems)
        const loader = isPython ? 'python' : folder === builtInFolder ? 'native' : 'jiti'
        if (read !== null)
          byName.set(name, {
            name,
            file,
            loader,
            hash: read.hash,
            texts: loader === 'native' ? {} : read.texts,
          })
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

function readFor(file: string, known: ReadTexts, problems: Problem[]): ReturnType<typeof readSource> | null {
  try {
    return readSource(file, known)
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
