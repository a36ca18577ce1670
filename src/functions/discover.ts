import { readdirSync } from 'node:fs'
import { basename, extname, join, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { Problem } from '../errors.ts'
import type { FunctionSource } from './source.ts'
import { sourceHash } from './source-hash.ts'

const endings = new Set(['.ts', '.js', '.mjs', '.py'])
const notFunctions = /\.(?:d|test)\.[a-z]+$|^(?:_.*|test_.*|conftest)\.py$/
const kebabCase = /^[a-z0-9]+(?:-[a-z0-9]+)*$/
const pythonCase = /^[a-z0-9]+(?:[-_][a-z0-9]+)*$/

/** The package's own functions: next to `src`, or next to `dist/src` once built. */
export const builtInFolder: string = fileURLToPath(new URL('../../reward-functions', import.meta.url))

/** Finds the files; loads none. Folders below a folder are not searched: shared code of functions lives there. */
export function discover(folders: readonly string[]): { sources: FunctionSource[]; problems: Problem[] } {
  const byName = new Map<string, FunctionSource>()
  const problems: Problem[] = []
  for (const folder of new Set([builtInFolder, ...folders.map((folder) => resolve(folder))])) {
    for (const file of filesOf(folder, problems)) {
      const name = basename(file, extname(file))
      const other = byName.get(name)
      const isPython = file.endsWith('.py')
      if (!(isPython ? pythonCase : kebabCase).test(name)) {
        problems.push({
          path: file,
          message: `a reward function's file is named in small letters, like ${isPython ? 'exact_match.py' : `exact-match${extname(file)}`}`,
        })
      } else if (other) {
        problems.push({
          path: file,
          message: `'${name}' is also the name of ${other.file}; rename one of the two`,
        })
      } else {
        const hash = hashOf(file, problems)
        if (hash !== null)
          byName.set(name, {
            name,
            file,
            loader: isPython ? 'python' : folder === builtInFolder ? 'native' : 'jiti',
            hash,
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
    if (folder !== builtInFolder) problems.push({ path: folder, message: unreadable(error) })
    return []
  }
}

function hashOf(file: string, problems: Problem[]): string | null {
  try {
    return sourceHash(file)
  } catch (error) {
    problems.push({ path: file, message: unreadable(error) })
    return null
  }
}

const unreadable = (error: unknown): string => `cannot be read: ${(error as NodeJS.ErrnoException).code}`
