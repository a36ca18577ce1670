import { createReadStream } from 'node:fs'
import type { Readable } from 'node:stream'
import { createGunzip } from 'node:zlib'
import { GatewayError } from '../../core/errors.ts'
import { unreadable } from '../dataset/files.ts'
import { metricsOfRun, type NamedMetrics, readTrainingLogPieces, type Series } from './training-log.ts'
import { type TrainingSummary, trainingSummary } from './training-summary.ts'

/** A training log and its summary. */
export interface TrainingRun extends NamedMetrics {
  readonly file: string
  readonly summary: TrainingSummary
  /** In log order. */
  readonly validations: Series
}

/** Streams a log (also `.gz`). Throws RG_INPUT_INVALID if it cannot be read or has no metrics. */
export async function readTrainingRun(file: string): Promise<TrainingRun> {
  const named = await readTrainingLogPieces(textOf(file))
    .then(metricsOfRun)
    .catch((cause: unknown) => {
      throw unreadable(file, cause)
    })
  if (Object.keys(named.names).length === 0) {
    throw new GatewayError('RG_INPUT_INVALID', `${file}: no line has a step and a metric of verl`)
  }
  return {
    file,
    ...named,
    summary: trainingSummary(named.metrics),
    validations: named.metrics.test_score ?? [],
  }
}

/**
 * Detects a training log by its first non-empty line. Rows are JSON objects; a log's objects have `step` and
 * `data`. False for Parquet files and unreadable files.
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
    // A console log starts with a Python dictionary in single quotes. A row that is cut still starts with
    // `{"`.
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

/** Like `pipe`, but forwards read errors. */
function pipe(from: Readable, to: ReturnType<typeof createGunzip>): Readable {
  from.on('error', (error) => to.destroy(error))
  return from.pipe(to)
}
