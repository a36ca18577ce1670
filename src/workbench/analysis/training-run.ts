import { createReadStream } from 'node:fs'
import type { Readable } from 'node:stream'
import { createGunzip } from 'node:zlib'
import { GatewayError } from '../../core/errors.ts'
import { unreadable } from '../dataset/files.ts'
import { metricsOfRun, type NamedMetrics, readTrainingLogPieces, type Series } from './training-log.ts'
import { type TrainingSummary, trainingSummary } from './training-summary.ts'

/** One trainer's log, understood. */
export interface TrainingRun extends NamedMetrics {
  readonly file: string
  readonly summary: TrainingSummary
  /** In the order of the log. */
  readonly validations: Series
}

/** Reads a log (.gz too) piece by piece; throws RG_INPUT_INVALID where it cannot be read or holds no metric. */
export async function readTrainingRun(file: string): Promise<TrainingRun> {
  const named = await readTrainingLogPieces(textOf(file))
    .then(metricsOfRun)
    .catch((cause: unknown) => {
      throw unreadable(file, cause)
    })
  if (Object.keys(named.names).length === 0) {
    throw new GatewayError('RG_INPUT_INVALID', `${file}: no line holds a step and a metric of verl's`)
  }
  return {
    file,
    ...named,
    summary: trainingSummary(named.metrics),
    validations: named.metrics.test_score ?? [],
  }
}

/**
 * Whether a file is a training log rather than scored rows, by its first line that is not blank: a row is a JSON object,
 * and one with `step` and `data` is a line of a log. Parquet and what cannot be read are none.
 */
export async function isTrainingLog(file: string): Promise<boolean> {
  if (file.endsWith('.parquet')) return false
  try {
    let start = ''
    for await (const piece of textOf(file)) {
      start = start === '' ? piece.trimStart() : start + piece
      if (start.includes('\n') || start.length > longestStart) break
    }
    return start !== '' && looksLikeLog(start.split('\n', 1)[0] ?? '')
  } catch {
    return false
  }
}

const longestStart = 1_000_000

function looksLikeLog(line: string): boolean {
  try {
    const row: unknown = JSON.parse(line.replace(/\b(?:NaN|-?Infinity)\b/g, 'null'))
    if (row === null || typeof row !== 'object') return true
    return Object.hasOwn(row, 'step') && Object.hasOwn(row, 'data')
  } catch {
    // A console log begins with a config as Python prints it, in single quotes; a row that is cut begins like one.
    return !line.startsWith('{"')
  }
}

async function* textOf(file: string): AsyncGenerator<string> {
  const bytes = createReadStream(file)
  const stream: Readable = file.endsWith('.gz') ? pipe(bytes, createGunzip()) : bytes
  stream.setEncoding('utf8')
  try {
    yield* stream
  } finally {
    bytes.destroy()
    stream.destroy()
  }
}

/** As `pipe`, but a file that cannot be read is an error of what is read. */
function pipe(from: Readable, to: ReturnType<typeof createGunzip>): Readable {
  from.on('error', (error) => to.destroy(error))
  return from.pipe(to)
}
