import { type Clock, systemClock } from '../clock.ts'
import { Attempts } from './attempts.ts'
import { Capacity } from './capacity.ts'
import type { Turn } from './conversation.ts'
import { FaultScript } from './faults.ts'
import { hashText } from './hash.ts'
import { Judge } from './judge.ts'
import { type Latency, latencyMs } from './latency.ts'
import type { SimulatedServerOptions } from './options.ts'
import { policyOf } from './policies/named.ts'
import { PrefixCache } from './prefix-cache.ts'
import { tooLong } from './refusal.ts'
import { Counters, count, type ServerStats } from './stats.ts'
import { countTokens } from './tokens.ts'

/** A prompt that the model has taken on. */
export interface Admitted {
  readonly text: string
  /** What the text was rendered from; absent: it came as text. */
  readonly turns?: readonly Turn[]
  readonly tokens: number
  readonly cachedTokens: number
  readonly question: number
  /** How often it was asked before. */
  readonly attempt: number
}

/** Reason of a signal that /abort_requests, /abort_request or /sleep aborted: the client still waits for a reply. */
export const abortedByRequest = 'aborted by request'

/** The caller has gone, or the server ends: nobody wants the answer. */
export class Gone extends Error {
  override readonly name = 'Gone' as const
}

/** The model behind the endpoints: what it knows, how fast it is, what it counts. */
export class SimulatedModel {
  readonly name: string
  readonly options: SimulatedServerOptions
  readonly clock: Clock
  readonly seed: string | number
  readonly maxModelLen: number
  readonly judge: Judge
  readonly faults: FaultScript
  readonly capacity: Capacity
  readonly cache: PrefixCache
  readonly counters = new Counters()
  /** Requests that ask the model, by id. */
  readonly inFlight = new Map<string, AbortController>()
  isSleeping = false
  /** What a sleeping server has yet to take back. */
  missing = new Set<string>()
  readonly #latency: Latency
  readonly #attempts: Attempts

  constructor(options: SimulatedServerOptions) {
    this.options = options
    this.name = options.model ?? 'simulated-judge'
    this.clock = options.clock ?? systemClock
    this.seed = options.seed ?? 0
    this.maxModelLen = options.maxModelLen ?? 32_768
    this.judge = new Judge(policyOf(options), options.wrongRate ?? 0, options.undecided ?? 0)
    this.faults = new FaultScript(this.seed, options.faults)
    this.capacity = new Capacity(this.clock, options.maxNumSeqs ?? 256)
    this.cache = new PrefixCache(options.prefixCacheBlocks ?? 8192)
    this.#attempts = options.attempts ?? new Attempts()
    this.#latency = {
      medianMs: options.latencyMedianMs ?? 0,
      sigma: options.latencySigma ?? 0,
      speed: options.speed ?? 1,
      seed: this.seed,
    }
  }

  /** Counts and looks up a prompt; throws a Refusal where it does not fit the window. */
  admit(text: string, turns?: readonly Turn[]): Admitted {
    const tokens = countTokens(text)
    if (tokens > this.maxModelLen) throw tooLong(this.maxModelLen, tokens)
    const question = hashText(text)
    this.counters.promptTokens += tokens
    return {
      text,
      ...(turns && { turns }),
      tokens,
      cachedTokens: this.cache.lookUp(text, tokens),
      question,
      attempt: this.#attempts.next(question),
    }
  }

  /** Milliseconds that one sequence takes once it runs; several choices of one prompt differ by `choice`. */
  sequenceMs(
    { question, attempt, tokens, cachedTokens }: Admitted,
    choice: number,
    slowdown: Slowdown,
  ): number {
    const prefill = (this.options.prefillMsPerToken ?? 0) * (tokens - cachedTokens)
    return (latencyMs(this.#latency, question + choice, attempt) + prefill) * slowdown.factor + slowdown.ms
  }

  /** Runs one sequence: waits for a slot, holds it. False where it was aborted by request; throws Gone when nobody waits. */
  async run(ms: number, signal: AbortSignal, finishReason: string): Promise<boolean> {
    const finished = await this.capacity.hold(ms, signal)
    count(this.counters.finishReasons, finished ? finishReason : 'abort')
    if (finished) {
      this.counters.finished += 1
      this.counters.busyMs += ms
      return true
    }
    this.counters.aborted += 1
    if (signal.reason !== abortedByRequest) throw new Gone()
    return false
  }

  /** Lets time pass without taking a slot; throws Gone when the signal aborts first. */
  async pause(ms: number, signal: AbortSignal): Promise<void> {
    if (signal.aborted) throw new Gone()
    if (ms <= 0) return
    await new Promise<void>((resolve, reject) => {
      const abort = (): void => {
        cancel()
        reject(new Gone())
      }
      const cancel = this.clock.after(ms, () => {
        signal.removeEventListener('abort', abort)
        resolve()
      })
      signal.addEventListener('abort', abort, { once: true })
    })
  }

  stats(): ServerStats {
    const { counters, capacity, cache } = this
    return {
      requests: Object.fromEntries(counters.requests),
      faults: Object.fromEntries(counters.faults),
      sequences: { finished: counters.finished, aborted: counters.aborted },
      refused: counters.refused,
      running: capacity.running,
      waiting: capacity.waiting,
      peakRunning: capacity.peak,
      inFlight: counters.inFlight,
      promptTokens: counters.promptTokens,
      generationTokens: counters.generationTokens,
      busyMs: counters.busyMs,
      prefixCache: { queries: cache.queries, hits: cache.hits },
      isSleeping: this.isSleeping,
      sleeps: counters.sleeps,
      wakes: counters.wakes,
    }
  }
}

/** What a `slow` fault does to a request's sequences. */
export interface Slowdown {
  readonly factor: number
  readonly ms: number
}
