import { hash } from 'node:crypto'
import { once } from 'node:events'
import { createReadStream, createWriteStream, existsSync, statSync } from 'node:fs'
import { readFile, rename, rm, writeFile } from 'node:fs/promises'
import { pipeline } from 'node:stream/promises'
import { createGzip } from 'node:zlib'
import { GatewayError } from '../../core/errors.ts'
import type { Sample, Unreadable } from '../../core/sample/sample.ts'
import { unwritable, wholeLines } from './files.ts'
import { writeParquet } from './parquet.ts'
import { eachRow } from './row.ts'
import { openRows } from './rows.ts'

/** Which run wrote an unfinished file (reward, version, input, ...): one that differs may not go on with it. */
type RunOfFile = Readonly<Record<string, string>>

/** Results on their way to a file. Until `finish` they stand in `<path>.partial.jsonl`, whole lines at every moment. */
export interface ScoredFile {
  /** Lines that an earlier run left: rows of the input that are done. */
  readonly done: number
  /** Where the lines stand until `finish`; null: they go out at once. */
  readonly partial: string | null
  /** Whole lines. */
  write(lines: string): Promise<void>
  /** Puts the file in its place, in the form of its ending. */
  finish(): Promise<void>
  /** Leaves the lines for `--resume`; resolves with where they lie, null where nothing can go on. */
  leave(): Promise<string | null>
}

/** Columns of a Parquet file of results. */
const columns = {
  id: 'VARCHAR',
  reward: 'DOUBLE',
  valid: 'BOOLEAN',
  failure: 'JSON',
  substitute: 'DOUBLE',
  terms: 'JSON',
  metrics: 'MAP(VARCHAR, DOUBLE)',
  flags: 'VARCHAR[]',
  sample: 'JSON',
}

/** Throws RG_INPUT_INVALID where an unfinished file is in the way, or is not there or of another run to go on with. */
export async function openScoredFile(path: string, run: RunOfFile, resume: boolean): Promise<ScoredFile> {
  const partial = `${path}.partial.jsonl`
  const runFile = `${path}.partial.json`
  const isThere = existsSync(partial)
  if (isThere && !resume) {
    throw new GatewayError(
      'RG_INPUT_INVALID',
      `${partial} is left of an unfinished run: --resume goes on with it; delete it to begin anew`,
    )
  }
  if (isThere) await checkRun(runFile, run)
  else await writeFile(runFile, JSON.stringify(run)).catch(unwritable)
  const done = isThere ? await wholeLines(partial) : 0
  const stream = createWriteStream(partial, { flags: 'a' })
  await once(stream, 'open').catch(unwritable)
  // A disk that is full is told of by the next write, or by the end.
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

/** True for a place that only takes what is written: a pipe, a terminal, /dev/null. */
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
    `the unfinished run had ${other} ${before[other] ?? 'unknown'}, this one has ${run[other]}; one file holds the results of one run`,
  )
}

/** Results on their way to a stream that only takes what is written; null: `stdout`, which stays open. */
export function plainOutput(path: string | null, stdout: NodeJS.WritableStream): ScoredFile {
  const own = path === null ? null : createWriteStream(path)
  // A write that fails is told by the next one, or by the end.
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

/** The results of a finished file, which is gone over again, in their order. */
interface EarlierResults {
  /** The next so many; throws RG_INPUT_INVALID where their ids are others. */
  next(ids: readonly string[]): Promise<readonly unknown[]>
}

/** Opens a file of results. Throws RG_INPUT_INVALID where it cannot be read. */
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
            `${path} has ${had === undefined ? 'no row' : `the row '${had}'`} where '${id}' belongs: it holds no results of these rows`,
          )
        }
        results.push(value)
      }
      return results
    },
  }
}

/** What of the sample stands beside its result: nothing, what analysis groups by, or all of it. */
export const keeps = ['none', 'facts', 'all'] as const
/** One of them. */
export type Keep = (typeof keeps)[number]

/**
 * A result's `sample`; absent with `none` and for a row that could not be read. Lengths in UTF-16 units. A row that names
 * no group is told by its prompt's hash from those with another prompt.
 */
export function keptOf(keep: Keep, row: Sample | Unreadable): { readonly sample?: object } {
  if (keep === 'none' || 'failure' in row) return {}
  const facts = {
    data_source: row.dataSource ?? null,
    group_id: row.group?.id ?? promptKey(row.prompt),
    response_length: row.response.length,
  }
  if (keep === 'facts') return { sample: facts }
  const { prompt, response, groundTruth, extraInfo } = row
  return { sample: { ...facts, prompt, response, ground_truth: groundTruth, extra_info: extraInfo } }
}

const promptKey = (prompt: Sample['prompt']): string | null =>
  prompt.length === 0 ? null : `prompt:${hash('sha256', JSON.stringify(prompt)).slice(0, 16)}`
