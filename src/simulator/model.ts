import { type Clock, systemClock } from '../core/clock.ts'
import { cyrb53 } from '../core/hash.ts'
import { Capacity, PrefixCache, tokensPerBlock } from './capacity.ts'
import type { Turn } from './conversation.ts'
import { FaultScript } from './faults.ts'
import { normal } from './hash.ts'
import { Judge } from './judge.ts'
import { Attempts, type SimulatedServerOptions } from './options.ts'
import { policyOf } from './policies.ts'
import { tooLong } from './refusal.ts'
import { SglangMemory } from './sglang-memory.ts'
import { Counters, count, type ServerStats } from './stats.ts'
import { countTokens } from './tokens.ts'

/**
 * A log-normal distribution: half of all sequences take less than the median. Sigma applies to the logarithm.
 */
interface Latency {
  readonly medianMs: number
  readonly sigma: number
  /** 2 is twice as fast, 0.2 five times slower. */
  readonly speed: number
  readonly seed: string | number
}

/**
 * The duration of a sequence in milliseconds, the same for a question and attempt in every process and on
 * every server.
 */
export function latencyMs(latency: Latency, question: number, attempt: number): number {
  if (latency.medianMs <= 0) return 0
  const deviation = latency.sigma === 0 ? 0 : latency.sigma * normal(latency.seed, question, attempt)
  return (latency.medianMs * Math.exp(deviation)) / latency.speed
}

/** A prompt that the model has accepted. */
export interface Admitted {
  readonly text: string
  /** The turns that the text was rendered from. If absent, the prompt was a text. */
  readonly turns?: readonly Turn[]
  readonly tokens: number
  readonly cachedTokens: number
  readonly question: number
  /** How often it was asked before. */
  readonly attempt: number
}

/**
 * The reason of a signal aborted by /abort_requests, /abort_request or /sleep. The client still waits for a
 * reply.
 */
export const abortedByRequest = 'aborted by request'

/** The client has left or the server has ended, so nobody wants the answer. */
export class Gone extends Error {
  override readonly name = 'Gone' as const
}

/** The model behind the endpoints: its policy, speed and counters. */
export class SimulatedModel {
  readonly name: string
  /** The path of its weights. */
  readonly path: string
  /** Its name in /v1/models. */
  listedAs: string
  readonly options: SimulatedServerOptions
  readonly clock: Clock
  readonly seed: string | number
  readonly maxModelLen: number
  readonly judge: Judge
  readonly faults: FaultScript
  readonly capacity: Capacity
  readonly cache: PrefixCache
  readonly counters = new Counters()
  /** Requests to the model, by id. */
  readonly inFlight = new Map<string, AbortController>()
  /** vLLM's sleep. SGLang's is in `sglang`. */
  isSleeping = false
  /** Memory that a sleeping server must still reacquire. */
  missing = new Set<string>()
  readonly sglang: SglangMemory
  /** Sleep leaves `zero` or `garbage` weights. The model's output then has no meaning. */
  weights: 'sound' | 'zero' | 'garbage' = 'sound'
  /** The cause of death, or null while it lives. */
  diedOf: string | null = null
  /** The server's owner cuts its connections here. */
  onDeath = (): void => {}
  /** Prompts are read one after another if reading has a rate. */
  readonly #reading: Capacity
  readonly #latency: Latency
  readonly #attempts: Attempts
  /** When each running sequence got its slot. */
  readonly #running = new Map<Sequence, number>()
  #generated = 0
  #reported = 0

