import type { DuckDBConnection } from '@duckdb/node-api'
import { finite, rowsOf } from './scored-table.ts'

/** The distribution of a term's scores, or of the rewards, in one file. */
export interface Distribution {
  readonly file: number
  readonly name: string
  readonly scored: number
  readonly failed: number
  readonly mean: number | null
  readonly deviation: number | null
  readonly min: number | null
  readonly median: number | null
  readonly max: number | null
  /** If every score is the same: that score, and how many there are. Scores that the guard gave in place of a judge do not count. */
  readonly constant: { readonly score: number; readonly scores: number } | null
  /** Counts in equal bins over `range`. All files have the same range. */
  readonly histogram: readonly number[]
  readonly range: readonly [low: number, high: number] | null
}

const binCount = 20

/** The distribution of each term's scores, by file and in the order of the steps. */
export const termDistributions = (connection: DuckDBConnection): Promise<readonly Distribution[]> =>
  distributions(connection, 'term')

/** The distribution of each file's rewards, named `reward`. */
export const rewardDistributions = (connection: DuckDBConnection): Promise<readonly Distribution[]> =>
  distributions(
    connection,
    `(SELECT file, place, 0 AS position, 'reward' AS name, CASE WHEN valid THEN 'scored' ELSE 'failed' END AS status,
      reward AS score, true AS asked FROM scored)`,
  )

async function distributions(
  connection: DuckDBConnection,
  relation: string,
): Promise<readonly Distribution[]> {
  const rows = await rowsOf(
    connection,
    `WITH scores AS (FROM ${relation}),
      ranges AS (SELECT name, min(score) AS low, max(score) AS high FROM scores GROUP BY name),
      figures AS (SELECT file, name, min(position) AS position, count(score)::DOUBLE AS scored,
        count_if(status = 'failed')::DOUBLE AS failed, avg(score) AS mean, stddev_pop(score) AS deviation,
        min(score) AS least, median(score) AS median, max(score) AS most, count(score) FILTER (asked)::DOUBLE AS asked,
        min(score) FILTER (asked) AS least_asked, max(score) FILTER (asked) AS most_asked FROM scores GROUP BY file, name),
      bins AS (SELECT file, s.name, count(*)::DOUBLE AS n,
        CASE WHEN high > low THEN least(${binCount - 1}, floor(${binCount} * (score - low) / (high - low)))::INT ELSE 0 END AS bin
        FROM scores s JOIN ranges r ON s.name = r.name WHERE score IS NOT NULL GROUP BY ALL)
    SELECT f.*, low, high, (SELECT map_from_entries(list((bin, n))) FROM bins b WHERE b.file = f.file AND b.name = f.name)::JSON AS bins
    FROM figures f JOIN ranges r ON f.name = r.name ORDER BY file, position`,
  )
  return rows.map((row) => {
    const bins = JSON.parse(String(row.bins ?? '{}')) as Readonly<Record<string, number>>
    const [low, high] = [finite(row.low), finite(row.high)]
    const only = finite(row.least_asked)
    return {
      file: Number(row.file),
      name: String(row.name),
      scored: Number(row.scored),
      failed: Number(row.failed),
      mean: finite(row.mean),
      deviation: finite(row.deviation),
      min: finite(row.least),
      median: finite(row.median),
      max: finite(row.most),
      constant:
        only !== null && only === finite(row.most_asked) ? { score: only, scores: Number(row.asked) } : null,
      histogram: Array.from({ length: binCount }, (_, bin) => bins[bin] ?? 0),
      range: low === null || high === null ? null : [low, high],
    }
  })
}

/** The correlation of two terms in one file. */
export interface Agreement {
  readonly file: number
  readonly terms: readonly [string, string]
  /** Rows that both terms scored. */
  readonly rows: number
  /** Pearson's r. */
  readonly correlation: number | null
}

/** The correlation of each pair of terms over the rows that both scored. */
export async function agreements(connection: DuckDBConnection): Promise<readonly Agreement[]> {
  const rows = await rowsOf(
    connection,
    `SELECT a.file, a.name AS a, b.name AS b, count(*)::DOUBLE AS n, corr(a.score, b.score) AS r
    FROM term a JOIN term b ON a.file = b.file AND a.place = b.place AND a.position < b.position
    WHERE a.score IS NOT NULL AND b.score IS NOT NULL
    GROUP BY a.file, a.name, b.name ORDER BY a.file, min(a.position), min(b.position)`,
  )
  return rows.map(({ file, a, b, n, r }) => ({
    file: Number(file),
    terms: [String(a), String(b)],
    rows: Number(n),
    correlation: finite(r),
  }))
}

/** One training step of one data source in one file. null if no row is valid or no group has two answers. */
export interface StepFigures {
  readonly file: number
  readonly source: string
  readonly step: number
  readonly rows: number
  readonly valid: number
  readonly accuracy: number | null
  readonly mean: number | null
  /** The mean population variance within groups, on a scale where the reward's range is 1. */
  readonly within: number | null
}

/** By file, data source and rising step. Rows without a training step are left out. */
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

/** By file and rising length. Files without response lengths are left out. */
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

/** A file's groups by their share of solved answers: none, ten equal bins, all. */
export interface SolvedShares {
  readonly file: number
  readonly groups: readonly number[]
}

/** By file. Groups need at least two valid answers. */
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
