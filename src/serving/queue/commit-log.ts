/**
 * The log of one run: files to which records are appended. Records that come within some milliseconds share one write and
 * one fdatasync (group commit), and `add` resolves after that. A file is never appended to by a second process: each opening of a
 * run begins a new file.
 */
import { constants } from 'node:fs'
import { type FileHandle, open, readdir, unlink } from 'node:fs/promises'
import { join } from 'node:path'
import type { Clock } from '../../core/clock.ts'
import { encodeFrame } from './frame.ts'
import type { OpenFiles } from './open-files.ts'

/** Where a record is. */
export interface Place {
  readonly segment: number
  readonly at: number
  readonly length: number
}

export interface LogRecord {
  readonly head: Readonly<Record<string, unknown>>
  readonly body: Uint8Array
}

/** A record to write. */
interface Waiting extends LogRecord {
  /** A record that must be written is tried again after a failure; any other is given up then. */
  readonly isKept: boolean
  /** Asked just before the record is written. */
  readonly isStale: (() => boolean) | undefined
  /** The next record is written with the same commit. */
  readonly hasNext: boolean
  readonly resolve: (place: Place | null) => void
  readonly reject: (error: unknown) => void
}

/** The file that is written to. `number`: of its first record. */
interface LogFile {
  /** null while it is closed because others were used later. */
  handle: FileHandle | null
  readonly segment: number
  readonly number: number
}

/** Settings of a log, and the parts that tests replace. */
export interface LogOptions {
  readonly folder: string
  readonly clock: Clock
  /** How long the first record waits for others. */
  readonly commitMs: number
  /** A file that is larger is followed by the next. */
  readonly segmentBytes: number
  /** The head of each file's first record. */
  readonly opening: () => Readonly<Record<string, unknown>>
  /** Called after each commit with the error, or null. */
  readonly committed?: ((error: unknown, bytes: number, ms: number) => void) | undefined
  /** Bounds the files that all logs hold open; absent: nobody does. */
  readonly files?: OpenFiles | undefined
  /** Called when the files have become larger or, with a negative number, smaller. */
  readonly sized?: ((bytes: number) => void) | undefined
  readonly openFile?: typeof open
}

/** A failed commit is tried again after this time, if it has records that must be written. */
const retryMs = 1000
/** What one commit writes, so that it does not block the event loop; the rest follows at once. Records that belong together may be more. */
const commitRecords = 1024
const commitBytes = 4 * 1024 * 1024
const writeFlags = constants.O_CREAT | constants.O_EXCL | constants.O_WRONLY

export const segmentName = (segment: number): string => `${String(segment).padStart(10, '0')}.log`

/** The numbers of the segments in a folder, in order. */
export async function segmentsOf(folder: string): Promise<readonly number[]> {
  return (await readdir(folder))
    .filter((name) => /^\d{10}\.log$/.test(name))
    .map((name) => Number(name.slice(0, 10)))
    .sort((one, other) => one - other)
}

/** Makes new and removed names of a folder durable. */
export async function syncFolder(folder: string): Promise<void> {
  const handle = await open(folder, 'r')
  try {
    await handle.sync()
  } finally {
    await handle.close()
  }
}

/** Appends records to the files of a folder, which must exist. */
export class CommitLog {
  readonly #options: LogOptions
  readonly #sizes = new Map<number, number>()
  #bytes = 0
  #next: number
  #number: number
  #file: LogFile | null = null
  #waiting: Waiting[] = []
  #cancelTimer: (() => void) | null = null
  #writing: Promise<void> | null = null
  #isClosed = false

  /** `sizes`: the bytes of the segments that exist; `number`: of the next record. */
  constructor(options: LogOptions, sizes: ReadonlyMap<number, number>, number: number) {
    this.#options = options
    for (const [segment, bytes] of sizes) this.#setSize(segment, bytes)
    this.#next = Math.max(0, ...sizes.keys()) + 1
    this.#number = number
  }

  /** Bytes of all files. */
  get bytes(): number {
    return this.#bytes
  }

