import { createReadStream } from 'node:fs'
import { createGunzip } from 'node:zlib'
import { recordFiles } from './segments.ts'
import { type RecordedRow, recordedRow } from './shape.ts'

/**
 * The recorded rows with this id, or of the request with this id; the newest files are searched first, and the search
 * ends with the file that has one. Rejects where the folder cannot be read.
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

/** The lines of a file of records, in their order; one whose end is missing or spoilt gives the lines before. */
export async function* linesOf(file: string): AsyncGenerator<string> {
  const source = createReadStream(file)
  const unpacked = createGunzip()
  source.on('error', (error) => unpacked.destroy(error))
  source.pipe(unpacked).setEncoding('utf8')
  let rest = ''
  try {
    for await (const chunk of unpacked) {
      const lines = (rest + chunk).split('\n')
      rest = lines.pop() ?? ''
      yield* lines
    }
  } catch (error) {
    if (!/^Z_/.test((error as NodeJS.ErrnoException).code ?? '')) throw error
  } finally {
    source.destroy()
  }
}
