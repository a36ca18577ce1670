/** Further calls as a share of first calls. The credit pays for one wave of calls lost with their instance. */
export class RetryBudget {
  #debt = 0
  readonly #share: number
  readonly #credit: () => number

  /** `credit`: how many calls can be under way. */
  constructor(share: number, credit: () => number) {
    this.#share = share
    this.#credit = credit
  }

  /** Counts a first call. */
  earn(): void {
    this.#debt = Math.max(0, this.#debt - this.#share)
  }

  /** Pays for one further call; false: there is nothing left. */
  spend(): boolean {
    if (this.#share === 0 || this.#debt + 1 > this.#credit()) return false
    this.#debt += 1
    return true
  }
}
