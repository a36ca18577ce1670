import type { AskName } from '../../contract/index.ts'
import type { Clock } from '../../core/clock.ts'
import { type QuestionWatch, watchAll } from '../../core/stalls/request-times.ts'
import type { Trace } from '../../core/tracing/open-tracing.ts'
import { askingOf, type Backend, type Settings } from './backends/backend.ts'
import { isTextAsk } from './backends/generated-text.ts'
import { buildRequest, mostGenerated, tokensOf } from './build-request.ts'
import { AllAttemptsFailed, type Dispatched, type UpstreamRequest } from './dispatch/dispatch.ts'
import type { RenderedInput } from './interface/ask.ts'
import { CancelToken } from './interface/cancel-token.ts'
import { ImageBody } from './interface/question-json.ts'
import { type Load, loadOf } from './pool/capacity.ts'
import type { ParsedReply } from './transport/reply.ts'
import { jsonOf } from './transport/reply.ts'
import { batchInImmediate } from './transport/transport.ts'
import { abandoned, UpstreamError } from './transport/upstream-error.ts'

/** What the questions of a batch have in common. */
interface Shared {
  readonly ask: AskName
  readonly settings: Settings
  readonly prefix: string
  /** The most of them that share a request. */
  readonly most: number
}

interface Item {
  readonly input: RenderedInput[AskName]
  readonly request: object
  readonly deadline: number
  readonly stop: CancelToken
  readonly trace: Trace | undefined
  readonly watch: QuestionWatch | undefined
  resolve(done: Dispatched<unknown>): void
  reject(error: unknown): void
}

interface Batch {
  readonly shared: Shared
  readonly items: Item[]
  /** What the batch may grow to. */
  readonly largest: Load
  /** Estimated tokens of its items; 0 if tokens are not limited. */
  tokens: number
  cancelTimer(): void
}

interface BatcherParts {
  readonly clock: Clock
  readonly backend: Backend
  readonly headers: Record<string, string>
  /** What every instance has capacity for. Read when a batch begins. */
  capacity(): Load
  /** How long a question waits for others while a batch is in flight. If none is, it is sent in this turn of the loop. */
  readonly maxWaitMs: number
  readonly hedgesImages: boolean
  send<T>(work: UpstreamRequest<T>, stop: CancelToken): Promise<Dispatched<T>>
}

/** Collects questions that can share one request to a server. */
export class Batcher {
  readonly #parts: BatcherParts
  /** Open batches by what their questions have in common. */
  readonly #open = new Map<string, Batch>()
  #underWay = 0

  constructor(parts: BatcherParts) {
    this.#parts = parts
  }

  /** `kind`: the backend's batch key. Rejects as `dispatch` does. */
  add(
    kind: string,
    shared: Shared,
    asked: Pick<Item, 'input' | 'request' | 'deadline' | 'stop' | 'trace' | 'watch'>,
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
    const { questions, tokens } = this.#parts.capacity()
    const largest = { questions: Math.min(shared.most, questions), tokens }
    const batch: Batch = { shared, items: [], largest, tokens: 0, cancelTimer }
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

  /** Sends a single question. Never rejects. */
  async #runOne(
    shared: Shared,
    { input, request, deadline, stop, trace, watch, ...item }: Item,
  ): Promise<void> {
    try {
      const { hedgesImages } = this.#parts
      const asked = { ...shared, input, request, deadline, trace, watch, hedgesImages }
      const work = buildRequest(this.#parts, asked)
      item.resolve(await this.#parts.send<unknown>(work, stop))
    } catch (error) {
      item.reject(error)
    }
  }

  /** Sends all items in one request. If it fails, it is bisected to find the bad item. Never rejects. */
  async #runAll(shared: Shared, items: readonly Item[]): Promise<void> {
    const { ask, settings, prefix } = shared
    const { backend, headers, hedgesImages } = this.#parts
    const { isIdempotent = true } = backend
    const asking = askingOf(backend, ask)
    try {
      const inputs = items.map(({ input }) => input)
      const { path, body } = asking.translateBatch(ask, inputs, settings)
      const done = await this.#parts.send<readonly (ParsedReply<unknown> | UpstreamError)[]>(
        {
          ask,
          prefix,
          request: requestOf(items),
          deadline: Math.min(...items.map(({ deadline }) => deadline)),
          load: loadOf(body, items.length, items.length * mostGenerated(ask, settings)),
          // A call can only belong to one trace.
          trace: items.find(({ trace }) => trace)?.trace,
          isHedged: isIdempotent && (!(body instanceof ImageBody) || hedgesImages),
          isIdempotent,
          watch: watchAll(items.map(({ watch }) => watch)),
          message: { method: 'POST', path, headers, body },
          read: (reply) => all(asking.readBatch(ask, jsonOf(ask, reply), inputs)),
        },
        sharedStop(items),
      )
      for (const [at, own] of done.answer.entries()) {
        const item = items[at] as Item
        if (!(own instanceof UpstreamError)) item.resolve({ ...done, ...own })
        else if (own.remedy === 'give-up' || !isIdempotent) item.reject(new AllAttemptsFailed(own, []))
        else void this.#run(shared, [item])
      }
    } catch (error) {
      const parts = partsOf(items, shared.ask, isIdempotent, error)
      await Promise.all(parts.map((part) => this.#run(shared, part)))
    }
  }
}

/** The client request with the fewest of the questions, so that a larger one does not delay them in the queue. */
function requestOf(items: readonly Item[]): object {
  const counts = new Map<object, number>()
  for (const { request } of items) counts.set(request, (counts.get(request) ?? 0) + 1)
  let fewest: readonly [object, number] | undefined
  for (const entry of counts) if (!fewest || entry[1] < fewest[1]) fewest = entry
  return (fewest as readonly [object, number])[0]
}

/** The groups of items to retry separately after a failure. Empty after rejecting all items. */
function partsOf(
  items: readonly Item[],
  ask: AskName,
  isIdempotent: boolean,
  error: unknown,
): (readonly Item[])[] {
  if (isIdempotent && error instanceof AllAttemptsFailed) {
    const half = Math.ceil(items.length / 2)
    if (error.fault.isAboutContent) return [items.slice(0, half), items.slice(half)]
    // One endless text may have kept the others waiting.
    if (isTextAsk(ask) && error.fault.kind === 'judge_timeout') return items.map((item) => [item])
  }
  for (const item of items) item.reject(error)
  return []
}

/** Sums up the answers. If none is usable, throws: then the instance is at fault, not the items. */
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

/** A token that is cancelled when the tokens of all items are. */
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
