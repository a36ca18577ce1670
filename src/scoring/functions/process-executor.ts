import { randomUUID } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { Child, type ChildOptions } from './child-process.ts'
import { packChunk } from './chunk-message.ts'
import type { FunctionSource, SourceTexts } from './discover.ts'
import { FrameReader, frame, isMilliseconds, listOf, MalformedMessage, objectOf } from './frames.ts'
import type { Chunk, Executor, ExecutorEvents, FunctionJob, JobResult, StartExecutor } from './job.ts'
import { decodeResult } from './node-messages.ts'
import type { Stage } from './progress.ts'
import { pythonJob, readPythonReply, resultOf } from './python-messages.ts'

/** The message format of one kind of process. */
interface MessageFormat {
  /** Encodes the jobs of a chunk as JSON data. */
  jobs(chunk: Chunk): unknown
  /** Decodes and checks one result of a chunk; throws MalformedMessage. */
  result(encoded: unknown, chunk: Chunk, at: number): JobResult
}

/** A chunk that was sent, and its results so far. Results of a long chunk arrive in several messages. */
interface Sent {
  readonly number: number
  /** Its results must carry this random key. Code that merely shares the socket does not know it. */
  readonly key: string
  readonly chunk: Chunk
  readonly results: JobResult[]
  readonly ms: number[]
}

const lastNumber = 2 ** 21

/** How to start a process, and its first message: the functions that it runs. */
interface ProcessOptions extends ChildOptions {
  readonly first: Buffer
}

/** Runs reward functions in a separate process, whose messages are untrusted input and are checked. */
class ProcessExecutor implements Executor {
  readonly #child: Child
  readonly #format: MessageFormat
  readonly #events: ExecutorEvents
  readonly #sent: Sent[] = []
  #number = 0
  #isReady = false
  #broken: string | null = null

  constructor({ first, ...options }: ProcessOptions, format: MessageFormat, events: ExecutorEvents) {
    this.#format = format
    this.#events = events
    const reader = new FrameReader((text) => {
      if (this.#broken === null) this.#hear(text)
    })
    this.#child = new Child(options, {
      data: (bytes) => {
        if (this.#broken === null && !reader.read(bytes)) this.#break('not a frame, or over the limits')
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
      // A SyntaxError would quote the message.
      this.#break(error instanceof MalformedMessage ? error.message : 'not JSON')
    }
  }

  #take(message: unknown): void {
    const { key, end, results, ms } = objectOf(message, 'not an object')
    const [sent] = this.#sent
    if (!sent || key !== sent.key) throw new MalformedMessage('not for the running chunk')
    const [encoded, times] = [
      listOf(results, 'its results are not a list'),
      listOf(ms, 'its times are not a list'),
    ]
    if (encoded.length !== times.length) throw new MalformedMessage('its results and times differ in length')
    if (sent.results.length + encoded.length > sent.chunk.length)
      throw new MalformedMessage('it has more results than its chunk has jobs')
    for (const [at, one] of encoded.entries()) {
      sent.results.push(this.#format.result(one, sent.chunk, sent.results.length))
      sent.ms.push(isMilliseconds(times[at]) ? times[at] : 0)
    }
    if (end !== true) return
    if (sent.results.length === 0) throw new MalformedMessage('it has no result')
    this.#sent.shift()
    this.#events.done({ results: sent.results, ms: sent.ms })
  }

  #break(why: string): void {
    this.#broken = `its process sent a malformed message: ${why}`
    this.#child.kill()
  }

  run(chunk: Chunk): number {
    this.#number = this.#number === lastNumber ? 1 : this.#number + 1
    const key = randomUUID()
    const bytes = frame(JSON.stringify({ chunk: this.#number, key, jobs: this.#format.jobs(chunk) }))
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

/** Private memory of one Node process in MiB. The heap gets half of it. */
const defaultMemoryMb = 1024

const file = fileURLToPath(
  new URL(import.meta.url.endsWith('.ts') ? './worker/process.ts' : './worker/process.js', import.meta.url),
)

const nodeFormat: MessageFormat = {
  jobs: packChunk,
  result: (encoded, chunk, at) => decodeResult(encoded, chunk[at] as FunctionJob),
}

/** Starts processes for users' functions in TypeScript and JavaScript. */
export function nodeProcesses(sources: readonly FunctionSource[], memoryMb = defaultMemoryMb): StartExecutor {
  const first = frame(JSON.stringify(sources))
  // With an executor on every core, V8's helper threads cost more than they save.
  const args = [
    `--max-old-space-size=${Math.floor(memoryMb / 2)}`,
    '--max-semi-space-size=32',
    '--single-threaded-gc',
    file,
  ]
  // Otherwise what this process preloads (a debugger, a test runner, an SDK) would load in each child too.
  const env = { ...process.env, NODE_OPTIONS: '' }
  const limitMb = memoryMb + codeRangeMb()
  return (events) =>
    new ProcessExecutor(
      { command: process.execPath, args, env, memoryMb: limitMb, first },
      nodeFormat,
      events,
    )
}

/**
 * What V8 maps for machine code when a process starts, in MiB: in Node 24 the 512 that it may ever use, before little. All of it counts
 * towards the limit of the process, although it is empty. Every process of this Node maps as much as this one.
 */
function codeRangeMb(): number {
  try {
    const maps = readFileSync('/proc/self/maps', 'utf8')
    const bytes = [...maps.matchAll(/^([0-9a-f]+)-([0-9a-f]+) rwxp /gm)].map(
      ([, from = '0', to = '0']) => Number.parseInt(to, 16) - Number.parseInt(from, 16),
    )
    return Math.ceil(bytes.reduce((sum, size) => sum + size, 0) / 2 ** 20)
  } catch {
    return 0
  }
}

/** How to run Python functions. */
export interface PythonSettings {
  /** The interpreter, 3.9 or later; `python3` by default. */
  readonly command?: string
  /** Maximum processes for each folder; two by default. */
  readonly processes?: number
  /** Private memory of one process in MiB; 4096 by default. A sample that needs more fails with a MemoryError. */
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

const pythonFormat: MessageFormat = {
  jobs: (chunk) => chunk.map(pythonJob),
  result: (encoded, chunk, at) => resultOf(chunk[at] as FunctionJob, readPythonReply(encoded)),
}

/** Starts processes for Python functions. A process compiles a file's text when it first needs it. */
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
  // The interpreter limits its own memory once it is loaded.
  const options = { command, args: ['-c', bootstrap, settings], env, memoryMb: 0, first }
  return (events) => new ProcessExecutor(options, pythonFormat, events)
}
