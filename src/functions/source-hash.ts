import { createHash } from 'node:crypto'
import { existsSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'

const relativeImport = /(?:\bfrom|\bimport\(?)\s*["'](\.{1,2}\/[^"'\n]{1,500})["']/g
const endings = ['', '.ts', '.js', '.mjs', '/index.ts', '/index.js']

/** SHA-256, hex, of a source file and, in order of first mention, of the files that it imports by relative paths. */
export function sourceHash(file: string): string {
  const hash = createHash('sha256')
  const seen = new Set<string>()
  const waiting = [file]
  for (let next = waiting.shift(); next !== undefined; next = waiting.shift()) {
    if (seen.has(next)) continue
    seen.add(next)
    const text = readFileSync(next)
    hash.update(`${text.length}\n`).update(text)
    for (const [, specifier = ''] of text.toString('utf8').matchAll(relativeImport)) {
      const base = join(dirname(next), specifier)
      const found = endings
        .map((ending) => base + ending)
        .find((path) => /\.(ts|js|mjs)$/.test(path) && existsSync(path))
      if (found) waiting.push(found)
    }
  }
  return hash.digest('hex')
}
