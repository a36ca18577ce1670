import type { Readable } from 'node:stream'
import { jsonLines } from './json-lines.ts'
import { parquetRows } from './parquet.ts'
import type { RowSource } from './row-source.ts'

/** By the file's ending: .parquet, .gz (JSON lines), .json (lines or one array), else JSON lines; '-' is `stdin`. Throws RG_INPUT_INVALID. */
export function openRows(path: string, stdin: NodeJS.ReadableStream): Promise<RowSource> {
  if (path === '-') return jsonLines(stdin as Readable)
  return path.endsWith('.parquet') ? parquetRows(path) : jsonLines(path)
}
