import { once } from 'node:events'
import { createWriteStream } from 'node:fs'
import { rename, rm } from 'node:fs/promises'
import { unwritable } from './files.ts'
import { writeParquet } from './parquet.ts'

/** JSON lines on their way to files; nothing stands under a final name before it is whole. */
export interface RowFile {
  write(line: string): Promise<void>
  /** Ends the writing. */
  close(): Promise<void>
  /** Gives the lines their final name. */
  publish(): Promise<void>
  /** Copies them to a Parquet file with these columns; absent: as the lines have them. */
  publishParquet(target: string, columns?: Readonly<Record<string, string>>): Promise<void>
  /** Leaves nothing of what was not published. */
  remove(): Promise<void>
  /** Where the lines stand. */
  readonly path: string
}

/** Begins a file beside the final one. Throws RG_INPUT_INVALID where it cannot be written. */
export async function beginRowFile(path: string): Promise<RowFile> {
  const partial = `${path}.partial`
  const stream = createWriteStream(partial)
  await once(stream, 'open').catch(unwritable)
  // A write that fails is told by the next one, or by the end.
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
