import { createReadStream } from 'node:fs'
import { access, constants, stat, truncate } from 'node:fs/promises'
import { GatewayError } from '../../core/errors.ts'
import { codeOf, fileTrouble, pathOf, reasonOf } from '../../core/system-error.ts'

/** Throws RG_INPUT_INVALID with the path and the reason if there is no readable file. */
export async function checkReadable(path: string): Promise<void> {
  try {
    // The file is not opened: opening and closing a named pipe would end its writer.
    const stats = await stat(path)
    if (stats.isDirectory())
      throw new GatewayError('RG_INPUT_INVALID', `${path}: is a folder; a file is needed`)
    await access(path, constants.R_OK)
  } catch (cause) {
    throw unreadable(path, cause)
  }
}

/** RG_INPUT_INVALID for a file that cannot be read, with the reason in words. */
export const unreadable = (path: string, cause: unknown): GatewayError =>
  cause instanceof GatewayError
    ? cause
    : new GatewayError('RG_INPUT_INVALID', `${path}: ${fileTrouble(cause) ?? plainWords(reasonOf(cause))}`, {
        cause,
      })

/** Removes the error class, the file name and the SQL hints from DuckDB's message. */
function plainWords(message: string): string {
  const plain = message
    .replace(/^(?:[A-Z][A-Za-z]* )+Error: /, '')
    .replace(/ in file "[^"]*"/, '')
    .trim()
  if (/magic bytes|too small to be a Parquet file/i.test(plain)) return 'is not a Parquet file'
  return plain === '' ? 'cannot be read' : plain.charAt(0).toLowerCase() + plain.slice(1)
}

/** Throws RG_INPUT_INVALID for an output that cannot be written. */
export function unwritable(cause: unknown): never {
  if (cause instanceof GatewayError) throw cause
  const path = pathOf(cause).replace(/\.partial(?:\.jsonl?)?$/, '')
  // The file itself is created, so only its folder can be missing.
  const why = codeOf(cause) === 'ENOENT' ? 'its folder does not exist' : reasonOf(cause)
  const what = path === '' ? 'the output' : path
  throw new GatewayError('RG_INPUT_INVALID', `${what}: cannot be written: ${why}`, { cause })
}

/**
 * Counts the complete lines of a file. `end` is the offset after the last one and `longest` the longest
 * length, in bytes.
 */
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

/** Counts the complete lines and cuts off the partial last line that a killed process left. */
export async function wholeLines(path: string): Promise<number> {
  const { count, end } = await linesOf(path)
  if (end < (await stat(path)).size) await truncate(path, end)
  return count
}
