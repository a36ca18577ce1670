import type { Readable } from 'node:stream'
import { jsonLines } from './json-lines.ts'
import { parquetRows } from './parquet.ts'
import type { RawRow } from './raw-row.ts'

/** The rows of a file in their order, a few at a time. To be read once. */
export interface RowSource extends AsyncIterable<readonly RawRow[]> {
  /** 0 to 1, of what has been read; null where the length is unknown. */
  fraction(): number | null
}

/** By the file's ending: .parquet, .gz (JSON lines), .json (lines or one array), else JSON lines; '-' is `stdin`. Throws RG_INPUT_INVALID. */
export function openRows(path: string, stdin: NodeJS.ReadableStream): Promise<RowSource> {
  if (path === '-') return jsonLines(stdin as Readable)
  return path.endsWith('.parquet') ? parquetRows(path) : jsonLines(path)
}
