import type { DuckDBConnection } from '@duckdb/node-api'
import { GatewayError } from '../../core/errors.ts'
import { checkReadable, unreadable } from '../dataset/files.ts'
import { filePath } from '../dataset/parquet.ts'
import { firstBrokenLine } from '../dataset/rows.ts'

const columns = {
  id: 'VARCHAR',
  reward: 'DOUBLE',
  valid: 'BOOLEAN',
  failure: 'JSON',
  terms: 'JSON',
  sample: 'JSON',
  training_step: 'BIGINT',
  run: 'VARCHAR',
  arrived: 'VARCHAR',
  spent: 'JSON',
  time: 'VARCHAR',
  config: 'JSON',
}

/** The text of the prompt's last message. null if the file has only its hash. */
const question = `CASE json_type(sample->'prompt') WHEN 'VARCHAR' THEN sample->>'prompt'
  WHEN 'ARRAY' THEN sample->>'$.prompt[#-1].content' END`

/** What `loadScored` keeps of prompt, ground truth and response. */
const texts = {
  none: 'NULL, NULL, NULL',
  /** The beginning of the response, where the file has its text. */
  starts: `NULL, NULL, CASE json_type(sample->'response') WHEN 'VARCHAR' THEN left(sample->>'response', 200) END`,
  all: `sample->>'prompt', sample->'ground_truth', left(sample->>'response', 4000)`,
}

/** How a rollout ended, from the trainer or from the policy's server. */
const status = `coalesce(sample->>'status', CASE sample->>'finish_reason' WHEN 'length' THEN 'truncated' WHEN 'stop' THEN 'completed' END)`

const countOf = (name: string) => `TRY_CAST(sample->'counts'->>'${name}' AS BIGINT)`

/** An end of the reward's declared range. null if the row does not say it. */
const rangeEnd = (at: 0 | 1) => `TRY_CAST(config->>'$.range[${at}]' AS DOUBLE)`

/** Identifies a prompt if no group is named. null if there is no prompt. */
const promptKey = `CASE json_type(sample->'prompt') WHEN 'OBJECT'
    THEN CASE WHEN (sample->'prompt'->>'chars')::BIGINT > 0 THEN sample->'prompt'->>'sha256' END
  ELSE md5(nullif(sample->>'prompt', '')) END`

/**
 * Creates the tables `scored` (a row for each sample), `term` (a row for each scored term), `waited` (a row for each sample
 * whose record tells its times, in milliseconds since the epoch) and `origin` (a row for each file) from scored files or records of the gateway. `place` counts from 0, and `solved` is a reward of at least
 * `solvedAt`, and `low` and `high` are the reward's declared range.
 * `kept`: with `all`, `scored` has the prompt and the first 4000 characters of the response, with `starts` the first 200. Throws
 * RG_INPUT_INVALID with the file's name.
 */
export async function loadScored(
  connection: DuckDBConnection,
  files: readonly string[],
  solvedAt: number,
  kept: keyof typeof texts = 'none',
): Promise<void> {
  await connection.run(`CREATE TABLE scored (
    file INTEGER, place BIGINT, id VARCHAR, reward DOUBLE, valid BOOLEAN, kind VARCHAR, source VARCHAR, grp VARCHAR,
    length BIGINT, step BIGINT, solved BOOLEAN, status VARCHAR, turns BIGINT, calls BIGINT, malformed BIGINT, question VARCHAR,
    prompt VARCHAR, truth VARCHAR, response VARCHAR, low DOUBLE, high DOUBLE)`)
  await connection.run(
    'CREATE TABLE term (file INTEGER, place BIGINT, position INTEGER, name VARCHAR, status VARCHAR, score DOUBLE, asked BOOLEAN)',
  )
  await connection.run(
    'CREATE TABLE waited (file INTEGER, run VARCHAR, step BIGINT, arrived DOUBLE, ended DOUBLE, spent JSON)',
  )
  await connection.run(
    'CREATE TABLE origin (file INTEGER, n BIGINT, first VARCHAR, last VARCHAR, runs VARCHAR[], rewards JSON)',
  )
  for (const [file, path] of files.entries()) {
    await checkReadable(path)
    await loadFile(connection, file, path, solvedAt, kept).catch(async (cause) => {
      // DuckDB counts lines wrongly.
      const line = path.endsWith('.parquet') ? null : await firstBrokenLine(path)
      if (line !== null)
        throw new GatewayError('RG_INPUT_INVALID', `${path}: line ${line} is not JSON`, { cause })
      throw unreadable(path, cause)
    })
  }
}

