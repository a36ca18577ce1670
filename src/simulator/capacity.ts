import type { Clock } from '../core/clock.ts'
import { cyrb53 } from '../core/hash.ts'
import { charactersPerToken } from './tokens.ts'

/** vLLM's default. */
export const tokensPerBlock = 16
const blockLength = tokensPerBlock * charactersPerToken

/**
 * Models vLLM's automatic prefix caching: full blocks of 16 tokens, chained hashes, least recently used
 * eviction.
 */
export class PrefixCache {
  /** Tokens looked up and tokens found, like vLLM's two counters. */
  queries = 0
  hits = 0
  readonly #blocks = new Map<number, true>()
  readonly #limit: number

  /** `limit` is the number of blocks. 0 turns the cache off. */
  constructor(limit: number) {
    this.#limit = limit
  }

  /** Looks up a prompt, stores its blocks and returns the number of tokens found. */
  lookUp(prompt: string, tokens: number): number {
    if (this.#limit === 0) return 0
    this.queries += tokens
    let found = 0
    let isPrefix = true
    let chain = 0
    for (let start = 0; start + blockLength <= prompt.length; start += blockLength) {
      chain = cyrb53(prompt, chain % 2 ** 31, start, start + blockLength)
      isPrefix = this.#blocks.delete(chain) && isPrefix
      if (isPrefix) found += tokensPerBlock
      this.#blocks.set(chain, true)
    }
    this.#forgetOldest()
    this.hits += found
    return found
  }

  clear(): void {
    this.#blocks.clear()
  }

  #forgetOldest(): void {
    for (const block of this.#blocks.keys()) {
      if (this.#blocks.size <= this.#limit) return
      this.#blocks.delete(block)
    }
  }
}

interface Waiting {
  readonly start: () => void
}

/** A sequence's effects in its slot, besides its duration. */
interface InSlot {
  /** Tokens that it occupies in the cache. */
  readonly tokens?: number
  /** Called once the slot is taken. The sequence's time starts when this resolves to true; false gives up. */
  readonly first?: () => Promise<boolean> | boolean
  /**
   * Called when the time is over. The slot stays taken until it resolves; a rejection ends the sequence like
   * an abort.
   */
  readonly held?: () => Promise<void> | null
}

/** The slots of a continuously batching server: `limit` sequences run at once, the others wait in order. */
export class Capacity {
  running = 0
  peak = 0
  /** Tokens of the running sequences. */
  tokens = 0
  /** Running and waiting sequences at the last batch, for a server that only updates its gauges then. */
  lastBatch = { running: 0, waiting: 0 }
  readonly #clock: Clock
  readonly #limit: number
  readonly #queue = new Set<Waiting>()
  readonly #idle: (() => void)[] = []
  #paused = false

  constructor(clock: Clock, limit: number) {
    this.#clock = clock
    this.#limit = limit
  }

  get waiting(): number {
    return this.#queue.size
  }

  /** Holds a slot for `ms`. Resolves to false and releases the slot as soon as the signal aborts. */
  hold(ms: number, signal: AbortSignal, inSlot: InSlot = {}): Promise<boolean> | boolean {
    if (signal.aborted) return false
    let early: Promise<void> | null = null
    if (ms <= 0 && !inSlot.first && this.#isFree() && this.#queue.size === 0) {
      early = inSlot.held?.() ?? null
      if (!early) {
        this.peak = Math.max(this.peak, this.running + 1)
        this.#sees(this.running + 1)
        return true
      }
    }
    return new Promise((resolve) => {
      const start = (leave: () => void): void => {
        let isOver = false
        let cancel = (): void => {}
        const end = (finished: boolean): void => {
          if (isOver) return
          isOver = true
          signal.removeEventListener('abort', abort)
          cancel()
          resolve(finished)
          leave()
        }
        const abort = (): void => end(false)
        const over = (): void => {
          const held = early ?? inSlot.held?.() ?? null
          if (held) held.then(() => end(true), abort)
          else end(true)
        }
        const goOn = (isReady: boolean): void => {
          if (!isReady) end(false)
          else if (early) over()
          else if (!isOver) cancel = this.#clock.after(ms, over)
        }
        signal.addEventListener('abort', abort, { once: true })
        const ready = inSlot.first?.() ?? true
        if (typeof ready === 'boolean') goOn(ready)
        else void ready.then(goOn)
      }
      this.#lineUp(inSlot.tokens ?? 0, signal, start, () => resolve(false))
    })
  }

  /** Takes a slot. Resolves to a function that releases it, or null if the signal aborted first. */
  enter(tokens: number, signal: AbortSignal): Promise<(() => void) | null> {
    if (signal.aborted) return Promise.resolve(null)
    return new Promise((resolve) => this.#lineUp(tokens, signal, resolve, () => resolve(null)))
  }

  /** Resolves when nothing runs. */
  idle(): Promise<void> {
    if (this.running === 0) return Promise.resolve()
    return new Promise((resolve) => {
      this.#idle.push(resolve)
    })
  }

  /** While paused, nothing starts and running sequences continue. */
  set paused(paused: boolean) {
    this.#paused = paused
    this.#startWaiting()
  }

  #lineUp(tokens: number, signal: AbortSignal, start: (leave: () => void) => void, gone: () => void): void {
    const abort = (): void => {
      this.#queue.delete(waiting)
      gone()
    }
    const waiting: Waiting = {
      start: () => {
        signal.removeEventListener('abort', abort)
        this.running += 1
        this.tokens += tokens
        this.peak = Math.max(this.peak, this.running)
        this.#sees(this.running)
        start(() => this.#leave(tokens))
      },
    }
    signal.addEventListener('abort', abort, { once: true })
    this.#queue.add(waiting)
    this.#startWaiting()
  }

  #leave(tokens: number): void {
    this.running -= 1
    this.tokens -= tokens
    this.#startWaiting()
    if (this.running > 0) this.#sees(this.running)
    else for (const tell of this.#idle.splice(0)) tell()
  }

  #sees(running: number): void {
    this.lastBatch = { running, waiting: this.#queue.size }
  }

  #startWaiting(): void {
    for (const waiting of this.#queue) {
      if (!this.#isFree()) return
      this.#queue.delete(waiting)
      waiting.start()
    }
  }

  #isFree(): boolean {
    return !this.#paused && this.running < this.#limit
  }
}
