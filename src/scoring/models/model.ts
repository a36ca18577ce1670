import { hash } from 'node:crypto'
import type { AskName, Asks } from '../../contract/index.ts'
import { askingOf, type Settings } from './backends/backend.ts'
import { promptFormatVersion } from './backends/decision-wires.ts'
import { isTextAsk } from './backends/generated-text.ts'
import { Batcher } from './batch.ts'
import {
  buildRequest,
  bytesOfInput,
  isCached,
  isShort,
  keyOf,
  type ModelParts,
  settingsOf,
} from './build-request.ts'
import { askError, call, type Dispatched, dispatch } from './dispatch/dispatch.ts'
import type { Answered, AskRequest, Rendered, RenderedInput } from './interface/ask.ts'
import { type CancelToken, SingleFlight } from './interface/cancel-token.ts'
import { wireLimits } from './interface/decide-wires.ts'
import type { ModelConfig } from './interface/model-config.ts'
import { imagesOfInput } from './interface/question-json.ts'
import { LabelScorer, type LabelScoring } from './label-scoring.ts'
import { type ModelQueue, queueWaitMs, ResponseTimes } from './pool/balance.ts'
import { TokenRewards } from './token-rewards.ts'
import { UpstreamError } from './transport/upstream-error.ts'

type AnyAnswer = Asks[AskName]['answer']

/** One reward model. Equal questions share a call; cached answers need none. */
export class Model {
  readonly config: ModelConfig
  readonly parts: ModelParts
  readonly #identity: string
  readonly #flights = new Map<string, SingleFlight<Dispatched<AnyAnswer>>>()
  readonly #sojourn: ResponseTimes
  #active = 0
  readonly #whenQuiet: (() => void)[] = []
  readonly #batcher: Batcher
  #scorer: LabelScorer | null = null
  #rewarder: TokenRewards | null = null

