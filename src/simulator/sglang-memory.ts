import type { Capacity, PrefixCache } from './capacity.ts'
import type { Counters } from './stats.ts'

/** Settings of a simulated SGLang, named after its arguments and environment variables. */
export interface SglangFlags {
  /** `--enable-memory-saver` (true here, off by default in SGLang). If off, releasing frees nothing. */
  readonly enableMemorySaver?: boolean
  /** `--enable-weights-cpu-backup` (false). Without it, released weights come back as zeros. */
  readonly enableWeightsCpuBackup?: boolean
  /** SGLANG_ENABLE_HEALTH_ENDPOINT_GENERATION (true): /health generates a token. */
  readonly healthGeneration?: boolean
  /** `--random-seed`. If absent: drawn at each start. */
  readonly randomSeed?: number
  /** SGLANG_REQUEST_STATE_WAIT_TIMEOUT (4000): how often it checks whether a client is still there. */
  readonly clientCheckMs?: number
}

/** The parts of a model that its memory affects. */
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
 * SGLang's memory saver and pause. It dies where release 0.5.14 was seen to die: resumed while awake,
 * released twice, released while busy, or asked while asleep.
 */
export class SglangMemory {
  readonly flags: Required<Omit<SglangFlags, 'randomSeed'>>
  /** The seed that /server_info reports. */
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

  /**
   * Whether a probe of this path generates a token. A server of both kinds counts as SGLang once it was
   * released.
   */
  writesForHealth(path: string): boolean {
    if (path === '/health_generate') return true
    const isSglang = this.#model.options.engine === 'sglang' || this.isAsleep || this.isPaused
    return path === '/health' && isSglang && this.flags.healthGeneration
  }

  /** Releases memory. Without tags: all of it. Throws Gone if the server dies of it. */
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

  /** Reacquires memory. Without tags: all of it. Throws Gone if the server dies of it. */
  resume(tags: readonly string[]): void {
    const wanted = tags.length === 0 ? allTags : tags
    for (const tag of wanted) if (!this.released.delete(tag)) this.#model.die(`KeyError: '${tag}'`)
    const { enableMemorySaver, enableWeightsCpuBackup } = this.flags
    if (wanted.includes('weights') && enableMemorySaver && !enableWeightsCpuBackup)
      this.#model.weights = 'zero'
    if (!this.isAsleep) this.#model.counters.wakes += 1
  }

  /** Holds all later requests before the scheduler. */
  pause(): void {
    this.isPaused = true
  }

  continue(): void {
    this.isPaused = false
    this.#open(true)
  }

  /** Restores the state of a new process. */
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
   * Admits a sequence to the scheduler. null: at once. Otherwise a promise, false if the signal aborts.
   * Throws Gone if it touches released memory, which kills the server.
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

  /** Ends the server and throws Gone if it touches released memory. */
  touch(): void {
    if (this.isAsleep && this.flags.enableMemorySaver) {
      this.#model.die('CUDA error: an illegal memory access was encountered')
    }
  }

  #open(isOpen: boolean): void {
    for (const pass of [...this.#gate]) pass(isOpen)
  }
}