async function loadFile(
  connection: DuckDBConnection,
  file: number,
  path: string,
  solvedAt: number,
  kept: keyof typeof texts,
): Promise<void> {
  await connection.run(
    `CREATE TEMP TABLE raw AS SELECT row_number() OVER () - 1 AS place, * FROM ${await sourceOf(connection, path)}`,
  )
  const [[rows = 0n, unlike = 0n] = []] = (
    await connection.runAndReadAll('SELECT count(*), count_if(valid IS NULL OR terms IS NULL) FROM raw')
  ).getRows()
  if (Number(rows) === 0) throw new Error('it has no rows')
  if (Number(unlike) > 0) {
    throw new Error(`${unlike} rows are neither results of 'reward-gateway score' nor records of a gateway`)
  }
  // Other programs may write NaN for a missing reward.
  await connection.run(
    `UPDATE raw SET reward = NULL, valid = false, failure = '{"kind": "not_finite"}'::JSON
    WHERE valid AND (reward IS NULL OR NOT isfinite(reward))`,
  )
  await connection.run(
    `INSERT INTO scored SELECT $1, place, coalesce(sample->>'id', id), reward, valid, failure->>'kind',
      coalesce(sample->>'data_source', ''), coalesce(sample->>'group_id', sample->>'group', ${promptKey}),
      coalesce((sample->>'response_length')::BIGINT, (sample->'response'->>'chars')::BIGINT, length(sample->>'response')), training_step,
      reward >= $2, ${status}, ${['turns', 'tool_calls', 'malformed_calls'].map(countOf).join(', ')}, left(${question}, 150), ${texts[kept]},
      ${rangeEnd(0)}, ${rangeEnd(1)}
    FROM raw`,
    [file, solvedAt],
  )
  await connection.run(
    `INSERT INTO term
      SELECT $1, place, position, name, value->>'status', CASE WHEN isfinite((value->>'score')::DOUBLE) THEN (value->>'score')::DOUBLE END,
        NOT coalesce(json_contains(value->'flags', '"refused"') OR json_contains(value->'flags', '"no_call"'), false) FROM (
        SELECT place, unnest(range(len(names))) AS position, unnest(names) AS name,
          unnest([json_extract(terms, '$."' || replace(n, '"', '\\"') || '"') FOR n IN names]) AS value
        FROM (SELECT place, terms, json_keys(terms) AS names FROM raw WHERE json_type(terms) = 'OBJECT')
        UNION ALL
        SELECT place, unnest(range(len(items))), unnest([item->>'name' FOR item IN items]), unnest(items)
        FROM (SELECT place, from_json(terms, '["JSON"]') AS items FROM raw WHERE json_type(terms) = 'ARRAY'))`,
    [file],
  )
  await connection.run(
    `INSERT INTO waited SELECT $1, run, training_step, began, began + list_sum(spells), spent FROM (
        SELECT run, training_step, spent, epoch_ms(TRY_CAST(arrived AS TIMESTAMP))::DOUBLE AS began,
          CAST(json_extract(spent, '$[*].ms') AS DOUBLE[]) AS spells
        FROM raw WHERE json_type(spent) = 'ARRAY' AND coalesce(failure->>'kind', '') <> 'cancelled')
      WHERE began IS NOT NULL AND len(spells) > 0`,
    [file],
  )
  await connection.run(
    `INSERT INTO origin SELECT $1, count(*), min(time), max(time), list_sort(list(DISTINCT run) FILTER (run <> '')),
      to_json(list_sort(list(DISTINCT {reward: config->>'reward', version: config->>'version', gateway: config->>'gateway'})
        FILTER (json_type(config) = 'OBJECT'))) FROM raw`,
    [file],
  )
  await connection.run('DROP TABLE raw')
}

async function sourceOf(connection: DuckDBConnection, path: string): Promise<string> {
  const file = filePath(path)
  if (path.endsWith('.parquet')) {
    const names = await rowsOf(
      connection,
      `SELECT column_name FROM (DESCRIBE SELECT * FROM read_parquet(${file}))`,
    )
    const hasConfig = names.some(({ column_name: name }) => name === 'config')
    return `(SELECT id, reward, valid, failure, terms, sample, NULL::BIGINT AS training_step, NULL::VARCHAR AS run,
      NULL::VARCHAR AS arrived, NULL::JSON AS spent, NULL::VARCHAR AS time, ${hasConfig ? 'config' : 'NULL::JSON AS config'}
      FROM read_parquet(${file}))`
  }
  const typed = Object.entries(columns).map(([name, type]) => `${name}: '${type}'`)
  return `read_json(${file}, format = 'newline_delimited', maximum_object_size = 67108864, columns = {${typed.join(', ')}})`
}

/** A row of a query's result, by column. */
export type Row = Readonly<Record<string, unknown>>

/** Runs a query. Dates and numbers that do not fit a double are returned as text. */
export const rowsOf = async (connection: DuckDBConnection, sql: string): Promise<readonly Row[]> =>
  (await connection.runAndReadAll(sql)).getRowObjectsJson()

/** The value if it is a finite number, otherwise null. */
export const finite = (value: unknown): number | null => (Number.isFinite(value) ? (value as number) : null)