  constructor(config: ModelConfig, parts: ModelParts) {
    this.config = config
    this.parts = parts
    const { backend, model, revision, classify, choose, rewards, decide, chat_template } = config
    const how = [
      classify,
      choose,
      rewards,
      { ...decide, promptFormatVersion },
      ...(chat_template === undefined ? [] : [chat_template]),
    ]
    // Hashed because it is part of each question's key, and short keys are found faster.
    const identity = JSON.stringify([parts.dispatcher.model, backend, model, revision, ...how])
    this.#identity = hash('sha256', identity)
    const { dispatcher, headers } = parts
    this.#sojourn = new ResponseTimes(dispatcher.clock)
    this.#batcher = new Batcher({
      clock: dispatcher.clock,
      backend: parts.backend,
      headers,
      capacity: () => ({
        questions: Math.min(...dispatcher.pool.members.map(({ limit }) => limit)),
        tokens: Math.min(...dispatcher.pool.members.map(({ capacity: room }) => room.limits.tokens)),
      }),
      maxWaitMs: config.batch.max_wait_ms,
      hedgesImages: config.images.hedge,
      send: (work, stop) => dispatch(dispatcher, work, stop),
    })
  }

  async ask<A extends AskName>(request: AskRequest<A>): Promise<Answered<A>> {
    const settings = settingsOf(this.config, request)
    if (request.instance !== undefined)
      return answered(await askPinned(this, request, settings, request.instance), 'call')
    const key = keyOf(request, settings, this.#identity)
    const isToKeep = isCached(this.config, request.ask, settings)
    const { cache } = this.parts
    const { clock } = this.parts.dispatcher
    const forget = isToKeep ? () => cache.delete(key) : undefined
    const kept = request.answers?.get(key) ?? (isToKeep ? cache.get(key) : undefined)
    if (kept) {
      return answered({ ...kept, attempts: 0 }, 'cache', forget)
    }
    try {
      const since = clock.now()
      if (request.signal.aborted) throw this.missed('cancelled', since)
      if (request.deadline <= since) throw this.missed('deadline', since)
      let flight = this.#flights.get(key)
      const source = flight && !flight.stop.aborted ? 'joined' : 'call'
      if (!flight || source === 'call') flight = this.#start(key, request, settings, isToKeep)
      else if (flight.times) request.times?.share(flight.times)
      const done = await flight.join(clock, request.deadline, request.signal, (why) =>
        this.missed(why, since),
      )
      request.answers?.add(key, done)
      return answered(done, source, forget)
    } catch (error) {
      throw askError(error)
    }
  }

  /** The queue, and estimates of how long answers take. */
  get queue(): ModelQueue {
    const { pool, queueMemory } = this.parts.dispatcher
    const asked = this.#active
    const parkedSince = this.#parkedSince
    const { isFull, waitMs, maxWaitMs } = pool.queueStatus
    return {
      isFull: isFull || (parkedSince !== null && queueMemory.isFull),
      waitMs,
      maxWaitMs,
      parkedSince,
      asked,
      answerMs: (more) =>
        Math.max(this.#sojourn.expected(asked + more), queueWaitMs(pool.members, pool.waiting + more)),
    }
  }

  /** Questions are parked because no instance can be asked; see ModelQueue. */
  get isParked(): boolean {
    return this.#parkedSince !== null
  }

  /** See Models.answerBoundMs. */
  answerBoundMs(ahead: number, more: number): number {
    const { pool } = this.parts.dispatcher
    if (pool.waiting > 0 || this.#parkedSince !== null || this.config.max_queue === 0)
      return Number.POSITIVE_INFINITY
    let slowest = this.#sojourn.longestMs
    for (const { latencyMs } of pool.members) if (latencyMs > slowest) slowest = latencyMs
    return (Math.max(ahead, this.#active) + more) * slowest
  }

  /** How many questions are parked because no instance can be asked, and since when on the clock; null if none is. */
  get parked(): { readonly questions: number; readonly since: number } | null {
    const since = this.#parkedSince
    return since === null || this.#active === 0 ? null : { questions: this.#active, since }
  }

  /** Waits until the model is awake; null if it is. Counts the question as in flight. `leave` must follow. */
  enter(stop: CancelToken): Promise<void> | null {
    this.#active += 1
    const entered = this.parts.lease.enter(stop)
    if (!entered) return null
    return entered.catch((error: unknown) => {
      this.#done()
      throw error
    })
  }

  leave(): void {
    this.parts.lease.leave()
    this.#done()
  }

  /** Resolves when no question is in flight. */
  quiet(): Promise<void> {
    return this.#active === 0 ? Promise.resolve() : new Promise((resolve) => this.#whenQuiet.push(resolve))
  }

  /** Cancels everything in flight. */
  stop(): void {
    for (const flight of this.#flights.values()) flight.stop.stop()
  }

  /** Since when questions are parked, on the clock. They may have left since. */
  get #parkedSince(): number | null {
    const { dispatcher, lease } = this.parts
    return dispatcher.pool.liveness.parkedSince ?? lease.parkedSince
  }

  #start(
    key: string,
    request: AskRequest,
    settings: Settings,
    isToKeep: boolean,
  ): SingleFlight<Dispatched<AnyAnswer>> {
    const flight: SingleFlight<Dispatched<AnyAnswer>> = new SingleFlight(
      async (stop) => {
        const entered = this.enter(stop)
        const load = this.#active
        const { clock, pool, queueMemory } = this.parts.dispatcher
        // Time without a live instance says nothing about response times.
        const aliveMs = () => clock.now() - pool.liveness.deadMs
        const began = aliveMs()
        if (entered !== null) {
          request.times?.enters('parked', clock.now())
          await queueMemory.holding(1, bytesOfInput(request.input), false, () => entered)
          request.times?.enters('gateway', clock.now())
        }
        try {
          const done = await this.#call(request, settings, stop)
          this.#sojourn.observe(load, aliveMs() - began)
          if (isToKeep) this.parts.cache.set(key, done)
          return done
        } catch (error) {
          // A cancelled question would have taken even longer.
          const ms = aliveMs() - began
          if (stop.aborted && ms > this.#sojourn.expected(load)) this.#sojourn.observe(load, ms)
          throw error
        } finally {
          this.leave()
        }
      },
      () => {
        if (this.#flights.get(key) === flight) this.#flights.delete(key)
      },
      request.times,
    )
    this.#flights.set(key, flight)
    return flight
  }

  #call(request: AskRequest, settings: Settings, stop: CancelToken): Promise<Dispatched<AnyAnswer>> {
    const { ask, input, group = '', deadline, signal, trace, times: watch } = request
    const { backend, dispatcher } = this.parts
    const { balance } = this.config
    const prefix = balance === 'group_affinity' ? `${request.prefix}\n${group}` : request.prefix
    const asker = { request: signal, deadline, trace, watch }
    if (ask === 'choose' && this.config.choose.endpoint === 'generative_scoring')
      return this.#labelScorer().ask(input as RenderedInput['choose'], { ...asker, prefix }, settings, stop)
    if (ask === 'rewards' && this.config.rewards.returns === 'tokens')
      return this.#tokenRewards().ask(input as Rendered, { ...asker, prefix }, stop)
    const isText = isTextAsk(ask)
    const kind = this.#isShared(ask, input, settings)
      ? askingOf(backend, ask).batchKey(ask, input, settings)
      : null
    if (kind !== null) {
      // Servers only cache the prefixes of generated texts.
      const shared = {
        ask,
        settings,
        most: this.#mostShared(ask, input),
        prefix: isText && balance !== 'least_outstanding' ? prefix : '',
      }
      return this.#batcher.add(kind, shared, { ...asker, input, stop }) as Promise<Dispatched<AnyAnswer>>
    }
    const hedgesImages = this.config.images.hedge
    const asked = { ask, input, settings, prefix, request: signal, deadline, trace, watch, hedgesImages }
    const work = buildRequest(this.parts, asked)
    return dispatch(dispatcher, work, stop)
  }

  /** How many questions of an ask may share a request. */
  #mostShared(ask: AskName, input: AskRequest['input']): number {
    const { batch, decide } = this.config
    if (ask === 'service') return (input as RenderedInput['service']).batch?.max ?? 1
    return ask === 'decide' ? Math.min(batch.max_size, wireLimits(decide.wire).questions) : batch.max_size
  }

  #isShared(ask: AskName, input: AskRequest['input'], settings: Settings): boolean {
    const { max_size, generate } = this.config.batch
    if (ask === 'service') return true
    if (max_size === 1) return false
    // Those about the same images share them as they share a text.
    if (ask === 'decide') return true
    if (imagesOfInput(input).length > 0) return false
    if (!isTextAsk(ask) || generate === true) return true
    return generate === 'auto' && isShort(ask, input as RenderedInput['generate' | 'choose'], settings)
  }

  #labelScorer(): LabelScorer {
    this.#scorer ??= new LabelScorer(this.#tokenServers('has no /generative_scoring'))
    return this.#scorer
  }

  #tokenRewards(): TokenRewards {
    this.#rewarder ??= new TokenRewards(
      this.config.rewards,
      this.#tokenServers('takes no token ids for rewards'),
    )
    return this.#rewarder
  }

  #tokenServers(lack: string): LabelScoring {
    const { dispatcher, headers, backend } = this.parts
    const { generativeScoring: checked } = backend
    if (!checked)
      throw new UpstreamError('judge_rejected', `the ${this.config.backend} backend ${lack}`, {
        remedy: 'give-up',
        blame: false,
      })
    return { dispatcher, headers, serves: this.config.model, checked }
  }

  #done(): void {
    this.#active -= 1
    if (this.#active > 0) return
    for (const resolve of this.#whenQuiet.splice(0)) resolve()
  }

  /** The error of a question that nobody waits for any longer. `since`: when it was asked, on the clock. */
  missed(why: 'deadline' | 'cancelled', since: number): UpstreamError {
    if (why === 'cancelled') return clientGone()
    const { pool, model, clock } = this.parts.dispatcher
    if (!pool.isDead) return new UpstreamError('deadline', 'the deadline of this request has passed')
    const parkedMs = clock.now() - Math.max(since, this.#parkedSince ?? since)
    return new UpstreamError('judge_unreachable', parkedDetail(model, parkedMs))
  }
}

const clientGone = (): UpstreamError => new UpstreamError('cancelled', 'the client has gone')

/** The detail of a failure at the deadline while no instance of the model could be asked. */
export const parkedDetail = (model: string, ms: number): string =>
  `no instance of the model '${model}' answers; the question was parked for ${Math.round(ms / 100) / 10} s`

function answered<A extends AskName>(
  done: { answer: AnyAnswer; instance: string; attempts: number; prompt: number; completion: number },
  source: Answered['source'],
  forget?: () => void,
): Answered<A> {
  const { instance, attempts, prompt, completion } = done
  const answer = done.answer as Asks[A]['answer']
  return { answer, instance, source, attempts, tokens: { prompt, completion }, forget }
}

/** Asks one instance once, whatever its state, unless it sleeps or drains. Rejects with AskError. */
async function askPinned(
  model: { readonly config: ModelConfig; readonly parts: ModelParts },
  request: AskRequest,
  settings: Settings,
  address: string,
): Promise<Dispatched<AnyAnswer>> {
  const { dispatcher } = model.parts
  const { clock, pool } = dispatcher
  const { ask, input, prefix, deadline, signal } = request
  try {
    const member = pool.members.find((one) => one.address === address)
    if (!member || member.asleep || member.draining)
      throw new UpstreamError('judge_unreachable', 'the instance accepts no questions')
    if (ask === 'choose' && model.config.choose.endpoint === 'generative_scoring')
      throw new UpstreamError(
        'judge_rejected',
        'a single instance cannot be asked for labels through /generative_scoring',
      )
    if (ask === 'rewards' && model.config.rewards.returns === 'tokens')
      throw new UpstreamError('judge_rejected', 'a single instance cannot be asked for rewards of tokens')
    const flight = new SingleFlight(
      async (stop) => {
        const work = buildRequest(model.parts, { ask, input, settings, prefix, request: signal, deadline })
        const { lease } = model.parts
        if (!lease.borrow()) throw new UpstreamError('judge_unreachable', 'the instance accepts no questions')
        try {
          member.begin(work.load)
          const reading = await call(dispatcher, member, work, stop)
          return { ...reading, instance: address, attempts: 1 }
        } finally {
          lease.giveBack()
        }
      },
      () => {},
    )
    return await flight.join(clock, deadline, signal, (why) =>
      why === 'cancelled' ? clientGone() : new UpstreamError('deadline', 'no answer in time'),
    )
  } catch (error) {
    throw askError(error)
  }
}