  constructor(options: SimulatedServerOptions) {
    this.options = options
    this.name = options.model ?? 'simulated-judge'
    this.path = `/models/${this.name}`
    this.listedAs = this.name
    this.clock = options.clock ?? systemClock
    this.seed = options.seed ?? 0
    this.maxModelLen = options.maxModelLen ?? 32_768
    this.judge = new Judge(policyOf(options), options.wrongRate ?? 0, options.undecided ?? 0)
    this.faults = new FaultScript(this.seed, this.clock, options.faults)
    this.capacity = new Capacity(this.clock, options.maxNumSeqs ?? 256)
    this.cache = new PrefixCache(options.prefixCacheBlocks ?? usualBlocks)
    this.sglang = new SglangMemory(this, options.sglang)
    this.#reading = new Capacity(this.clock, 1)
    this.#attempts = options.attempts ?? new Attempts()
    this.#latency = {
      medianMs: options.latencyMedianMs ?? 0,
      sigma: options.latencySigma ?? 0,
      speed: options.speed ?? 1,
      seed: this.seed,
    }
  }

  /** The cache's capacity in tokens. A server without prefix caching has one, too. */
  get cacheTokens(): number {
    return (this.options.prefixCacheBlocks || usualBlocks) * tokensPerBlock
  }

  /** Share of the cache that running sequences use, 0 to 1. */
  get cacheUsage(): number {
    return Math.min(1, this.capacity.tokens / this.cacheTokens)
  }

  /**
   * Tokens that it has generated so far, as its metrics say: those of running sequences too, and hidden ones of sequences that took longer than
   * their text. None while it hangs.
   */
  get generatedTokens(): number {
    if (this.faults.isHanging) return this.#reported
    let partial = 0
    for (const [sequence, since] of this.#running) {
      const share = (this.clock.now() - since) / (sequence.firstMs + sequence.restMs)
      partial += Math.floor(Math.min(1, share) * generatedBy(sequence))
    }
    this.#reported = Math.max(this.#reported, this.#generated + partial)
    return this.#reported
  }

  /**
   * Counts a prompt's tokens and looks it up in the cache. Throws a Refusal if it does not fit the window.
   */
  admit(text: string, turns?: readonly Turn[]): Admitted {
    const tokens = countTokens(text)
    if (tokens > this.maxModelLen) throw tooLong(this.maxModelLen, tokens)
    const question = cyrb53(text)
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

  /** The cost of one sequence once it runs. Several choices of one prompt differ by `choice`. */
  sequence(
    { question, attempt, tokens, cachedTokens }: Admitted,
    choice: number,
    { factor, ms }: Slowdown,
    written: number,
    finishReason: string,
  ): Sequence {
    const { prefillMsPerToken = 0, decodeMsPerToken = 0, prefillTokensPerS } = this.options
    const drawn = latencyMs(this.#latency, question + choice, attempt)
    const unread = tokens - cachedTokens
    // What ran into its limit took the time of the tokens that it wrote.
    const isCut = finishReason === 'length'
    return {
      readMs: prefillTokensPerS === undefined ? 0 : (unread / prefillTokensPerS) * 1000 * factor,
      firstMs: (drawn * firstTokenShare + prefillMsPerToken * unread) * factor + ms,
      restMs:
        (Math.min(drawn * (1 - firstTokenShare), isCut ? written * thoughtMs : endless) +
          decodeMsPerToken * written) *
        factor,
      tokens: tokens + written,
      written,
      finishReason,
    }
  }

  /**
   * Runs one sequence: waits for a slot and holds it. Resolves to false if it was aborted by request. Throws
   * Gone if nobody waits.
   */
  async run({ signal, held }: Wanted, sequence: Sequence): Promise<boolean> {
    const admitted = this.sglang.admit(signal)
    const ms = sequence.firstMs + sequence.restMs
    const first = async (): Promise<boolean> => {
      const hasRead = sequence.readMs <= 0 || (await this.#reading.hold(sequence.readMs, signal))
      if (hasRead) this.#running.set(sequence, this.clock.now())
      return hasRead
    }
    const finished =
      (admitted === null || (await admitted)) &&
      (await this.capacity.hold(ms, signal, {
        tokens: sequence.tokens,
        held,
        ...((sequence.readMs > 0 || ms > 0) && { first }),
      }))
    this.#count(finished, sequence)
    if (!finished && signal.reason !== abortedByRequest) throw new Gone()
    return finished
  }

  /**
   * Starts a streamed sequence. Resolves to its slot at the time of its first token, or to null if it was
   * aborted by request. Throws Gone if nobody waits.
   */
  async begin({ signal }: Pick<Wanted, 'signal'>, sequence: Sequence): Promise<Slot | null> {
    const admitted = this.sglang.admit(signal)
    const isIn = admitted === null || (await admitted)
    const leave = isIn ? await this.capacity.enter(sequence.tokens, signal) : null
    const isReady =
      leave !== null &&
      (sequence.readMs <= 0 || (await this.#reading.hold(sequence.readMs, signal))) &&
      (await this.#passes(sequence.firstMs, signal))
    let isOver = false
    if (isReady) this.#running.set(sequence, this.clock.now() - sequence.firstMs)
    const end = (finished: boolean): void => {
      if (isOver) return
      isOver = true
      leave?.()
      this.#count(finished, sequence)
    }
    if (isReady) return { end, passes: (ms) => this.#passes(ms, signal) }
    end(false)
    if (signal.reason !== abortedByRequest) throw new Gone()
    return null
  }

  /**
   * Waits without taking a slot. Throws Gone if the signal aborts first. Without a time, waits until it
   * aborts.
   */
  async pause(ms: number | undefined, signal: AbortSignal): Promise<void> {
    if (!(await this.#passes(ms ?? Number.POSITIVE_INFINITY, signal))) throw new Gone()
  }

  /** Ends the server like a crash. */
  die(reason: string): never {
    if (this.diedOf === null) {
      this.diedOf = reason
      this.onDeath()
    }
    throw new Gone()
  }

  /** Forgets what a new process does not have: cached prefixes, sleep, lost weights. */
  reset(): void {
    this.diedOf = null
    this.weights = 'sound'
    this.listedAs = this.name
    this.isSleeping = false
    this.missing.clear()
    this.capacity.paused = false
    this.capacity.lastBatch = { running: 0, waiting: 0 }
    this.cache.clear()
    this.#running.clear()
    this.#generated = 0
    this.#reported = 0
    this.sglang.reset()
  }

  #count(finished: boolean, sequence: Sequence): void {
    const { firstMs, restMs, finishReason } = sequence
    this.#running.delete(sequence)
    if (finished) this.#generated += generatedBy(sequence)
    count(this.counters.finishReasons, finished ? finishReason : 'abort')
    if (!finished) {
      this.counters.aborted += 1
      return
    }
    this.counters.finished += 1
    this.counters.busyMs += firstMs + restMs
  }

  async #passes(ms: number, signal: AbortSignal): Promise<boolean> {
    if (signal.aborted) return false
    if (ms <= 0) return true
    return new Promise<boolean>((resolve) => {
      const abort = (): void => {
        cancel()
        resolve(false)
      }
      const pass = (): void => {
        signal.removeEventListener('abort', abort)
        resolve(true)
      }
      const cancel = Number.isFinite(ms) ? this.clock.after(ms, pass) : () => {}
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
      isSleeping: this.isSleeping || this.sglang.isAsleep,
      sleeps: counters.sleeps,
      wakes: counters.wakes,
      weights: this.weights,
      diedOf: this.diedOf,
    }
  }
}

/** A `slow` fault's effect on a request's sequences. */
export interface Slowdown {
  readonly factor: number
  readonly ms: number
}

const usualBlocks = 8192

const endless = Number.POSITIVE_INFINITY

/** Milliseconds that a sequence takes for a token, if its text is too short for its time: a model that thinks. */
const thoughtMs = 25

const generatedBy = ({ firstMs, restMs, written }: Sequence): number =>
  Math.max(written, Math.floor((firstMs + restMs) / thoughtMs))

/** The share of the latency before the first token. */
const firstTokenShare = 0.3

/** A request that is served for as long as somebody wants the answer. */
export interface Wanted {
  /** Aborts when the client leaves or the server ends. */
  readonly signal: AbortSignal
  /**
   * Null unless a fault holds the answer. Resolves when that is over, and throws Gone if the answer is
   * dropped.
   */
  readonly held: () => Promise<void> | null
}

/** The time and memory of one sequence. */
interface Sequence {
  /** Reading time, during which no other prompt is read. */
  readonly readMs: number
  /** Time until its first token. */
  readonly firstMs: number
  /** Time after its first token. */
  readonly restMs: number
  /** Of prompt and text. */
  readonly tokens: number
  readonly written: number
  readonly finishReason: string
}

/** The slot of a running sequence. */
interface Slot {
  /** False as soon as the sequence is aborted. */
  passes(ms: number): Promise<boolean>
  /** Releases the slot once. */
  end(finished: boolean): void
}
