import type { DuckDBConnection } from '@duckdb/node-api'
import { GatewayError } from '../../core/errors.ts'
import { withDuckDb } from '../dataset/parquet.ts'
import { loadScored, rowsOf } from './scored-table.ts'

/** What another config or a later run changes on the same rows. Correlations are means over groups. */
export interface Difference {
  readonly rows: number
  /** Rows whose reward differs or exists in only one file. */
  readonly changed: number
  /** Rows that only B could score, and rows that only A could score. */
  readonly gained: number
  readonly lost: number
  /** The mean of B - A over the rows that both scored. null if there are none. */
  readonly meanChange: number | null
  readonly groups: number
  /**
   * The mean of Spearman's rho and of Kendall's tau-b within groups. null if no group has a ranking in both.
   */
  readonly spearman: number | null
  readonly kendall: number | null
  /** The share of groups without a common best answer. */
  readonly bestChanged: number | null
  /** By falling |B - A|. */
  readonly moved: readonly MovedRow[]
}

interface MovedRow {
  readonly id: string
  readonly a: number
  readonly b: number
  /** The beginning of the response on one line. null if neither file has the text. */
  readonly response: string | null
}

const movedRows = 10
const shownCharacters = 60

/**
 * Compares the first file with each other file. Throws RG_INPUT_INVALID if their rows or the order differ.
 */
export async function differences(files: readonly string[]): Promise<readonly Difference[]> {
  return withDuckDb(async (connection) => {
    await loadScored(connection, files, 1, 'starts')
    const found: Difference[] = []
    for (let other = 1; other < files.length; other++) {
      await checkSameRows(connection, files, other)
      found.push(await difference(connection, other))
    }
    return found
  })
}

async function checkSameRows(
  connection: DuckDBConnection,
  files: readonly string[],
  other: number,
): Promise<void> {
  const [first] = await rowsOf(
    connection,
    `SELECT coalesce(a.place, b.place)::INT AS place, a.id AS a, b.id AS b
    FROM (FROM scored WHERE file = 0) a FULL JOIN (FROM scored WHERE file = ${other}) b ON a.place = b.place
    WHERE a.id IS DISTINCT FROM b.id ORDER BY 1 LIMIT 1`,
  )
  if (!first) return
  const named = (id: unknown) => (id === null ? 'no row' : `the row '${id}'`)
  throw new GatewayError(
    'RG_INPUT_INVALID',
    `row ${first.place}: ${files[0]} has ${named(first.a)}, ${files[other]} has ${named(first.b)}; score the same file with both`,
  )
}

async function difference(connection: DuckDBConnection, other: number): Promise<Difference> {
  await connection.run(`CREATE OR REPLACE TEMP TABLE pair AS
    SELECT a.place, a.id, a.reward AS a, b.reward AS b, coalesce(a.grp, b.grp) AS grp,
      coalesce(a.response, b.response) AS response
    FROM scored a JOIN scored b ON a.place = b.place WHERE a.file = 0 AND b.file = ${other}`)
  const [total] = await rowsOf(
    connection,
    `SELECT count(*)::DOUBLE AS rows, count_if(a IS DISTINCT FROM b)::DOUBLE AS changed,
      count_if(a IS NULL AND b IS NOT NULL)::DOUBLE AS gained, count_if(a IS NOT NULL AND b IS NULL)::DOUBLE AS lost,
      avg(b - a) AS "meanChange" FROM pair`,
  )
  const [ranks] = await rowsOf(connection, groupRanks)
  const [tau] = await rowsOf(connection, kendallTau)
  const moved = await rowsOf(
    connection,
    `SELECT id, a, b, response FROM pair WHERE a <> b ORDER BY abs(b - a) DESC, place LIMIT ${movedRows}`,
  )
  const shown = moved.map((row) => ({
    ...row,
    response: row.response === null ? null : startOf(String(row.response)),
  }))
  return { ...total, ...ranks, ...tau, moved: shown } as unknown as Difference
}

/** The first characters of a text on one line. Texts of models must not control a terminal. */
function startOf(text: string): string {
  const characters = [...text.replace(/[\p{Cc}\p{Cf}\p{Cs}\s]+/gu, ' ').trim()]
  return characters.length > shownCharacters
    ? `${characters.slice(0, shownCharacters).join('')}…`
    : characters.join('')
}

/** Equal rewards share the mean of their ranks. */
const groupRanks = `WITH paired AS (SELECT * FROM pair WHERE grp IS NOT NULL AND a IS NOT NULL AND b IS NOT NULL),
  ranked AS (SELECT grp, a, b,
    rank() OVER (PARTITION BY grp ORDER BY a) + (count(*) OVER (PARTITION BY grp, a) - 1) / 2 AS ra,
    rank() OVER (PARTITION BY grp ORDER BY b) + (count(*) OVER (PARTITION BY grp, b) - 1) / 2 AS rb,
    a = max(a) OVER (PARTITION BY grp) AS best_a, b = max(b) OVER (PARTITION BY grp) AS best_b FROM paired),
  grouped AS (SELECT grp, corr(ra, rb) AS rho, NOT bool_or(best_a AND best_b) AS best_changed
    FROM ranked GROUP BY grp HAVING count(*) > 1)
  SELECT count(*)::DOUBLE AS groups, avg(rho) FILTER (isfinite(rho)) AS spearman, avg(best_changed::INT) AS "bestChanged"
  FROM grouped`

const kendallTau = `WITH paired AS (SELECT * FROM pair WHERE grp IS NOT NULL AND a IS NOT NULL AND b IS NOT NULL),
  pairs AS (SELECT x.grp, sign(x.a - y.a) AS da, sign(x.b - y.b) AS db FROM paired x JOIN paired y
    ON x.grp = y.grp AND x.place < y.place),
  grouped AS (SELECT grp, sum(da * db) / sqrt(sum(da * da)::DOUBLE * sum(db * db)::DOUBLE) AS tau FROM pairs
    GROUP BY grp HAVING sum(da * da) > 0 AND sum(db * db) > 0)
  SELECT avg(tau) AS kendall FROM grouped`
