import { type FileHandle, open } from 'node:fs/promises'
import { join } from 'node:path'
import { type Place, segmentName } from './commit-log.ts'
import { readFrame } from './frame.ts'
import type { OpenFiles } from './open-files.ts'

/** A record as it is read again. */
interface ReadRecord {
  /** {} if the record is damaged. */
  readonly head: Readonly<Record<string, unknown>>
  /** null: damaged. */
  readonly body: Buffer | null
}

/** Reads single records of a run's files, which stay open until others were used later. */
export class SegmentFiles {
  readonly #folder: string
  readonly #open: OpenFiles | undefined
  readonly #files = new Map<number, Promise<FileHandle>>()
  readonly #damaged: (place: Place) => void

  /** `damaged` is called whenever a record cannot be read. */
  constructor(folder: string, open?: OpenFiles, damaged: (place: Place) => void = () => {}) {
    this.#folder = folder
    this.#open = open
    this.#damaged = damaged
  }

  async record(place: Place): Promise<ReadRecord> {
    const { segment, at, length } = place
    const file = await this.#file(segment)
    const bytes = Buffer.allocUnsafeSlow(length)
    const { bytesRead } = await file.read(bytes, 0, length, at)
    const frame = bytesRead === length ? readFrame(bytes, 0) : null
    if (!frame?.body) this.#damaged(place)
    return frame ?? { head: {}, body: null }
  }

  /** The body of a record; null if it is damaged. */
  async body(place: Place): Promise<Buffer | null> {
    return (await this.record(place)).body
  }

  async close(segment: number): Promise<void> {
    const file = this.#files.get(segment)
    this.#files.delete(segment)
    if (file !== undefined) this.#open?.closed(file)
    await file?.then(
      (handle) => handle.close(),
      () => {},
    )
  }

  async closeAll(): Promise<void> {
    for (const segment of [...this.#files.keys()]) await this.close(segment)
  }

  #file(segment: number): Promise<FileHandle> {
    let file = this.#files.get(segment)
    if (!file) {
      const opening = open(join(this.#folder, segmentName(segment)), 'r')
      this.#files.set(segment, opening)
      opening.catch(() => {
        this.#open?.closed(opening)
        if (this.#files.get(segment) === opening) this.#files.delete(segment)
      })
      file = opening
    }
    // Closing waits for what is being read.
    this.#open?.used(file, () => {
      void this.close(segment).catch(() => {})
      return true
    })
    return file
  }
}
