import { once } from 'node:events'
import { createReadStream } from 'node:fs'
import { open, stat } from 'node:fs/promises'
import type { Readable } from 'node:stream'
import { createGunzip } from 'node:zlib'
import { arrayItems } from './json-array.ts'
import { checkReadable, unreadable } from './readable.ts'
import { type RawRow, type RowSource, rowOf } from './row-source.ts'

const longestLine = 64 * 1024 * 1024

/** Rows of a file with one JSON value a line, or one array (.json), gzip by the ending .gz; empty lines are no rows. */
export async function jsonLines(from: string | Readable): Promise<RowSource> {
  if (typeof from !== 'string')
    return { fraction: () => null, [Symbol.asyncIterator]: () => told(rowsOf(from), from, 'input') }
  await checkReadable(from)
  const file = createReadStream(from)
  await once(file, 'open').catch((cause) => {
    throw unreadable(from, cause)
  })
  const { size } = await stat(from)
  const isArray = from.endsWith('.json') && (await firstCharacter(from)) === '['
  return {
    fraction: () => (size === 0 ? 1 : file.bytesRead / size),
    [Symbol.asyncIterator]() {
      const text = from.endsWith('.gz') ? file.pipe(createGunzip()) : file
      return told(isArray ? arrayItems(text) : rowsOf(text), text, from)
    },
  }
}

/** Of the first 4 KiB, beside white space. */
async function firstCharacter(path: string): Promise<string> {
  const file = await open(path)
  try {
    const { buffer, bytesRead } = await file.read(Buffer.alloc(4096), 0, 4096, 0)
    return buffer.toString('utf8', 0, bytesRead).trimStart()[0] ?? ''
  } finally {
    await file.close()
  }
}

/** With what goes wrong told as a fault of the file. */
async function* told(
  rows: AsyncIterable<readonly RawRow[]>,
  stream: Readable,
  path: string,
): AsyncGenerator<readonly RawRow[]> {
  try {
    yield* rows
  } catch (cause) {
    throw unreadable(path, cause)
  } finally {
    stream.destroy()
  }
}

/** The rows that each piece of the stream completes. */
async function* rowsOf(stream: Readable): AsyncGenerator<readonly RawRow[]> {
  let rest = ''
  stream.setEncoding('utf8')
  for await (const piece of stream) {
    const lines = `${rest}${piece}`.split('\n')
    rest = lines.pop() ?? ''
    if (rest.length > longestLine) throw new Error('a line is longer than 64 MiB')
    yield lines.filter(isRow).map(rowOf)
  }
  if (isRow(rest)) yield [rowOf(rest)]
}

const isRow = (line: string): boolean => line.trim() !== ''
