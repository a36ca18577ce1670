import type { Clock } from '../clock.ts'
import type { AskName } from '../contract/index.ts'
import type { Trace } from '../tracing/trace.ts'
import { Stop } from './abort.ts'
import type { Backend, BatchInput, Settings } from './backend.ts'
import { type Dispatched, Undone } from './dispatch.ts'
import { Fault } from './fault.ts'
import { readJson } from './reply.ts'
import type { Reading, Work } from './work.ts'

type Send = <T>(work: Work<T>, stop: Stop) => Promise<Dispatched<T>>

interface Item {
  readonly input: BatchInput
  readonly stop: Stop
  readonly trace: Trace | undefined
  resolve(done: Dispatched<unknown>): void
  reject(error: unknown): void
}

/** Collects questions that can share a request, for `maxWaitMs` or until there are `maxSize`. */
export class Batcher {
  readonly #waiting: Item[] = []
  readonly #parts: { clock: Clock; backend: Backend; headers: Record<string, string>; send: Send }
  readonly #limits: { maxSize: number; maxWaitMs: number }
  readonly #ask: AskName
  readonly #settings: Settings
  #cancelTimer: (() => void) | null = null

  constructor(
    ask: AskName,
    settings: Settings,
    limits: { maxSize: number; maxWaitMs: number },
    parts: { clock: Clock; backend: Backend; headers: Record<string, string>; send: Send },
  ) {
    this.#ask = ask
    this.#settings = settings
    this.#limits = limits
    this.#parts = parts
  }

  /** Rejects as a dispatch does. */
  add(input: BatchInput, stop: Stop, trace?: Trace): Promise<Dispatched<unknown>> {
    return new Promise((resolve, reject) => {
      this.#waiting.push({ input, stop, trace, resolve, reject })
      if (this.#waiting.length >= this.#limits.maxSize) this.#flush()
      else this.#cancelTimer ??= this.#parts.clock.after(this.#limits.maxWaitMs, () => this.#flush())
    })
  }

  #flush(): void {
    this.#cancelTimer?.()
    this.#cancelTimer = null
    const items = this.#waiting.splice(0).filter(({ stop }) => !stop.aborted)
    if (items.length > 0) void this.#run(items)
  }

  /** Asks for all at once; what makes the whole fail is looked for by halves. Never rejects. */
  async #run(items: readonly Item[]): Promise<void> {
    try {
      const inputs = items.map(({ input }) => input)
      // A call stands in one trace only.
      const trace = items.find((item) => item.trace)?.trace
      const { path, body } = this.#parts.backend.translateAll(this.#ask, inputs, this.#settings)
      const done = await this.#parts.send<readonly (Reading<unknown> | Fault)[]>(
        {
          ask: this.#ask,
          prefix: '',
          ...(trace && { trace }),
          message: { method: 'POST', path, headers: this.#parts.headers, body },
          read: (reply) => all(this.#parts.backend.readAll(this.#ask, readJson(reply), inputs)),
        },
        sharedStop(items),
      )
      done.answer.forEach((own, at) => {
        const item = items[at] as Item
        if (!(own instanceof Fault)) item.resolve({ ...done, ...own })
        else if (items.length === 1 || own.remedy === 'give-up') item.reject(new Undone(own, []))
        else void this.#run([item])
      })
    } catch (error) {
      if (items.length > 1 && error instanceof Undone && error.fault.isAboutContent) {
        const half = Math.ceil(items.length / 2)
        await Promise.all([this.#run(items.slice(0, half)), this.#run(items.slice(half))])
      } else for (const item of items) item.reject(error)
    }
  }
}

/** A reply of which nothing can be used is the instance's fault, not the items'. */
function all(answer: readonly (Reading<unknown> | Fault)[]): Reading<readonly (Reading<unknown> | Fault)[]> {
  let prompt = 0
  let completion = 0
  let good = 0
  for (const own of answer) {
    if (own instanceof Fault) continue
    good += 1
    prompt += own.prompt
    completion += own.completion
  }
  if (good === 0) throw answer[0] as Fault
  return { answer, prompt, completion }
}

/** Stops when every item has. */
function sharedStop(items: readonly Item[]): Stop {
  const shared = new Stop()
  let left = items.length
  for (const { stop } of items)
    stop.on(() => {
      left -= 1
      if (left === 0) shared.stop()
    })
  return shared
}
