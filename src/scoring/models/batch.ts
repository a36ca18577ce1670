import type { AskName } from '../../contract/index.ts'
import type { Clock } from '../../core/clock.ts'
import type { Trace } from '../../core/tracing/trace.ts'
import type { RenderedInput } from './api/ask.ts'
import { CancelToken } from './api/cancel-token.ts'
import type { Backend, Settings } from './backends/backend.ts'
import { isTextAsk } from './backends/generated-text.ts'
import type { UpstreamRequest } from './dispatch/call.ts'
import { AllAttemptsFailed, type Dispatched } from './dispatch/dispatch.ts'
import { type Load, loadOf } from './pool/capacity.ts'
import { buildRequest, mostGenerated, tokensOf } from './question.ts'
import type { ParsedReply } from './transport/reply.ts'
import { readJson } from './transport/reply.ts'
import { batchInImmediate } from './transport/transport.ts'
import { abandoned, UpstreamError } from './transport/upstream-error.ts'

/** What the questions of a request have in common. */
interface Shared {
  readonly ask: AskName
  readonly settings: Settings
  readonly prefix: string
}

interface Item {
  readonly input: RenderedInput[AskName]
  readonly request: object
  readonly deadline: number
  readonly stop: CancelToken
  readonly trace: Trace | undefined
  resolve(done: Dispatched<unknown>): void
  reject(error: unknown): void
}

interface Batch {
  readonly shared: Shared
  readonly items: Item[]
  /** What it may grow to. */
  readonly largest: Load
  /** Of its items, about; 0 where nothing bounds them. */
  tokens: number
  cancelTimer(): void
}

interface BatcherParts {
  readonly clock: Clock
  readonly backend: Backend
  readonly headers: Record<string, string>
  /** What one request may hold, so that every instance has room for it: a request begins with what is true then. */
  largest(): Load
  /** How long a question waits for others while a request is under way; where none is, it goes at once. */
  readonly maxWaitMs: number
  send<T>(work: UpstreamRequest<T>, stop: CancelToken): Promise<Dispatched<T>>
}

/** Collects questions that can share a request. */
export class Batcher {
  readonly #parts: BatcherParts
  /** Batches that are still open, by what their questions have in common. */
  readonly #open = new Map<string, Batch>()
  #underWay = 0

  constructor(parts: BatcherParts) {
    this.#parts = parts
  }

  /** `kind`: equal for questions that may share a request. Rejects as a dispatch does. */
  add(
    kind: string,
    shared: Shared,
    asked: Pick<Item, 'input' | 'request' | 'deadline' | 'stop' | 'trace'>,
  ): Promise<Dispatched<unknown>> {
    const key = `${shared.ask} ${kind} ${shared.prefix}`
    return new Promise((resolve, reject) => {
      let batch = this.#open.get(key) ?? this.#begin(key, shared)
      const isBounded = batch.largest.tokens < Number.POSITIVE_INFINITY
      const tokens = isBounded ? tokensOf(shared.ask, asked.input, shared.settings) : 0
      if (batch.items.length > 0 && batch.tokens + tokens > batch.largest.tokens) {
        this.#send(key, batch)
        batch = this.#begin(key, shared)
      }
      batch.items.push({ ...asked, resolve, reject })
      batch.tokens += tokens
      if (batch.items.length >= batch.largest.questions) this.#send(key, batch)
    })
  }

