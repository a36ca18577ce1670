/** How often each question was asked. One for several servers, so that a retry elsewhere is another attempt. */
export class Attempts {
  readonly #counts = new Map<number, number>()
  readonly #limit: number

  /** Forgets the question that has waited longest since it was first asked, beyond `limit` of them. */
  constructor(limit = 200_000) {
    this.#limit = limit
  }

  /** The index, from 0, of this asking. */
  next(question: number): number {
    const count = this.#counts.get(question) ?? 0
    this.#counts.set(question, count + 1)
    if (this.#counts.size > this.#limit) {
      const oldest = this.#counts.keys().next()
      if (!oldest.done) this.#counts.delete(oldest.value)
    }
    return count
  }
}
