import { createReadStream } from 'node:fs'
import { createInterface } from 'node:readline'
import { createGunzip } from 'node:zlib'
import { rowOf } from './row-source.ts'

/** The first line of a file (.gz too) that is no JSON, counted from 1; null: there is none, or it cannot be told. */
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
