import { questionBytes } from '../interface/ask.ts'
import { type Body, ImageBody } from '../interface/question-json.ts'
import type { LateBody } from '../transport/transport.ts'
import { UpstreamError } from '../transport/upstream-error.ts'

/** The load of a call on a server. */
export interface Load {
  readonly questions: number
  /** Estimated: the prompt, plus `max_tokens` if it is set. */
  readonly tokens: number
}

/** Estimated tokens of a text: a quarter of its bytes, as in English. */
export const estimatedTokens = (bytes: number): number => Math.ceil(bytes / 4)

/** The load of a call. `generated`: tokens that may be generated for all of its questions. */
export const loadOf = (body: Body, questions = 1, generated = 0): Load => ({
  questions,
  tokens: tokensOfBody(body) + generated,
})

function tokensOfBody(body: Body): number {
  if (typeof body === 'string') return estimatedTokens(Buffer.byteLength(body))
  return body instanceof ImageBody
    ? estimatedTokens(body.ownLength) + body.tokens
    : estimatedTokens(body.length)
}

/**
 * What one model has in flight at one server, within limits. Capacity can be reserved for a load that is too large for what is
 * free: earlier calls drain, and later calls share what it leaves of the limits. So later calls never delay it.
 */
export class Capacity {
  questions = 0
  tokens = 0
  limits: Load
  #kept: Load | null = null
  /** Loads that have begun since the reservation. */
  readonly #after = new Set<Load>()
  #questionsAfter = 0
  #tokensAfter = 0

  constructor(limits: Load) {
    this.limits = limits
  }

  /** Whether a load may begin. A load larger than a limit runs alone. */
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

  /** Whether a load may begin if it is small enough. */
  get hasFree(): boolean {
    return this.questions < this.limits.questions && this.tokens < this.limits.tokens
  }

  /** False if capacity is reserved for another load. */
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

/** The memory that waiting questions of all models take. */
export class QueueMemory {
  readonly #maxBytes: number
  #bytes = 0

  constructor(maxBytes: number) {
    this.#maxBytes = maxBytes
  }

  /** Nothing more fits. */
  get isFull(): boolean {
    return this.#bytes >= this.#maxBytes
  }

  get bytes(): number {
    return this.#bytes
  }

  /**
   * Counts questions and their texts while `work` runs. Rejects with UpstreamError `overloaded` if they are parked (no instance
   * can be asked) and do not fit. A queue that moves is bounded by admission instead.
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
        'no instance answers, and the memory for waiting questions is full',
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

/** Memory of a request body; a string may take two bytes per character. Images belong to their sample until they are sent. */
export function bytesOfBody(body: string | Buffer | LateBody | null): number {
  if (typeof body === 'string') return 2 * body.length
  if (body === null) return 0
  return 'ownLength' in body ? 2 * body.ownLength : body.length
}
