import { bytesOf } from '../../core/sample/bytes.ts'
import { eachInSlices } from '../../core/slices.ts'
import type { RequestDone } from './events.ts'

/**
 * Calls `then` with about the bytes that a request's rows and outcomes take in memory, whatever field they are in: at
 * once, or in a later turn where there are many.
 */
export function countBytes(
  { rows, outcomes }: RequestDone,
  then: (bytes: number) => void,
): Promise<void> | null {
  let bytes = 0
  const count = (index: number): void => {
    bytes += bytesOf(rows[index]) + bytesOf(outcomes[index])
  }
  return eachInSlices(rows.length, count, () => then(bytes))
}
