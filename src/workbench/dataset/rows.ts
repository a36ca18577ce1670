import { once } from 'node:events'
import { createReadStream } from 'node:fs'
import { open, stat } from 'node:fs/promises'
import { createInterface } from 'node:readline'
import type { Readable } from 'node:stream'
import { createGunzip } from 'node:zlib'
import { checkReadable, unreadable } from './files.ts'
import { parquetRows } from './parquet.ts'
import { type RawRow, type RowSource, rowOf } from './row.ts'

/**
 * Opens a file by its ending: `.parquet`, `.gz` (JSON lines), `.json` (lines or one array), otherwise JSON
 * lines. `-` reads `stdin`. Throws RG_INPUT_INVALID.
 */
export function openRows(path: string, stdin: NodeJS.ReadableStream): Promise<RowSource> {
  if (path === '-') return jsonLines(stdin as Readable)
  return path.endsWith('.parquet') ? parquetRows(path) : jsonLines(path)
}

const longestLine = 64 * 1024 * 1024

/**
 * Reads a file with one JSON value a line or, in `.json`, one array. Files that end in `.gz` are
 * decompressed. Empty lines are skipped.
 */
export async function jsonLines(from: string | Readable): Promise<RowSource> {
  if (typeof from !== 'string')
    return {
      fraction: () => null,
      [Symbol.asyncIterator]: () => told(rowsOf(from.setEncoding('utf8')), from, 'input'),
    }
  await checkReadable(from)
  const file = createReadStream(from)
  await once(file, 'open').catch((cause) => {
    throw unreadable(from, cause)
  })
  const { size } = await stat(from)
  const isArray = from.endsWith('.json') && (await firstCharacter(from)) === '['
  let consumed = 0
  return {
    fraction: () => (size === 0 ? 1 : consumed / size),
    [Symbol.asyncIterator]() {
      const gunzip = from.endsWith('.gz') ? createGunzip() : null
      const text = gunzip ? file.pipe(gunzip) : file
      const pieces = watched(text, (piece) => {
        consumed = gunzip?.bytesWritten ?? consumed + Buffer.byteLength(piece)
      })
      return told(isArray ? arrayItems(pieces) : rowsOf(pieces), text, from)
    },
  }
}

/** The pieces of a text; `see` is called with each before it is used. */
async function* watched(stream: Readable, see: (piece: string) => void): AsyncGenerator<string> {
  stream.setEncoding('utf8')
  for await (const piece of stream) {
    see(piece)
    yield piece
  }
}

/** The first character of the file's first 4 KiB that is not white space. */
async function firstCharacter(path: string): Promise<string> {
  const file = await open(path)
  try {
    const { buffer, bytesRead } = await file.read(Buffer.alloc(4096), 0, 4096, 0)
    return buffer.toString('utf8', 0, bytesRead).trimStart()[0] ?? ''
  } finally {
    await file.close()
  }
}

/** Turns read errors into RG_INPUT_INVALID with the file's path. */
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

/** Yields the rows that each piece of the text completes. */
async function* rowsOf(pieces: AsyncIterable<string>): AsyncGenerator<readonly RawRow[]> {
  let rest = ''
  for await (const piece of pieces) {
    const lines = `${rest}${piece}`.split('\n')
    rest = lines.pop() ?? ''
    if (rest.length > longestLine) throw new Error('a line is longer than 64 MiB')
    yield lines.filter(isRow).map(rowOf)
  }
  if (isRow(rest)) yield [rowOf(rest)]
}

const isRow = (line: string): boolean => line.trim() !== ''

const longestItem = 64 * 1024 * 1024

/**
 * Yields the items of one JSON array while it is read. Throws Error if the array does not end or an item is
 * too long.
 */
export async function* arrayItems(pieces: AsyncIterable<string>): AsyncGenerator<readonly RawRow[]> {
  const cut = new ItemCutter()
  for await (const piece of pieces) {
    const items = cut.add(piece)
    if (items.length > 0) yield items.map(rowOf)
  }
  if (!cut.isAtEnd) throw new Error('the array does not end')
}

class ItemCutter {
  #rest = ''
  #at = 0
  #depth = 0
  #isInText = false

  get isAtEnd(): boolean {
    return this.#depth === 0
  }

  /** Returns the items that this chunk completes. */
  add(piece: string): readonly string[] {
    const text = this.#rest + piece
    const items: string[] = []
    let start = 0
    const end = (at: number) => {
      const item = text.slice(start, at).trim()
      if (item !== '') items.push(item)
      start = at + 1
    }
    let at = this.#at
    for (; at < text.length; at++) {
      const character = text[at]
      if (this.#isInText) {
        if (character === '\\') at++
        else if (character === '"') this.#isInText = false
      } else if (character === '"') this.#isInText = true
      else if (character === '[' || character === '{') {
        if (this.#depth++ === 0) start = at + 1
      } else if (character === ']' || character === '}') {
        if (--this.#depth === 0) end(at)
      } else if (character === ',' && this.#depth === 1) end(at)
    }
    this.#rest = text.slice(start)
    // If the chunk ends with a backslash, the first character of the next chunk is skipped.
    this.#at = at - start
    if (this.#rest.length > longestItem) throw new Error('an item is longer than 64 MiB')
    return items
  }
}

/**
 * The number of the first line that is not JSON, from 1. null if there is none or the file cannot be read.
 */
export async function firstBrokenLine(path: string): Promise<number | null> {
  const file = createReadStream(path)
  const input = path.endsWith('.gz') ? file.pipe(createGunzip()) : file
  let count = 0
  try {
    for await (const line of createInterface({ input })) {
      count++
      if (line.trim() !== '' && rowOf(line).value === undefined) return count
    }
    return null
  } catch {
    return null
  } finally {
    file.destroy()
  }
}
