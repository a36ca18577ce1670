import { once } from 'node:events'
import { createReadStream } from 'node:fs'
import { stat } from 'node:fs/promises'
import type { Readable } from 'node:stream'
import { createGunzip } from 'node:zlib'
import { GatewayError } from '../errors.ts'
import { parseJsonText } from '../wire/json-text.ts'
import type { RawRow, RowSource } from './row-source.ts'

const longestLine = 64 * 1024 * 1024

/** Rows of a file or stream with one JSON value a line, gzip by the ending .gz; empty lines are no rows. */
export async function jsonLines(from: string | Readable): Promise<RowSource> {
  if (typeof from !== 'string')
    return { fraction: () => null, [Symbol.asyncIterator]: () => rowsOf(from, 'input') }
  const file = createReadStream(from)
  await once(file, 'open').catch((cause) => {
    throw new GatewayError('RG_INPUT_INVALID', `${from}: ${cause.message}`, { cause })
  })
  const { size } = await stat(from)
  return {
    fraction: () => (size === 0 ? 1 : file.bytesRead / size),
    [Symbol.asyncIterator]: () => rowsOf(from.endsWith('.gz') ? file.pipe(createGunzip()) : file, from),
  }
}

/** The rows that each piece of the stream completes. */
async function* rowsOf(stream: Readable, path: string): AsyncGenerator<readonly RawRow[]> {
  let rest = ''
  stream.setEncoding('utf8')
  try {
    for await (const piece of stream) {
      const lines = `${rest}${piece}`.split('\n')
      rest = lines.pop() ?? ''
      if (rest.length > longestLine) throw new Error('a line is longer than 64 MiB')
      yield lines.filter(isRow).map(rowOf)
    }
  } catch (cause) {
    const message = cause instanceof Error ? cause.message : String(cause)
    throw new GatewayError('RG_INPUT_INVALID', `${path}: ${message}`, { cause })
  } finally {
    stream.destroy()
  }
  if (isRow(rest)) yield [rowOf(rest)]
}

const isRow = (line: string): boolean => line.trim() !== ''

function rowOf(line: string): RawRow {
  try {
    return parseJsonText(line)
  } catch {
    return { value: undefined, oddities: [] }
  }
}
