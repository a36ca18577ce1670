import { once } from 'node:events'
import { createWriteStream } from 'node:fs'
import type { ScoredFile } from './scored-file.ts'

/** Results on their way to a stream that only takes what is written; null: `stdout`, which stays open. */
export function plainOutput(path: string | null, stdout: NodeJS.WritableStream): ScoredFile {
  const target = path === null ? stdout : createWriteStream(path)
  const end = async () => {
    if (path !== null) await new Promise<void>((resolve) => target.end(resolve))
  }
  return {
    done: 0,
    async write(lines) {
      if (lines && !target.write(lines)) await once(target, 'drain')
    },
    finish: end,
    async leave() {
      await end()
      return null
    },
  }
}
