import type { DuckDBConnection } from '@duckdb/node-api'
import { passAtK } from '../../core/statistics/accuracy.ts'
import { finite, type Row, rowsOf } from './query.ts'
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
interface GroupFigures {
  readonly count: number
  /** Mean of the variances within groups, where 1 is the width of the file's range, and of the entropies (bits) of their means. */
  readonly variance: number
  readonly entropy: number
  /** Share whose answers all earn the same: they teach nothing. */
  readonly saturated: number
  /** Groups worth training on, by the thresholds. */
  readonly highValue: number
  /** Unbiased, for k = 1, 2, 4, ... up to the smallest group. */
  readonly passAtK: Readonly<Record<string, number>>
}

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

/**
 * Makes the view `signal`: one row a group with two valid answers and more; a prompt that comes again in a later training
 * step is another group. Variance and entropy are of rewards in shares of the file's range, as the gateway's monitors have
 * them: 0 to 1, or further where rewards of the file lie beyond.
 */
export async function makeSignal(connection: DuckDBConnection): Promise<void> {
  await connection.run(`CREATE VIEW signal AS
    WITH ends AS (SELECT file, least(0, min(reward)) AS low, greatest(1, max(reward)) AS high
        FROM scored WHERE valid GROUP BY file),
      grouped AS (SELECT file, source, step, grp, min(place) AS place, count(*) AS n, count_if(solved) AS c,
          avg(reward) AS mean, var_pop(reward) AS own, max(reward) - min(reward) AS spread, any_value(question) AS question
        FROM scored WHERE valid AND grp IS NOT NULL GROUP BY file, source, step, grp HAVING count(*) > 1),
      shared AS (SELECT *, own / (high - low) ** 2 AS variance, (mean - low) / (high - low) AS share
        FROM grouped JOIN ends USING (file))
    SELECT file, source, step, grp, place, n, c, mean, variance, spread, question,
      CASE WHEN share > 0 AND share < 1 THEN -(share * log2(share) + (1 - share) * log2(1 - share)) ELSE 0 END AS entropy
    FROM shared`)
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
  const smallest = counted.reduce((least, { n }) => Math.min(least, n), Number.POSITIVE_INFINITY)
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
