import { fileURLToPath } from 'node:url'
import { packChunk } from './chunk-message.ts'
import type { StartExecutor } from './executor.ts'
import { frame } from './frames.ts'
import type { Job } from './job.ts'
import { readResult } from './node-messages.ts'
import { ProcessExecutor, type Speech } from './process-executor.ts'
import type { FunctionSource } from './source.ts'

/** Private memory of one process in MiB; a heap takes half of it at most. */
export const defaultMemoryMb = 1024

const file = fileURLToPath(
  new URL(import.meta.url.endsWith('.ts') ? './worker/child.ts' : './worker/child.js', import.meta.url),
)

const speech: Speech = {
  jobs: packChunk,
  result: (said, chunk, at) => readResult(said, chunk[at] as Job),
}

/** Starts processes that load users' functions in TypeScript and JavaScript. */
export function nodeProcesses(sources: readonly FunctionSource[], memoryMb = defaultMemoryMb): StartExecutor {
  const first = frame(JSON.stringify(sources))
  // Helper threads that copy short-lived texts cost more than they save where every core has an executor.
  const args = [
    `--max-old-space-size=${Math.floor(memoryMb / 2)}`,
    '--max-semi-space-size=32',
    '--single-threaded-gc',
    file,
  ]
  // What this process preloads (a debugger, a test runner, an SDK) would load again in each process.
  const env = { ...process.env, NODE_OPTIONS: '' }
  return (events) =>
    new ProcessExecutor({ command: process.execPath, args, env, memoryMb, first }, speech, events)
}
