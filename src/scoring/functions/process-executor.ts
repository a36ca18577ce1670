import { randomUUID } from 'node:crypto'
import { fileURLToPath } from 'node:url'
import { Child, type ChildOptions } from './child.ts'
import { packChunk } from './chunk-message.ts'
import type { FunctionSource, SourceTexts } from './discover.ts'
import { BrokenMessage, FrameReader, frame, isMilliseconds, listOf, objectOf } from './frames.ts'
import type { Chunk, Executor, ExecutorEvents, Job, JobResult, StartExecutor } from './job.ts'
import { readResult } from './node-messages.ts'
import type { Stage } from './progress.ts'
import { pythonJob, readPythonReply, resultOf } from './python-messages.ts'

/** How chunks are said to one kind of process, and its results read. */
export interface Speech {
  /** The jobs of a chunk, for JSON. */
  jobs(chunk: Chunk): unknown
  /** A job's result from what the process said of it, every part of it checked; throws BrokenMessage. */
  result(said: unknown, chunk: Chunk, at: number): JobResult
}

/** A chunk that was sent, and the results that have come. A long one's results come in several messages. */
interface Sent {
  readonly number: number
  /** What its results have to name: code that only shares the socket does not know it. */
  readonly key: string
  readonly chunk: Chunk
  readonly results: JobResult[]
  readonly ms: number[]
}

const lastNumber = 2 ** 21

/** How a process is started, and the first message that it gets: the functions that it runs. */
export interface ProcessOptions extends ChildOptions {
  readonly first: Buffer
}

/** Runs reward functions in a process apart. What the process says is believed only after it was checked. */
export class ProcessExecutor implements Executor {
  readonly #child: Child
  readonly #speech: Speech
  readonly #events: ExecutorEvents
  readonly #sent: Sent[] = []
  #number = 0
  #isReady = false
  #broken: string | null = null

  constructor({ first, ...options }: ProcessOptions, speech: Speech, events: ExecutorEvents) {
    this.#speech = speech
    this.#events = events
    const reader = new FrameReader((text) => {
      if (this.#broken === null) this.#hear(text)
    })
    this.#child = new Child(options, {
      data: (bytes) => {
        if (this.#broken === null && !reader.read(bytes)) this.#break('it is no message')
      },
      gone: (reason) => events.gone(this.#broken ?? reason, this.#broken !== null),
    })
    this.#child.send(first)
  }

  #hear(text: string): void {
    try {
      const message: unknown = JSON.parse(text)
      if (message === 'ready' && !this.#isReady) {
        this.#isReady = true
        this.#events.ready()
      } else this.#take(message)
    } catch (error) {
      // A SyntaxError quotes what was sent.
      this.#break(error instanceof BrokenMessage ? error.message : 'it is no JSON')
    }
  }

  #take(message: unknown): void {
    const { key, end, results, ms } = objectOf(message, 'it is no object')
    const [sent] = this.#sent
    if (!sent || key !== sent.key) throw new BrokenMessage('it is of no chunk that runs')
    const [said, times] = [listOf(results, 'its results are no list'), listOf(ms, 'its times are no list')]
    if (said.length !== times.length) throw new BrokenMessage('its results and times are not of one length')
    if (sent.results.length + said.length > sent.chunk.length)
      throw new BrokenMessage('it has more results than its chunk has jobs')
    for (const [at, one] of said.entries()) {
      sent.results.push(this.#speech.result(one, sent.chunk, sent.results.length))
      sent.ms.push(isMilliseconds(times[at]) ? times[at] : 0)
    }
    if (end !== true) return
    if (sent.results.length === 0) throw new BrokenMessage('it has no result')
    this.#sent.shift()
    this.#events.done({ results: sent.results, ms: sent.ms })
  }

  #break(why: string): void {
    this.#broken = `a message of its process was broken: ${why}`
    this.#child.kill()
  }

  run(chunk: Chunk): number {
    this.#number = this.#number === lastNumber ? 1 : this.#number + 1
    const key = randomUUID()
    const bytes = frame(JSON.stringify({ chunk: this.#number, key, jobs: this.#speech.jobs(chunk) }))
    this.#sent.push({ number: this.#number, key, chunk, results: [], ms: [] })
    this.#child.hold(true)
    this.#child.send(bytes)
    return this.#number
  }

  stage(): Stage {
    return this.#child.stage()
  }

  rest(): void {
    this.#child.hold(false)
  }

  end(): Promise<void> {
    return this.#child.end(this.#isReady && this.#sent.length === 0)
  }
}

/** Private memory of one process in MiB; a heap takes half of it at most. */
export const defaultMemoryMb = 1024

const file = fileURLToPath(
  new URL(import.meta.url.endsWith('.ts') ? './worker/child.ts' : './worker/child.js', import.meta.url),
)

const nodeSpeech: Speech = {
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
    new ProcessExecutor({ command: process.execPath, args, env, memoryMb, first }, nodeSpeech, events)
}

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

const pythonSpeech: Speech = {
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
  return (events) => new ProcessExecutor(options, pythonSpeech, events)
}
