import { type ChildProcess, spawn } from 'node:child_process'
import { closeSync, ftruncateSync, mkdtempSync, openSync, readSync, rmSync } from 'node:fs'
import type { Socket } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { Executor, ExecutorEvents, StartExecutor } from './executor.ts'
import { FrameReader, frame } from './frames.ts'
import type { Chunk } from './job.ts'
import { markStage, type Stage } from './progress.ts'
import { type PythonReply, pythonJob, resultOf } from './python-messages.ts'
import type { FunctionSource } from './source.ts'

/** How Python functions are run. */
export interface PythonSettings {
  /** The interpreter, 3.9 or later; `python3` by default. */
  readonly command?: string
  /** Processes at most; two by default. */
  readonly processes?: number
  /** Private memory of one process; what goes beyond it is a MemoryError of its sample. 4096 by default. */
  readonly memoryMb?: number
}

const beatFactor = 2 ** 22
const folder = fileURLToPath(
  new URL(import.meta.url.endsWith('.ts') ? './python' : '../../../src/functions/python', import.meta.url),
)
const bootstrap = `import sys; sys.path.insert(0, ${JSON.stringify(folder)})
from reward_gateway_host.main import main
sys.path.remove(${JSON.stringify(folder)}); main()`

/** Starts processes that load Python functions; each process loads a file when it first needs it. */
export function pythonProcesses(
  sources: readonly FunctionSource[],
  { command = 'python3', memoryMb = 4096 }: PythonSettings,
  sampleTimeoutMs: number,
): StartExecutor {
  const files = Object.fromEntries(sources.map(({ name, file }) => [name, file]))
  const settings = JSON.stringify({ files, limit_s: sampleTimeoutMs / 1000, memory_mb: memoryMb })
  return (events) => new PythonProcess(command, settings, events)
}

/** Speaks over a socket of its own, so that nothing which a function prints can break the stream. */
class PythonProcess implements Executor {
  readonly #process: ChildProcess
  readonly #socket: Socket
  readonly #progress: number
  readonly #marks = Buffer.alloc(8)
  readonly #gone: Promise<void>
  readonly #chunks: Chunk[] = []
  #isEnded = false

  constructor(command: string, settings: string, events: ExecutorEvents) {
    this.#progress = sharedFile()
    const python = spawn(command, ['-c', bootstrap, settings], {
      stdio: ['ignore', 2, 2, 'pipe', this.#progress],
      env: { ...process.env, PYTHONUNBUFFERED: '1', PYTHONDONTWRITEBYTECODE: '1' },
    })
    this.#process = python
    this.#socket = python.stdio[3] as Socket
    const reader = new FrameReader((text) => {
      const message = JSON.parse(text) as 'ready' | { replies: PythonReply[]; ms: number[] }
      if (message === 'ready') return events.ready()
      const chunk = this.#chunks.shift() ?? []
      const results = chunk.map((job, i) => resultOf(job, message.replies[i] as PythonReply))
      events.done({ results, ms: message.ms })
    })
    this.#socket.on('data', (bytes: Buffer) => {
      if (!this.#isEnded && !reader.read(bytes)) python.kill('SIGKILL')
    })
    this.#socket.on('error', () => {})
    this.#gone = new Promise((resolve) => {
      let isSaid = false
      const say = (reason: string): void => {
        if (isSaid) return
        isSaid = true
        if (!this.#isEnded) events.gone(reason)
        closeSync(this.#progress)
        resolve()
      }
      python.on('error', (error) =>
        say(`${command} cannot be started: ${(error as NodeJS.ErrnoException).code}`),
      )
      python.on('exit', (code, signal) => say(`the Python process ended: ${signal ?? `exit code ${code}`}`))
    })
  }

  run(chunk: Chunk): void {
    this.#chunks.push(chunk)
    this.#process.ref()
    this.#socket.ref()
    this.#socket.write(frame(JSON.stringify(chunk.map(pythonJob))))
  }

  stage(): Stage {
    try {
      readSync(this.#progress, this.#marks, 0, 8, 0)
    } catch {
      return { at: 'idle' }
    }
    return markStage(this.#marks.readInt32LE(0), this.#marks.readInt32LE(4) * beatFactor)
  }

  rest(): void {
    this.#process.unref()
    this.#socket.unref()
  }

  async end(): Promise<void> {
    this.#isEnded = true
    this.#socket.destroy()
    // A resting process does not keep this one alive; without this, the program could end before its end is told.
    this.#process.ref()
    this.#process.kill('SIGKILL')
    await this.#gone
  }
}

/** A file without a name that both processes hold: the progress of the Python side. */
function sharedFile(): number {
  const place = mkdtempSync(join(tmpdir(), 'reward-gateway-'))
  const descriptor = openSync(join(place, 'progress'), 'w+')
  ftruncateSync(descriptor, 8)
  rmSync(place, { recursive: true })
  return descriptor
}
