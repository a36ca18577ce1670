/** How long a request had at least one question at its models: in line, called or called again. Milliseconds. */
export class ModelTime {
  #asking = 0
  #since = 0
  #ms = 0

  begin(now: number): void {
    if (this.#asking === 0) this.#since = now
    this.#asking += 1
  }

  end(now: number): void {
    this.#asking -= 1
    if (this.#asking === 0) this.#ms += now - this.#since
  }

  /** Until `now`; a request that ran out of time still has questions under way. */
  until(now: number): number {
    return this.#asking === 0 ? this.#ms : this.#ms + now - this.#since
  }
}
