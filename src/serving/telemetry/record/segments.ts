import { randomBytes } from 'node:crypto'
import { createReadStream } from 'node:fs'
import { type FileHandle, open, readdir, stat, unlink } from 'node:fs/promises'
import { join } from 'node:path'
import { createGunzip } from 'node:zlib'
import type { Clock } from '../../../core/clock.ts'
import { makeFolder } from '../../../core/make-folder.ts'
import { type RecordedRow, recordedRow } from './row.ts'

/** Where the record's files are, and how large they may grow. */
export interface SegmentLimits {
  readonly folder: string
  /** A file is closed when it exceeds this size or age. */
  readonly maxFileBytes: number
  readonly maxFileAgeMs: number
  /** Of all record files in the folder; the oldest are deleted. */
  readonly maxTotalBytes: number
}

const pattern = /^record-\d{8}T\d{9}Z-[0-9a-f]{8}-\d{6}\.jsonl\.gz$/

/** The record files of a folder, oldest first; empty if the folder does not exist. */
export async function recordFiles(folder: string): Promise<readonly string[]> {
  const names = await readdir(folder).catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return []
    throw error
  })
  return names
    .filter((name) => pattern.test(name))
    .sort()
    .map((name) => join(folder, name))
}

/** Appends to a sequence of files. Calls must not overlap. It stays usable after a call has rejected. */
export class Segments {
  readonly #limits: SegmentLimits
  readonly #clock: Clock
  readonly #writer = randomBytes(4).toString('hex')
  #file: { readonly handle: FileHandle; readonly path: string; readonly opened: number } | null = null
  #bytes = 0
  #opened = 0

  constructor(limits: SegmentLimits, clock: Clock) {
    this.#limits = limits
    this.#clock = clock
  }

  async append(bytes: Uint8Array): Promise<void> {
    try {
      const { maxFileBytes, maxFileAgeMs } = this.#limits
      const isFull = this.#bytes > 0 && this.#bytes + bytes.length > maxFileBytes
      const isOld = this.#file !== null && this.#clock.now() - this.#file.opened >= maxFileAgeMs
      if (isFull || isOld) await this.close()
      this.#file ??= await this.#next()
      await this.#file.handle.appendFile(bytes)
      this.#bytes += bytes.length
      await this.#makeRoom()
    } catch (error) {
      // A partial write ends this file; the next bytes go to a new one.
      await this.close().catch(() => {})
      throw error
    }
  }

  async close(): Promise<void> {
    const file = this.#file
    this.#file = null
    this.#bytes = 0
    await file?.handle.close()
  }

  async #next() {
    const { folder } = this.#limits
    await makeFolder(folder)
    const time = new Date().toISOString().replaceAll(/[-:.]/g, '')
    this.#opened += 1
    const name = `record-${time}-${this.#writer}-${String(this.#opened % 1_000_000).padStart(6, '0')}.jsonl.gz`
    const path = join(folder, name)
    return { handle: await open(path, 'a', 0o640), path, opened: this.#clock.now() }
  }

  async #makeRoom(): Promise<void> {
    const { folder, maxTotalBytes } = this.#limits
    const files = await Promise.all(
      (await recordFiles(folder)).map(async (path) => ({
        path,
        size: await stat(path).then(
          ({ size }) => size,
          () => 0,
        ),
      })),
    )
    let total = files.reduce((sum, { size }) => sum + size, 0)
    for (const { path, size } of files) {
      if (total <= maxTotalBytes) return
      if (path === this.#file?.path) continue
      // Another process that writes to this folder may have deleted it already.
      await unlink(path).catch(() => {})
      total -= size
    }
  }
}

/**
 * The recorded row with this id, or all rows of the request with this id. Searches the newest files first and stops at
 * the first file with a match. Rejects if the folder cannot be read.
 */
export async function findRecords(folder: string, id: string): Promise<readonly RecordedRow[]> {
  const name = JSON.stringify(id).slice(0, -1)
  const [one, request] = [`{"id":${name}",`, `{"id":${name}:`]
  for (const file of (await recordFiles(folder)).toReversed()) {
    const rows: RecordedRow[] = []
    for await (const line of linesOf(file)) {
      if (line.startsWith(one) || (line.startsWith(request) && /^\d+"/.test(line.slice(request.length)))) {
        rows.push(recordedRow.parse(JSON.parse(line)))
      }
    }
    if (rows.length > 0) return rows
  }
  return []
}

/** The lines of a record file. A truncated or corrupt file yields the lines before the damage. */
export async function* linesOf(file: string): AsyncGenerator<string> {
  const source = createReadStream(file)
  const unpacked = createGunzip()
  source.on('error', (error) => unpacked.destroy(error))
  source.pipe(unpacked).setEncoding('utf8')
  // A line may have megabytes: joining it anew with each piece would take the square of its length.
  let pieces: string[] = []
  try {
    for await (const chunk of unpacked) {
      const [first = '', ...lines] = (chunk as string).split('\n')
      pieces.push(first)
      if (lines.length === 0) continue
      yield pieces.join('')
      pieces = [lines.pop() ?? '']
      yield* lines
    }
  } catch (error) {
    if (!/^Z_/.test((error as NodeJS.ErrnoException).code ?? '')) throw error
  } finally {
    source.destroy()
  }
}
