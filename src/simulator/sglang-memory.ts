import type { Capacity, PrefixCache } from './capacity.ts'
import type { Counters } from './stats.ts'

/** How a simulated SGLang is started; the names are those of its arguments and environment. */
export interface SglangFlags {
  /** `--enable-memory-saver` (true here; a real server has to be told): off, a release frees nothing. */
  readonly enableMemorySaver?: boolean
  /** `--enable-weights-cpu-backup` (false): without it, released weights come back as zeros. */
  readonly enableWeightsCpuBackup?: boolean
  /** SGLANG_ENABLE_HEALTH_ENDPOINT_GENERATION (true): /health writes a token. */
  readonly healthGeneration?: boolean
  /** `--random-seed`: absent: drawn at each start. */
  readonly randomSeed?: number
  /** SGLANG_REQUEST_STATE_WAIT_TIMEOUT (4000): how often it looks whether a client is still there. */
  readonly clientCheckMs?: number
}

/** What of a model its memory has to do with. */
interface Engine {
  readonly options: { readonly engine?: 'vllm' | 'sglang' }
  readonly capacity: Capacity
  readonly cache: PrefixCache
  readonly counters: Counters
  weights: 'sound' | 'zero' | 'garbage'
  /** Throws Gone. */
  die(reason: string): never
}

const allTags = ['kv_cache', 'weights']

/**
 * SGLang's memory saver and pause, with the ways in which a server of release 0.5.14 was seen to die: resumed while awake,
 * released twice, released while something runs, asked while asleep.
 */
export class SglangMemory {
  readonly flags: Required<Omit<SglangFlags, 'randomSeed'>>
  /** As /server_info tells it. */
  randomSeed = 0
  readonly released = new Set<string>()
  isPaused = false
  readonly #model: Engine
  readonly #givenSeed: number | undefined
  readonly #gate = new Set<(isOpen: boolean) => void>()

  constructor(model: Engine, flags: SglangFlags = {}) {
    this.#model = model
    this.#givenSeed = flags.randomSeed
    this.#start()
    this.flags = {
      enableMemorySaver: true,
      enableWeightsCpuBackup: false,
      healthGeneration: true,
      clientCheckMs: 4000,
      ...flags,
    }
  }

  get isAsleep(): boolean {
    return this.released.size > 0
  }

  /** Whether a probe of this path has the model write a token; a server of both kinds is an SGLang once it was released. */
  writesForHealth(path: string): boolean {
    if (path === '/health_generate') return true
    const isSglang = this.#model.options.engine === 'sglang' || this.isAsleep || this.isPaused
    return path === '/health' && isSglang && this.flags.healthGeneration
  }

  /** Gives memory back; no tags: all of it. Throws Gone where the server dies of it. */
  release(tags: readonly string[]): void {
    const { running, waiting } = this.#model.capacity
    if (running + waiting > 0) {
      this.#model.die('release_memory_occupation should be called only when server is idle.')
    }
    const wanted = tags.length === 0 ? allTags : tags
    if (this.flags.enableMemorySaver && wanted.some((tag) => this.released.has(tag))) {
      this.#model.die('Cannot pause allocation that is not active')
    }
    for (const tag of wanted) this.released.add(tag)
    this.#model.cache.clear()
    this.#model.counters.sleeps += 1
  }

  /** Takes memory again; no tags: all of it. Throws Gone where the server dies of it. */
  resume(tags: readonly string[]): void {
    const wanted = tags.length === 0 ? allTags : tags
    for (const tag of wanted) if (!this.released.delete(tag)) this.#model.die(`KeyError: '${tag}'`)
    const { enableMemorySaver, enableWeightsCpuBackup } = this.flags
    if (wanted.includes('weights') && enableMemorySaver && !enableWeightsCpuBackup)
      this.#model.weights = 'zero'
    if (!this.isAsleep) this.#model.counters.wakes += 1
  }

  /** Requests that come from now on wait before the scheduler. */
  pause(): void {
    this.isPaused = true
  }

  continue(): void {
    this.isPaused = false
    this.#open(true)
  }

  /** As a process has it that has just started. */
  reset(): void {
    this.released.clear()
    this.isPaused = false
    this.#start()
    this.#open(false)
  }

  #start(): void {
    this.randomSeed = this.#givenSeed ?? Math.floor(Math.random() * 2 ** 30)
  }

  /**
   * Whether a sequence may go to the scheduler: null where it may at once, else a promise, false when the signal aborts.
   * Throws Gone where its touch of memory that is gone kills the server.
   */
  admit(signal: AbortSignal): Promise<boolean> | null {
    if (!this.isPaused) {
      this.touch()
      return null
    }
    return new Promise<boolean>((resolve) => {
      const pass = (isOpen: boolean): void => {
        this.#gate.delete(pass)
        signal.removeEventListener('abort', abort)
        resolve(isOpen)
      }
      const abort = (): void => pass(false)
      signal.addEventListener('abort', abort, { once: true })
      this.#gate.add(pass)
      if (signal.aborted) abort()
    }).then((isOpen) => {
      if (isOpen) this.touch()
      return isOpen
    })
  }

  /** Throws Gone, and ends the server, where memory is touched that is gone. */
  touch(): void {
    if (this.isAsleep && this.flags.enableMemorySaver) {
      this.#model.die('CUDA error: an illegal memory access was encountered')
    }
  }

  #open(isOpen: boolean): void {
    for (const pass of [...this.#gate]) pass(isOpen)
  }
}
