import type { DuckDBConnection } from '@duckdb/node-api'
import { passAtK } from '../../core/statistics/accuracy.ts'
import { finite, type Row, rowsOf } from './scored-table.ts'
import { type HighValue, highValueDefaults } from './signal.ts'

/** The figures of one data source in one file. null if a figure is undefined. */
export interface SourceFigures {
  readonly file: number
  readonly source: string
  readonly rows: number
  readonly valid: number
  /** The share of valid rows that are solved. */
  readonly accuracy: number | null
  readonly mean: number | null
  /** Population variance. */
  readonly variance: number | null
  /** Pearson's r of reward and response length. */
  readonly lengthCorrelation: number | null
  readonly groups: GroupFigures | null
}

/** Over the groups with at least two valid answers. */
interface GroupFigures {
  readonly count: number
  /**
   * The mean variance within groups, on a scale where the reward's range is 1, and the mean entropy (bits) of
   * their means.
   */
  readonly variance: number
  readonly entropy: number
  /** The share of groups whose answers all earn the same reward. They teach nothing. */
  readonly saturated: number
  /** The number of groups above both thresholds. */
  readonly highValue: number
  /** Unbiased, for k = 1, 2, 4, ... up to the size of the smallest group. */
  readonly passAtK: Readonly<Record<string, number>>
}

/** Reads the tables of `loadScored`, by file and data source. */
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
      avg(entropy) AS entropy, avg((spread < 1e-9)::INT) AS saturated,
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
 * Creates the view `signal` with a row for each group of at least two valid answers. The same prompt in
 * another training step is another group. Variance, spread and entropy use rewards as shares of the declared range,
 * like the gateway's monitors. Rows that do not say it use what the file's rewards show: from 0 to 1, or further.
 */
export async function makeSignal(connection: DuckDBConnection): Promise<void> {
  await connection.run(`CREATE VIEW signal AS
    WITH ends AS (SELECT file, least(0, min(reward)) AS seen_low, greatest(1, max(reward)) AS seen_high
        FROM scored WHERE valid AND low IS NULL GROUP BY file),
      shared AS (SELECT scored.*, (reward - coalesce(low, seen_low)) / (coalesce(high, seen_high) - coalesce(low, seen_low)) AS share
        FROM scored LEFT JOIN ends USING (file) WHERE valid AND grp IS NOT NULL),
      grouped AS (SELECT file, source, step, grp, min(place) AS place, count(*) AS n, count_if(solved) AS c,
          avg(reward) AS mean, var_pop(share) AS variance, max(share) - min(share) AS spread, avg(share) AS middle,
          any_value(question) AS question
        FROM shared GROUP BY file, source, step, grp HAVING count(*) > 1)
    SELECT file, source, step, grp, place, n, c, mean, variance, spread, question,
      CASE WHEN middle > 0 AND middle < 1 THEN -(middle * log2(middle) + (1 - middle) * log2(1 - middle)) ELSE 0 END AS entropy
    FROM grouped`)
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

/** The best answers of one data source's groups in one file. */
export interface SolvedFigures {
  readonly file: number
  readonly source: string
  readonly groups: number
  /** The smallest and the largest number of answers in a group. */
  readonly answers: readonly [fewest: number, most: number]
  /** The mean over groups of their mean reward. */
  readonly mean: number
  /** The share of groups whose best answer earns at least 1: pass@n for n answers. */
  readonly passAtN: number
  /** Groups whose best answer earns exactly 0. */
  readonly zero: number
}

/** Over the valid rows. A row without a group is a group of its own. */
export async function solvedFigures(connection: DuckDBConnection): Promise<readonly SolvedFigures[]> {
  const rows = await rowsOf(
    connection,
    `WITH own AS (SELECT file, source, count(*) AS n, avg(reward) AS mean, max(reward) AS best FROM scored WHERE valid
      GROUP BY file, source, step, coalesce(grp, 'row ' || place))
    SELECT file, source, count(*)::DOUBLE AS groups, min(n)::DOUBLE AS fewest, max(n)::DOUBLE AS most, avg(mean) AS mean,
      avg((best >= 1)::INT) AS pass, count_if(best = 0)::DOUBLE AS zero FROM own GROUP BY ALL ORDER BY file, source`,
  )
  return rows.map(({ file, source, groups, fewest, most, mean, pass, zero }) => ({
    file: Number(file),
    source: String(source),
    groups: Number(groups),
    answers: [Number(fewest), Number(most)],
    mean: Number(mean),
    passAtN: Number(pass),
    zero: Number(zero),
  }))
}

/** A group and its best answer. Texts are null if the file has none. */
export interface SolvedGroup {
  readonly group_id: string | null
  readonly data_source: string
  readonly prompt: string | null
  readonly ground_truth: string | null
  readonly answers: number
  readonly best_score: number
  readonly response: string | null
}

/**
 * The groups whose best answer earns exactly 0, with the first 500 characters of their first answer. With
 * `best`, all other groups with the first 4000 characters of the best answer. In file order. `scored` must
 * have the texts.
 */
export async function groupsByBest(
  connection: DuckDBConnection,
  which: 'zero' | 'best',
): Promise<readonly SolvedGroup[]> {
  const response =
    which === 'zero' ? 'left(arg_min(response, place), 500)' : 'first(response ORDER BY reward DESC, place)'
  const rows = await rowsOf(
    connection,
    `SELECT any_value(grp) AS group_id, any_value(source) AS data_source, any_value(prompt) AS prompt,
      any_value(truth) AS ground_truth, count(*)::DOUBLE AS answers, max(reward) AS best_score, ${response} AS response
    FROM scored WHERE valid GROUP BY file, source, step, coalesce(grp, 'row ' || place)
    HAVING max(reward) ${which === 'zero' ? '= 0' : '<> 0'} ORDER BY file, min(place)`,
  )
  return rows as unknown as readonly SolvedGroup[]
}
