/**
 * What `analyze` computes: the figures come from the other files of this folder, `Analysis` collects them, and
 * `report/tables.ts` shows them.
 */

import type { DuckDBConnection } from '@duckdb/node-api'
import { withDuckDb } from '../dataset/parquet.ts'
import {
  type Agreement,
  agreements,
  type Distribution,
  type LengthFigures,
  lengthFigures,
  rewardDistributions,
  type SolvedShares,
  type StepFigures,
  solvedShares,
  stepFigures,
  termDistributions,
} from './distributions.ts'
import { type RolloutFigures, rolloutFigures, type StatusFigures, statusFigures } from './rollout-figures.ts'
import { loadScored, rowsOf } from './scored-table.ts'
import { type HighValue, highValueDefaults } from './signal.ts'
import {
  groupsByBest,
  makeSignal,
  type SolvedFigures,
  type SolvedGroup,
  type SourceFigures,
  solvedFigures,
  sourceFigures,
} from './source-figures.ts'
import { type StallFigures, stallFigures } from './stall-figures.ts'
import { isTrainingLog, readTrainingRun, type TrainingRun } from './training-run.ts'

/** The figures of scored files. `file` is an index into `files`. */
export interface Analysis {
  readonly files: readonly string[]
  /** The least reward of a solved row. */
  readonly solvedAt: number
  readonly origins: readonly Origin[]
  readonly sources: readonly SourceFigures[]
  readonly solved: readonly SolvedFigures[]
  readonly rewards: readonly Distribution[]
  readonly terms: readonly Distribution[]
  readonly agreements: readonly Agreement[]
  readonly lengths: readonly LengthFigures[]
  readonly shares: readonly SolvedShares[]
  readonly steps: readonly StepFigures[]
  readonly statuses: readonly StatusFigures[]
  readonly rollouts: readonly RolloutFigures[]
  readonly stalls: readonly StallFigures[]
  readonly failures: readonly { readonly file: number; readonly kind: string; readonly rows: number }[]
  /** The first `limit` groups worth training on. */
  readonly highValue: readonly HighValueGroup[]
}

export interface AnalysisOptions {
  /** A reward of at least this counts as solved. Default: 1. */
  readonly solvedAt?: number
  readonly thresholds?: HighValue
}

const solvedByDefault = 1

/** A group worth training on. The names are the published columns. */
interface HighValueGroup {
  readonly group_id: string
  readonly data_source: string
  /** The first 150 characters of the question. null if the file has no prompts. */
  readonly question: string | null
  readonly mean_reward: number
  readonly reward_var: number
  readonly entropy: number
  readonly success_count: number
  readonly total_count: number
}

/** Analyzes files from `score` or records of a gateway. Throws RG_INPUT_INVALID. */
async function analyzeScored(files: readonly string[], options: AnalysisOptions = {}): Promise<Analysis> {
  const { thresholds = highValueDefaults, solvedAt = solvedByDefault } = options
  return withScored(files, options, false, async (connection) => ({
    files,
    solvedAt,
    origins: await originsOf(connection),
    sources: await sourceFigures(connection, thresholds),
    solved: await solvedFigures(connection),
    rewards: await rewardDistributions(connection),
    terms: await termDistributions(connection),
    agreements: await agreements(connection),
    lengths: await lengthFigures(connection),
    shares: await solvedShares(connection),
    steps: await stepFigures(connection),
    statuses: await statusFigures(connection),
    rollouts: await rolloutFigures(connection),
    stalls: await stallFigures(connection),
    failures: await failureCounts(connection),
    highValue: await highValueRowsOf(connection, thresholds),
  }))
}

/** All groups above both thresholds, by falling variance, then in file order. */
export const highValueGroups = (
  files: readonly string[],
  options: AnalysisOptions = {},
): Promise<readonly HighValueGroup[]> =>
  withScored(files, options, false, (connection) =>
    highValueRowsOf(connection, { ...highValueDefaults, ...options.thresholds, limit: 2 ** 31 }),
  )

