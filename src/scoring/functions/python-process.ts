import { fileURLToPath } from 'node:url'
import type { StartExecutor } from './executor.ts'
import { frame } from './frames.ts'
import type { Job } from './job.ts'
import { ProcessExecutor, type Speech } from './process-executor.ts'
import { pythonJob, readPythonReply, resultOf } from './python-messages.ts'
import type { FunctionSource } from './source.ts'
import type { SourceTexts } from './source-text.ts'

/** How Python functions are run. */
export interface PythonSettings {
  /** The interpreter, 3.9 or later; `python3` by default. */
  readonly command?: string
  /** Processes at most for each folder; two by default. */
  readonly processes?: number
  /** Private memory of one process; what goes beyond it is a MemoryError of its sample. 4096 by default. */
  readonly memoryMb?: number
}

const folder = fileURLToPath(
  new URL(
    import.meta.url.endsWith('.ts') ? './python' : '../../../../src/scoring/functions/python',
    import.meta.url,
  ),
)
const bootstrap = `import sys; sys.path.insert(0, ${JSON.stringify(folder)})
from reward_gateway_host.main import main
sys.path.remove(${JSON.stringify(folder)}); main()`

const speech: Speech = {
  jobs: (chunk) => chunk.map(pythonJob),
  result: (said, chunk, at) => resultOf(chunk[at] as Job, readPythonReply(said)),
}

/** Starts processes that load Python functions; each process loads a file when it first needs it, as it was read. */
export function pythonProcesses(
  sources: readonly FunctionSource[],
  { command = 'python3', memoryMb = 4096 }: PythonSettings,
  sampleTimeoutMs: number,
): StartExecutor {
  const files = Object.fromEntries(sources.map(({ name, file }) => [name, file]))
  const texts = Object.assign({}, ...sources.map(({ texts }) => texts)) as SourceTexts
  const first = frame(JSON.stringify({ files, texts }))
  const settings = JSON.stringify({ limit_s: sampleTimeoutMs / 1000, memory_mb: memoryMb })
  const env = { ...process.env, PYTHONUNBUFFERED: '1', PYTHONDONTWRITEBYTECODE: '1' }
  // The interpreter bounds its own memory, once it is loaded.
  const options = { command, args: ['-c', bootstrap, settings], env, memoryMb: 0, first }
  return (events) => new ProcessExecutor(options, speech, events)
}
