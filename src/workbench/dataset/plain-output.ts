import { once } from 'node:events'
import { createWriteStream } from 'node:fs'
import type { ScoredFile } from './scored-file.ts'
import { unwritable } from './unwritable.ts'

/** Results on their way to a stream that only takes what is written; null: `stdout`, which stays open. */
export function plainOutput(path: string | null, stdout: NodeJS.WritableStream): ScoredFile {
  const own = path === null ? null : createWriteStream(path)
  // A write that fails is told by the next one, or by the end.
  own?.on('error', () => {})
  const target = own ?? stdout
  const check = () => {
    if (own?.errored) unwritable(own.errored)
  }
  const end = async () => {
    if (own === null) return
    own.end()
    if (!own.closed) await once(own, 'close').catch(() => {})
  }
  return {
    done: 0,
    partial: null,
    async write(lines) {
      check()
      if (lines && !target.write(lines)) await once(target, 'drain').catch(unwritable)
    },
    async finish() {
      await end()
      check()
    },
    async leave() {
      await end()
      return null
    },
  }
}