/**
 * The groups whose best answer earns 0 (`zero`), or the best answers of the other groups, with their texts.
 */
export const solvedGroups = (
  files: readonly string[],
  which: 'zero' | 'best',
): Promise<readonly SolvedGroup[]> =>
  withScored(files, {}, true, (connection) => groupsByBest(connection, which))

const highValueRowsOf = async (
  connection: DuckDBConnection,
  { varianceMin, entropyMin, limit }: HighValue,
): Promise<readonly HighValueGroup[]> =>
  (await rowsOf(
    connection,
    `SELECT grp AS group_id, source AS data_source, question, mean AS mean_reward, variance AS reward_var, entropy,
      c::DOUBLE AS success_count, n::DOUBLE AS total_count FROM signal
    WHERE variance >= ${varianceMin} AND entropy >= ${entropyMin} ORDER BY variance DESC, file, place LIMIT ${limit}`,
  )) as unknown as readonly HighValueGroup[]

/** What a file says of where its rows come from: only records have times and runs, and results of `--keep none` nothing. */
export interface Origin {
  readonly rows: number
  /** When the first and the last row were scored. */
  readonly first: string | null
  readonly last: string | null
  readonly runs: readonly string[]
  /** `version` and `gateway` may be null in files of other programs. */
  readonly rewards: readonly {
    readonly reward: string
    readonly version: string | null
    readonly gateway: string | null
  }[]
}

async function originsOf(connection: DuckDBConnection): Promise<readonly Origin[]> {
  const rows = await rowsOf(
    connection,
    'SELECT n::DOUBLE AS n, first, last, runs, rewards::VARCHAR AS rewards FROM origin ORDER BY file',
  )
  return rows.map(({ n, first, last, runs, rewards }) => ({
    rows: Number(n),
    first: first as string | null,
    last: last as string | null,
    runs: (runs ?? []) as readonly string[],
    rewards: JSON.parse(String(rewards ?? '[]') || '[]') ?? [],
  }))
}

/** Failed rows by kind, the most frequent kind first. */
async function failureCounts(connection: DuckDBConnection): Promise<Analysis['failures']> {
  const rows = await rowsOf(
    connection,
    `SELECT file, coalesce(kind, '?') AS kind, count(*)::DOUBLE AS n FROM scored WHERE NOT valid
    GROUP BY ALL ORDER BY file, n DESC, kind`,
  )
  return rows.map(({ file, kind, n }) => ({ file: Number(file), kind: String(kind), rows: Number(n) }))
}

const withScored = <T>(
  files: readonly string[],
  { solvedAt = solvedByDefault }: AnalysisOptions,
  keepTexts: boolean,
  work: (connection: DuckDBConnection) => Promise<T>,
): Promise<T> =>
  withDuckDb(async (connection) => {
    await loadScored(connection, files, solvedAt, keepTexts ? 'all' : 'none')
    await makeSignal(connection)
    return work(connection)
  })

/** The input files by kind. DuckDB reads scored rows; training logs are read line by line. */
interface FigureInputs {
  readonly scored: readonly string[]
  readonly logs: readonly string[]
}

/** Separates scored files from training logs by their first line. `logs` are always training logs. */
export async function sortInputs(files: readonly string[], logs: readonly string[]): Promise<FigureInputs> {
  const isLog = await Promise.all(files.map(isTrainingLog))
  return {
    scored: files.filter((_, at) => !isLog[at]),
    logs: [...files.filter((_, at) => isLog[at]), ...logs],
  }
}

/** Analyzes both kinds of files. Throws RG_INPUT_INVALID with the file's name. */
export async function analyzeInputs(
  { scored, logs }: FigureInputs,
  options: AnalysisOptions,
): Promise<{ readonly analysis: Analysis | null; readonly runs: readonly TrainingRun[] }> {
  const runs = await Promise.all(logs.map(readTrainingRun))
  return { analysis: scored.length > 0 ? await analyzeScored(scored, options) : null, runs }
}
