import type { DuckDBConnection } from '@duckdb/node-api'
import { finite, rowsOf } from './query.ts'

/** One training step of one data source in one file; null where no row is valid or no group has two answers. */
export interface StepFigures {
  readonly file: number
  readonly source: string
  readonly step: number
  readonly rows: number
  readonly valid: number
  readonly accuracy: number | null
  readonly mean: number | null
  /** Mean over groups of the population variance within, where 1 is the width of the file's range. */
  readonly within: number | null
}

/** By file, data source and rising step; rows that tell no training step are left out. */
export async function stepFigures(connection: DuckDBConnection): Promise<readonly StepFigures[]> {
  const rows = await rowsOf(
    connection,
    `WITH own AS (SELECT file, source, step, count(*)::DOUBLE AS n, count_if(valid)::DOUBLE AS valid,
        avg(solved::INT) AS accuracy, avg(reward) AS mean FROM scored WHERE step IS NOT NULL GROUP BY ALL),
      spread AS (SELECT file, source, step, avg(variance) AS within FROM signal WHERE step IS NOT NULL GROUP BY ALL)
    SELECT own.*, within, step::DOUBLE AS at FROM own LEFT JOIN spread USING (file, source, step) ORDER BY file, source, step`,
  )
  return rows.map((row) => ({
    file: Number(row.file),
    source: String(row.source),
    step: Number(row.at),
    rows: Number(row.n),
    valid: Number(row.valid),
    accuracy: finite(row.accuracy),
    mean: finite(row.mean),
    within: finite(row.within),
  }))
}

/** A tenth of a file's valid rows, by rising response length. */
export interface LengthFigures {
  readonly file: number
  readonly rows: number
  readonly shortest: number
  readonly longest: number
  readonly meanLength: number
  readonly meanReward: number
}

/** By file and rising length; files whose rows tell no length are left out. */
export async function lengthFigures(connection: DuckDBConnection): Promise<readonly LengthFigures[]> {
  const rows = await rowsOf(
    connection,
    `SELECT file, tile, count(*)::DOUBLE AS n, min(length)::DOUBLE AS shortest, max(length)::DOUBLE AS longest,
      avg(length) AS length, avg(reward) AS reward
    FROM (SELECT file, length, reward, ntile(10) OVER (PARTITION BY file ORDER BY length, place) AS tile
      FROM scored WHERE valid AND length IS NOT NULL) GROUP BY ALL ORDER BY file, tile`,
  )
  return rows.map((row) => ({
    file: Number(row.file),
    rows: Number(row.n),
    shortest: Number(row.shortest),
    longest: Number(row.longest),
    meanLength: Number(row.length),
    meanReward: Number(row.reward),
  }))
}

/** A file's groups by the share of their answers that is solved: none, ten equal bins between, all. */
export interface SolvedShares {
  readonly file: number
  readonly groups: readonly number[]
}

/** By file; groups of at least two valid answers count. */
export async function solvedShares(connection: DuckDBConnection): Promise<readonly SolvedShares[]> {
  const rows = await rowsOf(
    connection,
    `SELECT file, CASE c WHEN 0 THEN 0 WHEN n THEN 11 ELSE 1 + floor(10 * c / n) END::INT AS bin, count(*)::DOUBLE AS number
    FROM signal GROUP BY file, bin ORDER BY file`,
  )
  const files = [...new Set(rows.map(({ file }) => Number(file)))]
  return files.map((file) => ({
    file,
    groups: Array.from({ length: 12 }, (_, bin) =>
      Number(rows.find((row) => Number(row.file) === file && Number(row.bin) === bin)?.number ?? 0),
    ),
  }))
}
