import { hash } from 'node:crypto'
import { once } from 'node:events'
import { createReadStream, createWriteStream, existsSync, statSync } from 'node:fs'
import { readFile, rename, rm, writeFile } from 'node:fs/promises'
import { pipeline } from 'node:stream/promises'
import { createGzip } from 'node:zlib'
import { GatewayError } from '../../core/errors.ts'
import type { Sample, Unreadable } from '../../core/sample/sample.ts'
import { chatMessage, rolloutCounts } from '../../trainers/chat/rollout.ts'
import { unwritable, wholeLines } from './files.ts'
import { writeParquet } from './parquet.ts'
import { eachRow } from './row.ts'
import { openRows } from './rows.ts'

/**
 * Identifies the run that wrote an unfinished file (reward, version, input, ...). Only the same run may
 * resume it.
 */
type RunOfFile = Readonly<Record<string, string>>

/** Receives results. Until `finish`, `<path>.partial.jsonl` holds them as complete lines. */
export interface ScoredFile {
  /** The number of lines from an earlier run, which are rows that need no scoring. */
  readonly done: number
  /** The path of the unfinished file. null if lines are written to a stream. */
  readonly partial: string | null
  /** Takes complete lines. */
  write(lines: string): Promise<void>
  /** Moves the file to its final path, in the format of its ending. */
  finish(): Promise<void>
  /** Keeps the lines for `--resume` and resolves with their path. null if they cannot be resumed. */
  leave(): Promise<string | null>
}

/** The columns of a results file in Parquet format. */
const columns = {
  id: 'VARCHAR',
  reward: 'DOUBLE',
  valid: 'BOOLEAN',
  failure: 'JSON',
  substitute: 'DOUBLE',
  terms: 'JSON',
  metrics: 'MAP(VARCHAR, DOUBLE)',
  flags: 'VARCHAR[]',
  steps: 'JSON',
  config: 'JSON',
  sample: 'JSON',
}

/** Throws RG_INPUT_INVALID if an unfinished file exists without `resume`, or belongs to another run. */
export async function openScoredFile(path: string, run: RunOfFile, resume: boolean): Promise<ScoredFile> {
  const partial = `${path}.partial.jsonl`
  const runFile = `${path}.partial.json`
  const isThere = existsSync(partial)
  if (isThere && !resume) {
    throw new GatewayError(
      'RG_INPUT_INVALID',
      `${partial} is left from an unfinished run: continue with --resume, or delete it to start again`,
    )
  }
  if (isThere) await checkRun(runFile, run)
  else await writeFile(runFile, JSON.stringify(run)).catch(unwritable)
  const done = isThere ? await wholeLines(partial) : 0
  const stream = createWriteStream(partial, { flags: 'a' })
  await once(stream, 'open').catch(unwritable)
  // The next write or `finish` reports a full disk.
  stream.on('error', () => {})
  const end = async () => {
    stream.end()
    if (!stream.closed) await once(stream, 'close').catch(() => {})
  }
  return {
    done,
    partial,
    async write(lines) {
      if (!stream.errored && !stream.write(lines)) await once(stream, 'drain').catch(unwritable)
      if (stream.errored) unwritable(stream.errored)
    },
    async finish() {
      await end()
      if (stream.errored) unwritable(stream.errored)
      await convert(partial, path).catch(unwritable)
      await rm(runFile, { force: true })
    },
    async leave() {
      await end()
      return partial
    },
  }
}

/** True for a pipe, a terminal or /dev/null, which cannot be resumed. */
export const isStream = (path: string): boolean =>
  path === '-' || (existsSync(path) && !statSync(path).isFile())

async function convert(partial: string, path: string): Promise<void> {
  if (!path.endsWith('.parquet') && !path.endsWith('.gz')) return rename(partial, path)
  const whole = `${path}.partial`
  if (path.endsWith('.gz')) {
    await pipeline(createReadStream(partial), createGzip({ level: 4 }), createWriteStream(whole))
  } else {
    await writeParquet(partial, whole, columns)
  }
  await rename(whole, path)
  await rm(partial)
}

