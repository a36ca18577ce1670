import { readFile } from 'node:fs/promises'
import type { Clock } from '../../../core/clock.ts'

const intervalMs = 2000

/** The addresses of a file: a JSON list, or one a line with `#` for comments; null: it cannot be read as either. */
export function readAddresses(text: string): string[] | null {
  const trimmed = text.trim()
  if (trimmed.startsWith('[')) {
    try {
      const list: unknown = JSON.parse(trimmed)
      return Array.isArray(list) && list.every((entry) => typeof entry === 'string') ? list : null
    } catch {
      return null
    }
  }
  const lines = trimmed
    .split('\n')
    .map((line) => line.replace(/#.*$/, '').trim())
    .filter((line) => line !== '')
  // A file that is being written is empty for a moment; whoever wants no instances writes [].
  return lines.length > 0 ? lines : null
}

/** Calls `changed` with the addresses now and whenever they differ, until ended. An unreadable file changes nothing. */
export function watchInstancesFile(
  path: string,
  clock: Clock,
  changed: (addresses: readonly string[]) => void,
): () => void {
  let last = ''
  let ended = false
  let cancel = () => {}
  const look = async (): Promise<void> => {
    try {
      const text = await readFile(path, 'utf8')
      if (ended) return
      const addresses = text === last ? null : readAddresses(text)
      if (addresses) {
        last = text
        changed(addresses)
      }
    } catch {
      // It may not be there yet, or not at this moment.
    }
    if (!ended) cancel = clock.after(intervalMs, () => void look())
  }
  void look()
  return () => {
    ended = true
    cancel()
  }
}
