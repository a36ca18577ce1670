/** Further calls as a share of first calls. A full purse pays for one wave of calls lost with their instance. */
export class RetryBudget {
  #purse: number
  readonly #share: number
  readonly #capacity: () => number

  /** `capacity`: how many calls can be under way. */
  constructor(share: number, capacity: () => number) {
    this.#share = share
    this.#capacity = capacity
    this.#purse = capacity()
  }

  /** Counts a first call. */
  earn(): void {
    this.#purse = Math.min(this.#purse + this.#share, this.#capacity())
  }

  /** Pays for one further call; false: there is nothing left. */
  spend(): boolean {
    if (this.#share === 0 || this.#purse < 1) return false
    this.#purse -= 1
    return true
  }
}
