import type { DuckDBConnection } from '@duckdb/node-api'
import { GatewayError } from '../../core/errors.ts'

/**
 * Runs `work` on a DuckDB of its own, in memory, of bounded size. The package is optional and large, so it is loaded by
 * what needs it; throws RG_COMMAND_INVALID where it is not installed.
 */
export async function withDuckDb<T>(work: (connection: DuckDBConnection) => Promise<T>): Promise<T> {
  const { connection, close } = await openDuckDb()
  try {
    return await work(connection)
  } finally {
    close()
  }
}

/** As withDuckDb, for work that ends elsewhere. */
export async function openDuckDb(): Promise<{ readonly connection: DuckDBConnection; close(): void }> {
  const { DuckDBInstance } = await import('@duckdb/node-api').catch((cause) => {
    throw new GatewayError(
      'RG_COMMAND_INVALID',
      'this needs the optional package @duckdb/node-api: npm install @duckdb/node-api',
      { cause },
    )
  })
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

/** What DuckDB frees goes back to the system soon; by itself it keeps hundreds of megabytes. */
const settings = {
  threads: '1',
  memory_limit: '1GB',
  allocator_flush_threshold: '8MB',
  allocator_bulk_deallocation_flush_threshold: '8MB',
}

/** A path as a quoted SQL text that is read as this one file, whatever stars and brackets its name holds. */
export const filePath = (path: string): string =>
  `'${path.replace(/[[*?]/g, (wild) => `[${wild}]`).replaceAll("'", "''")}'`

/** A name as a quoted SQL identifier. */
export const identifier = (name: string): string => `"${name.replaceAll('"', '""')}"`
