import { access, constants, stat } from 'node:fs/promises'
import { GatewayError } from '../../core/errors.ts'
import { fileTrouble, reasonOf } from '../../core/system-error.ts'

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
