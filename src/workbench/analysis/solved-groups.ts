import type { DuckDBConnection } from '@duckdb/node-api'
import { rowsOf } from './query.ts'
import { solvedReport } from './signal.ts'

/** The best answer of each group of one data source in one file, as Countdown's report gives it: pass@n for n answers. */
export interface SolvedFigures extends ReturnType<typeof solvedReport> {
  readonly file: number
  readonly source: string
  readonly groups: number
  /** Answers of a group, fewest and most. */
  readonly answers: readonly [fewest: number, most: number]
}

/** Over the valid rows; one that belongs to no group is a group of its own. Solved is a reward of 1 or more. */
export async function solvedFigures(connection: DuckDBConnection): Promise<readonly SolvedFigures[]> {
  const rows = await rowsOf(
    connection,
    `SELECT file, source, list(reward ORDER BY place) AS rewards FROM scored WHERE valid
    GROUP BY file, source, step, coalesce(grp, 'row ' || place) ORDER BY file, source, min(place)`,
  )
  const found = new Map<string, { file: number; source: string; groups: (readonly number[])[] }>()
  for (const { file, source, rewards } of rows) {
    const key = `${file} ${source}`
    const own = found.get(key) ?? { file: Number(file), source: String(source), groups: [] }
    own.groups.push(rewards as readonly number[])
    found.set(key, own)
  }
  return [...found.values()].map(({ file, source, groups }) => {
    const sizes = groups.map(({ length }) => length)
    return {
      file,
      source,
      groups: groups.length,
      answers: [sizes.reduce((a, b) => Math.min(a, b)), sizes.reduce((a, b) => Math.max(a, b))],
      ...solvedReport(groups),
    }
  })
}

/** A group by its best answer; texts are null where the file does not hold them. */
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
 * The groups whose best answer earns exactly 0, with the first 500 characters of the first answer, or (`best`) all others
 * with the first 4000 of the best; in the order of the files. Needs the texts in `scored`.
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
