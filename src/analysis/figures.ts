import type { DuckDBConnection } from '@duckdb/node-api'
import { passAtK } from '../statistics/pass-at-k.ts'
import { type HighValue, highValueDefaults } from './signal.ts'

/** What the rows of one data source in one file look like; null where nothing can be said. */
export interface SourceFigures {
  readonly file: number
  readonly source: string
  readonly rows: number
  readonly valid: number
  /** Of the valid rows. */
  readonly accuracy: number | null
  readonly mean: number | null
  /** Population variance. */
  readonly variance: number | null
  /** Pearson's r of reward and response length. */
  readonly lengthCorrelation: number | null
  readonly groups: GroupFigures | null
}

/** Over the groups with two valid answers and more. */
export interface GroupFigures {
  readonly count: number
  /** Mean of the variances within groups, and of the entropies (bits) of their means. */
  readonly variance: number
  readonly entropy: number
  /** Share whose answers all earn the same: they teach nothing. */
  readonly saturated: number
  /** Groups worth training on, by the thresholds. */
  readonly highValue: number
  /** Unbiased, for k = 1, 2, 4, ... up to the smallest group. */
  readonly passAtK: Readonly<Record<string, number>>
}

export interface TermFigures {
  readonly file: number
  readonly name: string
  readonly scored: number
  readonly failed: number
  readonly mean: number | null
  readonly deviation: number | null
  readonly min: number | null
  readonly median: number | null
  readonly max: number | null
  /** Rows in ten equal bins from `min` to `max`. */
  readonly histogram: readonly number[]
}

export interface Agreement {
  readonly file: number
  readonly terms: readonly [string, string]
  /** Rows that both scored. */
  readonly rows: number
  /** Pearson's r. */
  readonly correlation: number | null
}

type Row = Readonly<Record<string, unknown>>

const rowsOf = async (connection: DuckDBConnection, sql: string): Promise<readonly Row[]> =>
  (await connection.runAndReadAll(sql)).getRowObjectsJson()

const finite = (value: unknown): number | null => (Number.isFinite(value) ? (value as number) : null)

/** Of the tables that loadScored made, by file and data source. */
export async function sourceFigures(
  connection: DuckDBConnection,
  thresholds: HighValue = highValueDefaults,
): Promise<readonly SourceFigures[]> {
  const rows = await rowsOf(
    connection,
    `SELECT file, source, count(*)::DOUBLE AS n, count_if(valid)::DOUBLE AS valid, avg(solved::INT) AS accuracy,
      avg(reward) AS mean, var_pop(reward) AS variance, corr(length, reward) AS length
    FROM scored GROUP BY ALL ORDER BY file, source`,
  )
  const groups = await rowsOf(
    connection,
    `SELECT file, source, n::DOUBLE AS n, c::DOUBLE AS c, count(*)::DOUBLE AS count, avg(variance) AS variance,
      avg(entropy) AS entropy, avg((spread = 0)::INT) AS saturated,
      count_if(variance >= ${thresholds.varianceMin} AND entropy >= ${thresholds.entropyMin})::DOUBLE AS high
    FROM signal GROUP BY ALL`,
  )
  return rows.map((row) => {
    const own = groups.filter(({ file, source }) => file === row.file && source === row.source)
    return {
      file: Number(row.file),
      source: String(row.source),
      rows: Number(row.n),
      valid: Number(row.valid),
      accuracy: finite(row.accuracy),
      mean: finite(row.mean),
      variance: finite(row.variance),
      lengthCorrelation: finite(row.length),
      groups: own.length > 0 ? groupFigures(own) : null,
    }
  })
}

/** Makes the view `signal`: one row a group with two valid answers and more. */
export async function makeSignal(connection: DuckDBConnection): Promise<void> {
  await connection.run(`CREATE VIEW signal AS
    SELECT *, CASE WHEN mean > 0 AND mean < 1 THEN -(mean * log2(mean) + (1 - mean) * log2(1 - mean)) ELSE 0 END AS entropy
    FROM (SELECT file, source, grp, min(place) AS place, count(*) AS n, count_if(solved) AS c, avg(reward) AS mean,
        var_pop(reward) AS variance, max(reward) - min(reward) AS spread
      FROM scored WHERE valid AND grp IS NOT NULL GROUP BY file, source, grp HAVING count(*) > 1)`)
}

function groupFigures(rows: readonly Row[]): GroupFigures {
  const counted = rows.map((row) => ({
    n: Number(row.n),
    solved: Number(row.c),
    count: Number(row.count),
    of: (key: string) => Number(row[key]),
  }))
  const count = counted.reduce((total, row) => total + row.count, 0)
  const over = (of: (row: (typeof counted)[number]) => number) =>
    counted.reduce((total, row) => total + row.count * of(row), 0) / count
  const smallest = Math.min(...counted.map(({ n }) => n))
  const ks = Array.from({ length: Math.floor(Math.log2(smallest)) + 1 }, (_, i) => 2 ** i)
  return {
    count,
    variance: over((row) => row.of('variance')),
    entropy: over((row) => row.of('entropy')),
    saturated: over((row) => row.of('saturated')),
    highValue: counted.reduce((total, row) => total + row.of('high'), 0),
    passAtK: Object.fromEntries(ks.map((k) => [k, over(({ n, solved }) => passAtK(n, solved, k))])),
  }
}

/** Of each term's scores, by file and in the order of the steps. */
export async function termFigures(connection: DuckDBConnection): Promise<readonly TermFigures[]> {
  const rows = await rowsOf(
    connection,
    `WITH ranges AS (SELECT file, name, min(position) AS position, count(score)::DOUBLE AS scored,
        count_if(status = 'failed')::DOUBLE AS failed, avg(score) AS mean, stddev_pop(score) AS deviation,
        min(score) AS low, median(score) AS median, max(score) AS high FROM term GROUP BY file, name),
      bins AS (SELECT t.file, t.name, count(*)::DOUBLE AS n,
        CASE WHEN high > low THEN least(9, floor(10 * (score - low) / (high - low)))::INT ELSE 0 END AS bin
        FROM term t JOIN ranges r ON t.file = r.file AND t.name = r.name WHERE score IS NOT NULL GROUP BY ALL)
    SELECT r.*, (SELECT map_from_entries(list((bin, n))) FROM bins b WHERE b.file = r.file AND b.name = r.name)::JSON AS bins
    FROM ranges r ORDER BY file, position`,
  )
  return rows.map((row) => {
    const bins = JSON.parse(String(row.bins ?? '{}')) as Readonly<Record<string, number>>
    return {
      file: Number(row.file),
      name: String(row.name),
      scored: Number(row.scored),
      failed: Number(row.failed),
      mean: finite(row.mean),
      deviation: finite(row.deviation),
      min: finite(row.low),
      median: finite(row.median),
      max: finite(row.high),
      histogram: Array.from({ length: 10 }, (_, bin) => bins[bin] ?? 0),
    }
  })
}

/** Of each two terms over the rows that both scored. */
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

/** Failed rows by kind, most first. */
export async function failureCounts(
  connection: DuckDBConnection,
): Promise<readonly { readonly file: number; readonly kind: string; readonly rows: number }[]> {
  const rows = await rowsOf(
    connection,
    `SELECT file, coalesce(kind, '?') AS kind, count(*)::DOUBLE AS n FROM scored WHERE NOT valid
    GROUP BY ALL ORDER BY file, n DESC, kind`,
  )
  return rows.map(({ file, kind, n }) => ({ file: Number(file), kind: String(kind), rows: Number(n) }))
}