  /** Finished files with their bytes, oldest first. */
  get sealed(): readonly (readonly [segment: number, bytes: number])[] {
    return [...this.#sizes].filter(([segment]) => segment !== this.#file?.segment)
  }

  /** The file that is written to, with its bytes; null: the next record begins one. */
  get open(): readonly [segment: number, bytes: number] | null {
    const segment = this.#file?.segment
    return segment === undefined ? null : [segment, this.#sizes.get(segment) ?? 0]
  }

  /**
   * Resolves to the record's place once it is on disk, or to null if it was stale before it was written. Rejects if it cannot be written.
   * A kept record never rejects before the log is closed.
   */
  add(
    head: LogRecord['head'],
    body: Uint8Array,
    { isKept = false, isStale }: { readonly isKept?: boolean; readonly isStale?: () => boolean } = {},
  ): Promise<Place | null> {
    return this.#add(head, body, isKept, isStale, false)
  }

  /** The same for kept records that are written with one commit, one after another. */
  addTogether(records: readonly LogRecord[]): Promise<readonly Place[]> {
    const last = records.length - 1
    const added = records.map(({ head, body }, at) => this.#add(head, body, true, undefined, at < last))
    return Promise.all(added) as Promise<readonly Place[]>
  }

  #add(
    head: LogRecord['head'],
    body: Uint8Array,
    isKept: boolean,
    isStale: (() => boolean) | undefined,
    hasNext: boolean,
  ): Promise<Place | null> {
    if (this.#isClosed) return Promise.reject(new Error('the log is closed'))
    return new Promise((resolve, reject) => {
      this.#waiting.push({ head, body, isKept, isStale, hasNext, resolve, reject })
      if (this.#writing === null) this.#schedule(this.#options.commitMs)
    })
  }

  /** Writes what waits, then closes the file. What cannot be written is rejected. */
  async close(): Promise<void> {
    this.#isClosed = true
    this.#cancelTimer?.()
    this.#cancelTimer = null
    await this.#writing
    while (this.#waiting.length > 0 && (await this.#write()));
    for (const { reject } of this.#waiting.splice(0)) reject(new Error('the log is closed'))
    await this.#endFile()
  }

  /** Ends the current file, so that it can be removed later. */
  async seal(): Promise<void> {
    await this.#writing
    await this.#endFile()
  }

  /** Removes a finished file. */
  async remove(segment: number): Promise<void> {
    if (segment === this.#file?.segment) throw new Error('a file that is written to is not removed')
    await unlink(join(this.#options.folder, segmentName(segment)))
    this.#setSize(segment, null)
    await syncFolder(this.#options.folder)
  }

  /** More waits than one commit takes. */
  get #isBehind(): boolean {
    return this.#waiting.length >= commitRecords
  }

  #schedule(ms: number): void {
    const { commitMs } = this.#options
    this.#cancelTimer ??= this.#options.clock.after(ms, () => {
      this.#cancelTimer = null
      this.#writing ??= this.#write().then(() => {
        this.#writing = null
        if (this.#waiting.length > 0 && !this.#isClosed) this.#schedule(this.#isBehind ? 0 : commitMs)
      })
    })
  }

  /** One commit. Returns whether it succeeded; never rejects. */
  async #write(): Promise<boolean> {
    const { clock, committed } = this.#options
    const taken: Waiting[] = []
    let bytes = 0
    let count = 0
    let isInside = false
    while (
      count < this.#waiting.length &&
      (isInside || (taken.length < commitRecords && bytes < commitBytes))
    ) {
      const one = this.#waiting[count++] as Waiting
      isInside = one.hasNext
      if (one.isStale?.()) one.resolve(null)
      else {
        taken.push(one)
        bytes += one.body.length
      }
    }
    this.#waiting.splice(0, count)
    if (taken.length === 0) return true
    const began = clock.now()
    try {
      const { file, handle } = await this.#current()
      const first = this.#number
      const pieces: Uint8Array[] = []
      const places: Place[] = []
      const from = this.#sizes.get(file.segment) ?? 0
      let at = from
      for (const [index, { head, body }] of taken.entries()) {
        const [start, rest] = encodeFrame({ ...head, n: first + index }, body)
        const length = start.length + rest.length
        places.push({ segment: file.segment, at, length })
        pieces.push(start)
        if (rest.length > 0) pieces.push(rest)
        at += length
      }
      await writeAll(handle, pieces, from)
      await handle.datasync()
      this.#number = first + taken.length
      this.#setSize(file.segment, at)
      if (at >= this.#options.segmentBytes) await this.#endFile()
      committed?.(null, at - from, clock.now() - began)
      for (const [index, { resolve }] of taken.entries()) resolve(places[index] as Place)
      return true
    } catch (error) {
      // After a failed fdatasync nobody knows which bytes are on disk: nothing more is written to this file.
      await this.#abandon()
      committed?.(error, 0, clock.now() - began)
      const kept = taken.filter(({ isKept }) => isKept)
      for (const { isKept, reject } of taken) if (!isKept) reject(error)
      this.#waiting.unshift(...kept)
      if (kept.length > 0 && !this.#isClosed) this.#schedule(retryMs)
      return false
    }
  }

  async #current(): Promise<{ readonly file: LogFile; readonly handle: FileHandle }> {
    const { folder, opening, openFile = open, files } = this.#options
    files?.used(this, this.#rest)
    if (this.#file) {
      const path = join(folder, segmentName(this.#file.segment))
      this.#file.handle ??= await openFile(path, constants.O_WRONLY)
      return { file: this.#file, handle: this.#file.handle }
    }
    const segment = this.#next
    const handle = await openFile(join(folder, segmentName(segment)), writeFlags, 0o640)
    this.#next += 1
    this.#file = { handle, segment, number: this.#number }
    this.#setSize(segment, 0)
    const pieces = encodeFrame({ n: this.#number, ...opening() }, new Uint8Array())
    await writeAll(handle, pieces, 0)
    await handle.datasync()
    await syncFolder(folder)
    this.#number += 1
    this.#setSize(segment, pieces[0].length)
    return { file: this.#file, handle }
  }

  /** Closes the file until the next record, unless one waits. Whether it did. */
  readonly #rest = (): boolean => {
    if (this.#writing !== null || this.#waiting.length > 0 || this.#isClosed) return false
    // What cannot be closed was synced before.
    void this.#file?.handle?.close().catch(() => {})
    if (this.#file) this.#file.handle = null
    return true
  }

  /** null: the file has gone. */
  #setSize(segment: number, bytes: number | null): void {
    const more = (bytes ?? 0) - (this.#sizes.get(segment) ?? 0)
    this.#bytes += more
    this.#options.sized?.(more)
    if (bytes === null) this.#sizes.delete(segment)
    else this.#sizes.set(segment, bytes)
  }

  async #endFile(): Promise<void> {
    const file = this.#file
    this.#file = null
    this.#options.files?.closed(this)
    await file?.handle?.close()
  }

  /** Ends a file whose last commit failed, and cuts off what that commit may have written. */
  async #abandon(): Promise<void> {
    const file = this.#file
    this.#file = null
    if (!file) return
    this.#options.files?.closed(this)
    const bytes = this.#sizes.get(file.segment) ?? 0
    try {
      await file.handle?.truncate(bytes)
      await file.handle?.datasync()
    } catch {
      // The next file says from which number on its records count.
    }
    await file.handle?.close().catch(() => {})
    // A disk that is full for long must not fill a folder with files that hold only their first record.
    if (bytes > 0 && this.#number > file.number + 1) return
    try {
      await unlink(join(this.#options.folder, segmentName(file.segment)))
      this.#setSize(file.segment, null)
      this.#number = file.number
    } catch {
      // It stays, and the numbers go on behind its first record.
    }
  }
}

/** The most pieces that one call of the system writes. */
const mostPieces = 512

async function writeAll(handle: FileHandle, pieces: readonly Uint8Array[], from: number): Promise<void> {
  let at = from
  for (let first = 0; first < pieces.length; first += mostPieces) {
    const some = pieces.slice(first, first + mostPieces)
    const whole = some.reduce((sum, { length }) => sum + length, 0)
    let { bytesWritten } = await handle.writev(some as Buffer[], at)
    // A write that is cut short writes the rest, or gets the error that cut it.
    if (bytesWritten < whole) {
      const rest = Buffer.concat(some)
      while (bytesWritten < whole) {
        const more = await handle.write(rest, bytesWritten, whole - bytesWritten, at + bytesWritten)
        if (more.bytesWritten === 0) throw new Error('the disk takes no more bytes')
        bytesWritten += more.bytesWritten
      }
    }
    at += whole
  }
}
