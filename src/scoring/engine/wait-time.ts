/** How long a request waited for others: with a question at its models, or for other answers of a group. Milliseconds. */
export class WaitTime {
  #waits = 0
  #since = 0
  #ms = 0

  begin(now: number): void {
    if (this.#waits === 0) this.#since = now
    this.#waits += 1
  }

  end(now: number): void {
    this.#waits -= 1
    if (this.#waits === 0) this.#ms += now - this.#since
  }

  /** Until `now`; a request that ran out of time still has questions under way. */
  until(now: number): number {
    return this.#waits === 0 ? this.#ms : this.#ms + now - this.#since
  }
}