async function checkRun(runFile: string, run: RunOfFile): Promise<void> {
  const text = await readFile(runFile, 'utf8').catch(() => '{}')
  const before = JSON.parse(text || '{}') as RunOfFile
  const other = Object.keys(run).find((key) => before[key] !== run[key])
  if (other === undefined) return
  throw new GatewayError(
    'RG_INPUT_INVALID',
    `the unfinished run had ${other} ${before[other] ?? 'unknown'}, this one has ${run[other]}; a file can only hold the results of one run`,
  )
}

/** Writes results to a stream. A null path stands for `stdout`, which stays open. */
export function plainOutput(path: string | null, stdout: NodeJS.WritableStream): ScoredFile {
  const own = path === null ? null : createWriteStream(path)
  // The next write or `finish` reports a failed write.
  own?.on('error', () => {})
  const target = own ?? stdout
  const check = () => {
    if (own?.errored) unwritable(own.errored)
  }
  const end = async () => {
    if (own === null) return
    own.end()
    if (!own.closed) await once(own, 'close').catch(() => {})
  }
  return {
    done: 0,
    partial: null,
    async write(lines) {
      check()
      if (lines && !target.write(lines)) await once(target, 'drain').catch(unwritable)
    },
    async finish() {
      await end()
      check()
    },
    async leave() {
      await end()
      return null
    },
  }
}

/** Reads a finished results file in order, for `--failed-only`. */
interface EarlierResults {
  /** The next results. Throws RG_INPUT_INVALID if their ids differ from `ids`. */
  next(ids: readonly string[]): Promise<readonly unknown[]>
}

/** Opens a results file. Throws RG_INPUT_INVALID if it cannot be read. */
export async function earlierResults(path: string, stdin: NodeJS.ReadableStream): Promise<EarlierResults> {
  const rows = eachRow(await openRows(path, stdin))
  return {
    async next(ids) {
      const results: unknown[] = []
      for (const id of ids) {
        const { value } = (await rows.next()).value ?? {}
        const had = (value as { readonly id?: unknown } | undefined)?.id
        if (had !== id) {
          throw new GatewayError(
            'RG_INPUT_INVALID',
            `${path} has ${had === undefined ? 'no row' : `the row '${had}'`} where '${id}' was expected: it does not hold the results of these rows`,
          )
        }
        results.push(value)
      }
      return results
    },
  }
}

/**
 * How much of the sample a result line keeps: nothing, the fields that the analysis groups by, or everything.
 */
export const keeps = ['none', 'facts', 'all'] as const
export type Keep = (typeof keeps)[number]

/**
 * A result's `sample`. Empty for `none` and for an unreadable row. Lengths are UTF-16 units. A row without a
 * group gets a hash of its prompt as its group id.
 */
export function keptSample(keep: Keep, row: Sample | Unreadable): { readonly sample?: object } {
  if (keep === 'none' || 'failure' in row) return {}
  const { prompt, response, turns, status, groundTruth, extraInfo } = row
  const facts = {
    data_source: row.dataSource ?? null,
    group_id: row.group?.id ?? promptKey(prompt),
    response_length: response.length,
    ...(status && { status }),
    ...(turns && { counts: rolloutCounts(turns) }),
  }
  if (keep === 'facts') return { sample: facts }
  return {
    sample: {
      ...facts,
      prompt: typeof prompt === 'string' ? prompt : prompt.map(chatMessage),
      response,
      ...(turns && { turns: turns.map(chatMessage) }),
      ground_truth: groundTruth,
      extra_info: extraInfo,
    },
  }
}

const promptKey = (prompt: Sample['prompt']): string | null =>
  prompt.length === 0 ? null : `prompt:${hash('sha256', JSON.stringify(prompt)).slice(0, 16)}`
