import { rm, stat } from 'node:fs/promises'
import type { DuckDBConnection } from '@duckdb/node-api'
import { GatewayError } from '../../core/errors.ts'
import { parseJsonText } from '../../core/json/text.ts'
import { loadDuckDb } from '../optional-packages.ts'
import { checkReadable, linesOf, unreadable } from './files.ts'
import type { RawRow, RowSource } from './row.ts'

/**
 * Reads the rows of a Parquet file without its binary columns (images), or of a folder of such files, in the order of their
 * names. Throws RG_INPUT_INVALID.
 */
export async function parquetRows(path: string): Promise<RowSource> {
  const file = await readablePath(path)
  const { connection, close } = await openDuckDb()
  try {
    const described = await connection.runAndReadAll(`DESCRIBE SELECT * FROM read_parquet(${file})`)
    const isBinary = (type: unknown) => String(type).includes('BLOB')
    const columns = described.getRows().filter(([, type]) => !isBinary(type))
    const leftOut = described.getRows().flatMap(([name, type]) => (isBinary(type) ? [String(name)] : []))
    const [counted] = (
      await connection.runAndReadAll(`SELECT sum(num_rows)::DOUBLE FROM parquet_file_metadata(${file})`)
    ).getRows()
    const total = Number(counted?.[0] ?? 0)
    const names = columns.map(([name]) => identifier(String(name))).join(', ')
    const query = `SELECT to_json(r) FROM (SELECT ${names} FROM read_parquet(${file})) r`
    let read = 0
    async function* rows(): AsyncGenerator<readonly RawRow[]> {
      try {
        const result = await connection.stream(query)
        for (let chunk = await result.fetchChunk(); chunk?.rowCount; chunk = await result.fetchChunk()) {
          read += chunk.rowCount
          yield chunk.getColumnValues(0).map((text) => parseJsonText(String(text)))
        }
        // DuckDB ends a stream without an error if it fails midway (out of memory, a broken page).
        if (read !== total) {
          throw new GatewayError(
            'RG_INPUT_INVALID',
            `${path}: reading ended after ${read} of ${total} rows; is the file complete, and does each row group fit into 1 GB of memory?`,
          )
        }
      } finally {
        close()
      }
    }
    return { leftOut, fraction: () => (total === 0 ? 1 : read / total), [Symbol.asyncIterator]: rows }
  } catch (cause) {
    close()
    throw unreadable(path, cause)
  }
}

/** The SQL type of each column. Binary columns are left out, as in `parquetRows`. */
export async function parquetColumns(path: string): Promise<Readonly<Record<string, string>>> {
  const file = await readablePath(path)
  return withDuckDb(async (connection) => {
    const described = await connection.runAndReadAll(`DESCRIBE SELECT * FROM read_parquet(${file})`)
    const columns = described.getRows().map(([name, type]) => [String(name), String(type)] as const)
    return Object.fromEntries(columns.filter(([, type]) => !type.includes('BLOB')))
  }).catch((cause) => {
    throw unreadable(path, cause)
  })
}

/**
 * Writes JSON lines as Parquet in the same order. `columns` maps names to SQL types; by default DuckDB infers
 * them.
 */
export async function writeParquet(
  lines: string,
  target: string,
  columns?: Readonly<Record<string, string>>,
): Promise<void> {
  const typed = Object.entries(columns ?? {}).map(
    ([name, type]) => `${identifier(name)}: '${type.replaceAll("'", "''")}'`,
  )
  const shape = columns ? `columns = {${typed.join(', ')}}` : 'sample_size = -1'
  // DuckDB allocates twice this size at once, even for short lines.
  const longest = Math.max(2 ** 20, (await linesOf(lines)).longest)
  const source = `read_json(${filePath(lines)}, format = 'newline_delimited', maximum_object_size = ${longest}, ${shape})`
  await withDuckDb(async (connection) => {
    await connection.run(
      `COPY (SELECT * FROM ${source}) TO '${target.replaceAll("'", "''")}' (FORMAT parquet, COMPRESSION zstd, ROW_GROUP_SIZE 10000)`,
    )
  }).catch(async (error: unknown) => {
    await rm(target, { force: true })
    throw error
  })
}

/**
 * Runs `work` on its own in-memory DuckDB of bounded size. Throws RG_COMMAND_INVALID if the package is
 * missing.
 */
export async function withDuckDb<T>(work: (connection: DuckDBConnection) => Promise<T>): Promise<T> {
  const { connection, close } = await openDuckDb()
  try {
    return await work(connection)
  } finally {
    close()
  }
}

/** Like `withDuckDb`, for a stream that outlives the call. */
async function openDuckDb(): Promise<{ readonly connection: DuckDBConnection; close(): void }> {
  const { DuckDBInstance } = await loadDuckDb()
  const instance = await DuckDBInstance.create(':memory:', settings)
  const connection = await instance.connect()
  return {
    connection,
    close() {
      connection.closeSync()
      instance.closeSync()
    },
  }
}

/** Returns freed memory to the system soon. By default DuckDB keeps hundreds of megabytes. */
const settings = {
  threads: '1',
  memory_limit: '1GB',
  allocator_flush_threshold: '8MB',
  allocator_bulk_deallocation_flush_threshold: '8MB',
}

/** A readable file, or all Parquet files of a folder whose name ends as theirs, quoted for SQL. */
async function readablePath(path: string): Promise<string> {
  const isFolder = await stat(path).then(
    (found) => found.isDirectory(),
    () => false,
  )
  if (isFolder && path.endsWith('.parquet')) return `${filePath(path).slice(0, -1)}/*.parquet'`
  await checkReadable(path)
  return filePath(path)
}

/** Quotes a path for SQL. Wildcards in the file's name are escaped. */
export const filePath = (path: string): string =>
  `'${path.replace(/[[*?]/g, (wild) => `[${wild}]`).replaceAll("'", "''")}'`

/** Quotes a column name for SQL. */
const identifier = (name: string): string => `"${name.replaceAll('"', '""')}"`
