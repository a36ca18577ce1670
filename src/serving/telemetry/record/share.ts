import type { RequestDone } from '../../../scoring/engine/events.ts'

/** Whether a row is among the recorded share. A group of a request is recorded whole or not at all; the same ids, the same choice. */
export function isSampled({ rows }: RequestDone, index: number, requestId: string, share: number): boolean {
  if (share >= 1) return true
  const row = rows[index]
  const group = row && 'group' in row ? row.group?.id : undefined
  return uniform(`${requestId}\n${group ?? index}`) < share
}

/** FNV-1a with a final mix, as a number in [0, 1). */
function uniform(text: string): number {
  let hash = 0x811c9dc5
  for (let at = 0; at < text.length; at += 1) hash = Math.imul(hash ^ text.charCodeAt(at), 0x01000193)
  hash = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b)
  hash = Math.imul(hash ^ (hash >>> 13), 0xc2b2ae35)
  return ((hash ^ (hash >>> 16)) >>> 0) / 2 ** 32
}
