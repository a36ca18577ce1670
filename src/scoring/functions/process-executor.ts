import { randomUUID } from 'node:crypto'
import { Child, type ChildOptions } from './child.ts'
import type { Executor, ExecutorEvents } from './executor.ts'
import { FrameReader, frame } from './frames.ts'
import type { Chunk, JobResult } from './job.ts'
import type { Stage } from './progress.ts'
import { BrokenMessage, isMilliseconds, listOf, objectOf } from './untrusted.ts'

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
