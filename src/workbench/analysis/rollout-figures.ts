import type { DuckDBConnection } from '@duckdb/node-api'
import { finite, rowsOf } from './scored-table.ts'

/** The rows of one file that ended in one way. */
export interface StatusFigures {
  readonly file: number
  /** `completed`, `truncated`, ...; '' if the trainer did not say. */
  readonly status: string
  readonly rows: number
  /** Of the rows of the file that have a status. null for the rows that have none. */
  readonly share: number | null
  readonly valid: number
  readonly mean: number | null
}

/** By file, the most frequent status first. Files without any status are left out. */
export async function statusFigures(connection: DuckDBConnection): Promise<readonly StatusFigures[]> {
  const rows = await rowsOf(
    connection,
    `WITH known AS (SELECT file, count(status) AS known FROM scored GROUP BY file HAVING count(status) > 0)
    SELECT file, coalesce(status, '') AS how, count(*)::DOUBLE AS n, count_if(valid)::DOUBLE AS valid, avg(reward) AS mean,
      count(*) / any_value(known) AS share
    FROM scored JOIN known USING (file) GROUP BY file, how ORDER BY file, n DESC, how`,
  )
  return rows.map(({ file, how, n, valid, mean, share }) => ({
    file: Number(file),
    status: String(how),
    rows: Number(n),
    share: how === '' ? null : finite(share),
    valid: Number(valid),
    mean: finite(mean),
  }))
}

/** The rollouts of one file that are more than a text. */
export interface RolloutFigures {
  readonly file: number
  readonly rows: number
  /** The mean and the largest number of turns, those of tools and the environment included. */
  readonly turns: number
  readonly mostTurns: number
  /** The mean number of tool calls, and the share of rollouts without one. */
  readonly calls: number
  readonly withoutCalls: number
  /** The share of calls that cannot be read. null if there are no calls. */
  readonly malformed: number | null
}

/** By file. Files of nothing but texts are left out. */
export async function rolloutFigures(connection: DuckDBConnection): Promise<readonly RolloutFigures[]> {
  const rows = await rowsOf(
    connection,
    `SELECT file, count(*)::DOUBLE AS n, avg(turns) AS turns, max(turns)::DOUBLE AS most, avg(coalesce(calls, 0)) AS calls,
      avg((coalesce(calls, 0) = 0)::INT) AS without, sum(malformed)::DOUBLE / nullif(sum(calls)::DOUBLE, 0) AS malformed
    FROM scored WHERE turns IS NOT NULL GROUP BY file ORDER BY file`,
  )
  return rows.map(({ file, n, turns, most, calls, without, malformed }) => ({
    file: Number(file),
    rows: Number(n),
    turns: Number(turns),
    mostTurns: Number(most),
    calls: Number(calls),
    withoutCalls: Number(without),
    malformed: finite(malformed),
  }))
}
