import { createHash } from 'node:crypto'
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { extname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { gzipSync } from 'node:zlib'

/** A file of the built page. */
export interface PageFile {
  readonly type: string
  readonly body: Buffer
  readonly gzip: Buffer
  readonly etag: string
  /** True where the name holds a hash of the content. */
  readonly isHashed: boolean
}

const types: Readonly<Record<string, string>> = {
  '.html': 'text/html; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.svg': 'image/svg+xml',
}

/** The package's own page, beside what is compiled; null: it is not built. */
export const builtPage = (): string | null =>
  ['../../../../ui/', '../../../../dist/ui/']
    .map((place) => fileURLToPath(new URL(place, import.meta.url)))
    .find(isBuilt) ?? null

const isBuilt = (folder: string): boolean => existsSync(join(folder, 'index.html'))

/** The files of a built page by their paths, `index.html` as ''; null: it is not built. A few small files, kept in memory. */
export function readPage(folder: string | null): ReadonlyMap<string, PageFile> | null {
  if (folder === null || !isBuilt(folder)) return null
  const paths = readdirSync(folder, { recursive: true, encoding: 'utf8' }).filter(
    (path) => types[extname(path)],
  )
  return new Map(paths.map((path) => [path === 'index.html' ? '' : path, fileOf(folder, path)]))
}

function fileOf(folder: string, path: string): PageFile {
  const body = readFileSync(join(folder, path))
  return {
    type: types[extname(path)] ?? '',
    body,
    gzip: gzipSync(body),
    // Times and sizes say too little: a package's files all have one time, and names of equal length leave the size.
    etag: `"${createHash('sha256').update(body).digest('base64url').slice(0, 22)}"`,
    isHashed: path.startsWith('assets/'),
  }
}
