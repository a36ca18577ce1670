import { finished } from 'node:stream'
import type { Forwarded, ForwardRequest } from '../models/api/forwarded.ts'
import type { Models } from '../models/models.ts'

/** Requests that are passed on to models, counted until their replies end, so that a reload or an end can wait. */
export class ForwardTracker {
  readonly #models: Models
  #active = 0
  #waiting: (() => void)[] = []

  constructor(models: Models) {
    this.#models = models
  }

  /** As Models.forward. */
  async forward(model: string, request: ForwardRequest): Promise<Forwarded> {
    this.#active += 1
    try {
      const forwarded = await this.#models.forward(model, request)
      finished(forwarded.body, () => this.#ended())
      return forwarded
    } catch (error) {
      this.#ended()
      throw error
    }
  }

  get inFlight(): number {
    return this.#active
  }

  /** Resolves once none is under way. */
  idle(): Promise<void> {
    return this.#active === 0 ? Promise.resolve() : new Promise((resolve) => this.#waiting.push(resolve))
  }

  #ended(): void {
    this.#active -= 1
    if (this.#active > 0) return
    for (const wake of this.#waiting.splice(0)) wake()
  }
}
