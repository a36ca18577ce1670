import { hashedShare } from '../../../core/hash.ts'
import type { RequestDone } from '../../../scoring/engine/events.ts'

/** Whether a row is among the recorded share. A group of a request is recorded whole or not at all; the same ids, the same choice. */
export function isSampled({ rows }: RequestDone, index: number, requestId: string, share: number): boolean {
  if (share >= 1) return true
  const row = rows[index]
  const group = row && 'group' in row ? row.group?.id : undefined
  return hashedShare(`${requestId}\n${group ?? index}`) < share
}
