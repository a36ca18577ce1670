import type { DuckDBConnection } from '@duckdb/node-api'
import { withDuckDb } from '../dataset/duckdb.ts'
import {
  type Agreement,
  agreements,
  failureCounts,
  makeSignal,
  type SourceFigures,
  sourceFigures,
  type TermFigures,
  termFigures,
} from './figures.ts'
import { loadScored } from './scored-table.ts'
import { type HighValue, highValueDefaults } from './signal.ts'

/** What scored files look like; `file` counts the files from 0. */
export interface Analysis {
  readonly files: readonly string[]
  readonly sources: readonly SourceFigures[]
  readonly terms: readonly TermFigures[]
  readonly agreements: readonly Agreement[]
  readonly failures: readonly { readonly file: number; readonly kind: string; readonly rows: number }[]
}

export interface AnalysisOptions {
  /** A reward of at least this counts as solved. */
  readonly solvedAt?: number
  readonly thresholds?: HighValue
}

/** A group worth training on, under the published columns' names. */
export interface HighValueGroup {
  readonly group_id: string
  readonly data_source: string
  readonly mean_reward: number
  readonly reward_var: number
  readonly entropy: number
}

/** The figures of files (results of `score`, records of a gateway). Throws RG_INPUT_INVALID. */
export async function analyse(files: readonly string[], options: AnalysisOptions = {}): Promise<Analysis> {
  return withScored(files, options, async (connection) => ({
    files,
    sources: await sourceFigures(connection, options.thresholds),
    terms: await termFigures(connection),
    agreements: await agreements(connection),
    failures: await failureCounts(connection),
  }))
}

/** The groups that pass both thresholds, by falling variance, then in the order of the files. */
export async function highValueGroups(
  files: readonly string[],
  options: AnalysisOptions = {},
): Promise<readonly HighValueGroup[]> {
  const { varianceMin, entropyMin } = options.thresholds ?? highValueDefaults
  return withScored(files, options, async (connection) => {
    const selected = await connection.runAndReadAll(
      `SELECT grp AS group_id, source AS data_source, mean AS mean_reward, variance AS reward_var, entropy FROM signal
      WHERE variance >= $1 AND entropy >= $2 ORDER BY variance DESC, file, place`,
      [varianceMin, entropyMin],
    )
    return selected.getRowObjectsJson() as unknown as HighValueGroup[]
  })
}

const withScored = <T>(
  files: readonly string[],
  { solvedAt = 1 }: AnalysisOptions,
  work: (connection: DuckDBConnection) => Promise<T>,
): Promise<T> =>
  withDuckDb(async (connection) => {
    await loadScored(connection, files, solvedAt)
    await makeSignal(connection)
    return work(connection)
  })
