import { createReadStream } from 'node:fs'
import { access, constants, stat, truncate } from 'node:fs/promises'
import { GatewayError } from '../../core/errors.ts'
import { codeOf, fileTrouble, pathOf, reasonOf } from '../../core/system-error.ts'

/** Throws RG_INPUT_INVALID with the path and what is wrong where there is no file that can be read. */
export async function checkReadable(path: string): Promise<void> {
  try {
    // Not opened: a pipe that is opened and closed again loses its writer.
    const stats = await stat(path)
    if (stats.isDirectory())
      throw new GatewayError('RG_INPUT_INVALID', `${path}: is a folder; a file is needed`)
    await access(path, constants.R_OK)
  } catch (cause) {
    throw unreadable(path, cause)
  }
}

/** RG_INPUT_INVALID for a file that cannot be read, in words. */
export const unreadable = (path: string, cause: unknown): GatewayError =>
  cause instanceof GatewayError
    ? cause
    : new GatewayError('RG_INPUT_INVALID', `${path}: ${fileTrouble(cause) ?? plainWords(reasonOf(cause))}`, {
        cause,
      })

/** DuckDB's words without its class of error and its "Try ..." of SQL. */
function plainWords(message: string): string {
  const plain = message
    .replace(/^(?:[A-Z][A-Za-z]* )+Error: /, '')
    .replace(/ in file "[^"]*"/, '')
    .trim()
  if (/Parquet magic bytes|too small to be a Parquet file/i.test(plain)) return 'is no Parquet file'
  return plain === '' ? 'cannot be read' : plain.charAt(0).toLowerCase() + plain.slice(1)
}

/** Throws RG_INPUT_INVALID for an output that cannot be written. */
export function unwritable(cause: unknown): never {
  if (cause instanceof GatewayError) throw cause
  const path = pathOf(cause).replace(/\.partial(?:\.jsonl?)?$/, '')
  // What is missing is never the file: it is made.
  const why = codeOf(cause) === 'ENOENT' ? 'its folder does not exist' : reasonOf(cause)
  const what = path === '' ? 'the output' : path
  throw new GatewayError('RG_INPUT_INVALID', `${what}: cannot be written: ${why}`, { cause })
}

/** The whole lines of a file: how many, where the last one ends and how long the longest is, in bytes. */
export async function linesOf(
  path: string,
): Promise<{ readonly count: number; readonly end: number; readonly longest: number }> {
  let [count, end, longest, length] = [0, 0, 0, 0]
  for await (const piece of createReadStream(path)) {
    const bytes = piece as Buffer
    for (let at = bytes.indexOf(10); at !== -1; at = bytes.indexOf(10, at + 1)) {
      count++
      longest = Math.max(longest, length + at + 1 - end)
      end = length + at + 1
    }
    length += bytes.length
  }
  return { count, end, longest }
}

/** Counts the lines; what a kill left of a last one is cut off. */
export async function wholeLines(path: string): Promise<number> {
  const { count, end } = await linesOf(path)
  if (end < (await stat(path)).size) await truncate(path, end)
  return count
}
