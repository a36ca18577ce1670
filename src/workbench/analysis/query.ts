import type { DuckDBConnection } from '@duckdb/node-api'

/** A row of a query's result by column. */
export type Row = Readonly<Record<string, unknown>>

/** Every row of a query; numbers beyond doubles and dates as texts. */
export const rowsOf = async (connection: DuckDBConnection, sql: string): Promise<readonly Row[]> =>
  (await connection.runAndReadAll(sql)).getRowObjectsJson()

/** The value where it is a finite number, else null. */
export const finite = (value: unknown): number | null => (Number.isFinite(value) ? (value as number) : null)
