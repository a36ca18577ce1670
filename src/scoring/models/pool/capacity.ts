import { questionBytes } from '../api/ask.ts'
import { UpstreamError } from '../transport/upstream-error.ts'

/** What a call weighs at a server. */
export interface Load {
  readonly questions: number
  /** Estimated: what it holds, and what may be generated for it where that is bounded. */
  readonly tokens: number
}

/** Tokens of a text of so many bytes: a quarter, as in English. */
export const estimatedTokens = (bytes: number): number => Math.ceil(bytes / 4)

/** The load of a call with this body. `generated`: tokens that may be written for all of its questions. */
export const loadOf = (body: string | Buffer, questions = 1, generated = 0): Load => ({
  questions,
  tokens: estimatedTokens(typeof body === 'string' ? Buffer.byteLength(body) : body.length) + generated,
})

/**
 * What is under way of one model at one server, within its limits. Room can be kept for a load too large for what is free: what
 * was under way before it drains, and those that come after have what it leaves of the limits. So it begins as soon as if nobody
 * had come after it.
 */
export class Capacity {
  questions = 0
  tokens = 0
  limits: Load
  #kept: Load | null = null
  /** What has begun since room is kept. */
  readonly #after = new Set<Load>()
  #questionsAfter = 0
  #tokensAfter = 0

  constructor(limits: Load) {
    this.limits = limits
  }

  /** Whether a load may begin. What is larger than a limit goes alone. */
  fits(load: Load): boolean {
    const kept = this.#kept
    if (kept !== null && kept !== load) {
      const questions = this.#questionsAfter + load.questions + kept.questions
      const tokens = this.#tokensAfter + load.tokens + kept.tokens
      if (questions > this.limits.questions || tokens > this.limits.tokens) return false
    }
    if (this.questions === 0) return true
    const { questions, tokens } = this.limits
    return this.questions + load.questions <= questions && this.tokens + load.tokens <= tokens
  }

  /** Whether there is room for something, if it is small enough. */
  get hasFree(): boolean {
    return this.questions < this.limits.questions && this.tokens < this.limits.tokens
  }

  /** False: room is kept for another. */
  reserve(load: Load): boolean {
    this.#kept ??= load
    return this.#kept === load
  }

  release(load: Load): void {
    if (this.#kept !== load) return
    this.#kept = null
    this.#after.clear()
    this.#questionsAfter = 0
    this.#tokensAfter = 0
  }

  /** `leave` with the same load must follow. */
  enter(load: Load): void {
    this.questions += load.questions
    this.tokens += load.tokens
    this.release(load)
    if (this.#kept === null) return
    this.#after.add(load)
    this.#questionsAfter += load.questions
    this.#tokensAfter += load.tokens
  }

  leave(load: Load): void {
    this.questions -= load.questions
    this.tokens -= load.tokens
    if (!this.#after.delete(load)) return
    this.#questionsAfter -= load.questions
    this.#tokensAfter -= load.tokens
  }
}

/** The memory that waiting questions take, over all models of a process. */
export class QueueMemory {
  readonly #maxBytes: number
  #bytes = 0

  constructor(maxBytes: number) {
    this.#maxBytes = maxBytes
  }

  /** Nothing further fits. */
  get isFull(): boolean {
    return this.#bytes >= this.#maxBytes
  }

  get bytes(): number {
    return this.#bytes
  }

  /**
   * Counts these questions with their texts for as long as `work` takes. Rejects with UpstreamError `overloaded` where they are parked
   * (no instance can be asked) and do not fit; a line that moves is bounded by what is let in.
   */
  async holding<T>(
    questions: number,
    textBytes: number,
    isParked: boolean,
    work: () => Promise<T>,
  ): Promise<T> {
    const bytes = questions * questionBytes + textBytes
    if (isParked && this.#bytes + bytes > this.#maxBytes)
      throw new UpstreamError(
        'overloaded',
        'no instance answers, and the memory for questions that wait is full',
        {
          remedy: 'give-up',
          blame: false,
        },
      )
    this.#bytes += bytes
    try {
      return await work()
    } finally {
      this.#bytes -= bytes
    }
  }
}

/** Of a body as it is sent; a text may take two bytes a character. */
export const bytesOfBody = (body: string | Buffer | null): number =>
  typeof body === 'string' ? 2 * body.length : (body?.length ?? 0)