  #begin(key: string, shared: Shared): Batch {
    const send = () => {
      if (this.#open.get(key) === batch) this.#send(key, batch)
    }
    const isIdle = this.#underWay === 0
    const cancelTimer = isIdle ? () => {} : this.#parts.clock.after(this.#parts.maxWaitMs, send)
    const batch: Batch = { shared, items: [], largest: this.#parts.largest(), tokens: 0, cancelTimer }
    if (isIdle) batchInImmediate(send)
    this.#open.set(key, batch)
    return batch
  }

  #send(key: string, { shared, items, cancelTimer }: Batch): void {
    this.#open.delete(key)
    cancelTimer()
    const waiting: Item[] = []
    for (const item of items)
      if (item.stop.aborted) item.reject(new AllAttemptsFailed(abandoned(), []))
      else waiting.push(item)
    if (waiting.length === 0) return
    this.#underWay += 1
    void this.#run(shared, waiting).then(() => {
      this.#underWay -= 1
    })
  }

  #run(shared: Shared, items: readonly Item[]): Promise<void> {
    const [only] = items
    return items.length === 1 && only ? this.#runOne(shared, only) : this.#runAll(shared, items)
  }

  /** As if nothing could be shared. Never rejects. */
  async #runOne(shared: Shared, { input, request, deadline, stop, trace, ...item }: Item): Promise<void> {
    try {
      const work = buildRequest(this.#parts, { ...shared, input, request, deadline, trace })
      item.resolve(await this.#parts.send<unknown>(work, stop))
    } catch (error) {
      item.reject(error)
    }
  }

  /** Asks for all at once; what makes the whole fail is looked for by halves. Never rejects. */
  async #runAll(shared: Shared, items: readonly Item[]): Promise<void> {
    const { ask, settings, prefix } = shared
    const { backend, headers } = this.#parts
    try {
      const inputs = items.map(({ input }) => input)
      const { path, body } = backend.translateBatch(ask, inputs, settings)
      const done = await this.#parts.send<readonly (ParsedReply<unknown> | UpstreamError)[]>(
        {
          ask,
          prefix,
          request: requestOf(items),
          deadline: Math.min(...items.map(({ deadline }) => deadline)),
          load: loadOf(body, items.length, items.length * mostGenerated(ask, settings)),
          // A call stands in one trace only.
          trace: items.find(({ trace }) => trace)?.trace,
          message: { method: 'POST', path, headers, body },
          read: (reply) => all(backend.readBatch(ask, readJson(reply), inputs)),
        },
        sharedStop(items),
      )
      for (const [at, own] of done.answer.entries()) {
        const item = items[at] as Item
        if (!(own instanceof UpstreamError)) item.resolve({ ...done, ...own })
        else if (own.remedy === 'give-up') item.reject(new AllAttemptsFailed(own, []))
        else void this.#run(shared, [item])
      }
    } catch (error) {
      await Promise.all(partsOf(items, shared.ask, error).map((part) => this.#run(shared, part)))
    }
  }
}

/** The request with the fewest of the questions: others of a larger one must not keep them in line. */
function requestOf(items: readonly Item[]): object {
  const counts = new Map<object, number>()
  for (const { request } of items) counts.set(request, (counts.get(request) ?? 0) + 1)
  let fewest: readonly [object, number] | undefined
  for (const entry of counts) if (!fewest || entry[1] < fewest[1]) fewest = entry
  return (fewest as readonly [object, number])[0]
}

/** What is asked for again after a failure, apart from each other; nobody, once each was told. */
function partsOf(items: readonly Item[], ask: AskName, error: unknown): (readonly Item[])[] {
  if (error instanceof AllAttemptsFailed) {
    const half = Math.ceil(items.length / 2)
    if (error.fault.isAboutContent) return [items.slice(0, half), items.slice(half)]
    // One text without an end keeps the others waiting.
    if (isTextAsk(ask) && error.fault.kind === 'judge_timeout') return items.map((item) => [item])
  }
  for (const item of items) item.reject(error)
  return []
}

/** A reply of which nothing can be used is the instance's fault, not the items'. */
function all(
  answer: readonly (ParsedReply<unknown> | UpstreamError)[],
): ParsedReply<readonly (ParsedReply<unknown> | UpstreamError)[]> {
  let prompt = 0
  let completion = 0
  let good = 0
  for (const own of answer) {
    if (own instanceof UpstreamError) continue
    good += 1
    prompt += own.prompt
    completion += own.completion
  }
  if (good === 0) throw answer[0] as UpstreamError
  return { answer, prompt, completion }
}

/** Stops when every item has. */
function sharedStop(items: readonly Item[]): CancelToken {
  const shared = new CancelToken()
  let left = items.length
  for (const { stop } of items)
    stop.on(() => {
      left -= 1
      if (left === 0) shared.stop()
    })
  return shared
}
