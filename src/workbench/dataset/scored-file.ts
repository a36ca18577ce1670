import { once } from 'node:events'
import { createReadStream, createWriteStream, existsSync, statSync } from 'node:fs'
import { readFile, rename, rm, writeFile } from 'node:fs/promises'
import { pipeline } from 'node:stream/promises'
import { createGzip } from 'node:zlib'
import { GatewayError } from '../../core/errors.ts'
import { wholeLines } from './lines.ts'
import { writeParquet } from './parquet.ts'
import { unwritable } from './unwritable.ts'

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
