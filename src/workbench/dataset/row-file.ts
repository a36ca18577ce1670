import { once } from 'node:events'
import { createWriteStream } from 'node:fs'
import { rename, rm } from 'node:fs/promises'
import { unwritable } from './files.ts'
import { writeParquet } from './parquet.ts'

/** Writes JSON lines to a temporary file. The final name appears only when the file is complete. */
export interface RowFile {
  write(line: string): Promise<void>
  close(): Promise<void>
  /** Renames the file to its final name. */
  publish(): Promise<void>
  /**
   * Writes the lines as a Parquet file with these columns (SQL types by name). By default they are inferred.
   */
  publishParquet(target: string, columns?: Readonly<Record<string, string>>): Promise<void>
  /** Deletes what was not published. */
  remove(): Promise<void>
  /** The path of the temporary file. */
  readonly path: string
}

/** Creates the temporary file beside the final one. Throws RG_INPUT_INVALID if it cannot be written. */
export async function beginRowFile(path: string): Promise<RowFile> {
  const partial = `${path}.partial`
  const stream = createWriteStream(partial)
  await once(stream, 'open').catch(unwritable)
  // The next write or `close` reports a failed write.
  stream.on('error', () => {})
  const close = async () => {
    if (stream.closed) return
    stream.end()
    await once(stream, 'close')
    if (stream.errored) unwritable(stream.errored)
  }
  return {
    path: partial,
    async write(line) {
      if (stream.errored) await close()
      if (!stream.write(`${line}\n`)) await once(stream, 'drain')
    },
    close,
    async publish() {
      await close()
      await rename(partial, path)
    },
    async publishParquet(target, columns) {
      await close()
      const whole = `${target}.partial`
      await writeParquet(partial, whole, columns)
      await rename(whole, target)
    },
    async remove() {
      stream.destroy()
      await rm(partial, { force: true })
    },
  }
}
