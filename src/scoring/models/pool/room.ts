import type { Load } from './load.ts'

/**
 * What is under way of one model at one server, within its limits. Room can be kept for a load too large for what is free: what
 * was under way before it drains, and those that come after have what it leaves of the limits. So it begins as soon as if nobody
 * had come after it.
 */
export class Room {
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
  get isLeft(): boolean {
    return this.questions < this.limits.questions && this.tokens < this.limits.tokens
  }

  /** False: room is kept for another. */
  keep(load: Load): boolean {
    this.#kept ??= load
    return this.#kept === load
  }

  drop(load: Load): void {
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
    this.drop(load)
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
