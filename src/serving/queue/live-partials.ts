/** The early results of rollouts that have no final yet, by number. Finding those behind a number is cheap, however many there are. */
export class LivePartials<P extends { readonly partial: { readonly number: number } | null }> {
  /** In order of their numbers; null: it counts no more. */
  #all: (P | null)[] = []
  #numbers: number[] = []
  #gone = 0

  /** `pending.partial` is set. Numbers come in order, apart from copies that are read after a start. */
  add(pending: P): void {
    const number = pending.partial?.number ?? 0
    const at = this.#behind(number)
    this.#all.splice(at, 0, pending)
    this.#numbers.splice(at, 0, number)
  }

  delete({ partial }: P): void {
    if (!partial) return
    const at = this.#behind(partial.number - 1)
    if (this.#numbers[at] !== partial.number || this.#all[at] === null) return
    this.#all[at] = null
    this.#gone += 1
    if (this.#gone * 2 <= this.#all.length) return
    const left = this.#all.filter((pending) => pending !== null)
    this.#all = left
    this.#numbers = left.map((pending) => pending.partial?.number ?? 0)
    this.#gone = 0
  }

  /** At most `count`, in order. */
  after(number: number, count: number): readonly P[] {
    const found: P[] = []
    for (let at = this.#behind(number); at < this.#all.length && found.length < count; at += 1) {
      const pending = this.#all[at]
      if (pending) found.push(pending)
    }
    return found
  }

  /** The place of the first number that is higher. */
  #behind(number: number): number {
    let from = 0
    let to = this.#numbers.length
    while (from < to) {
      const middle = (from + to) >> 1
      if ((this.#numbers[middle] as number) > number) to = middle
      else from = middle + 1
    }
    return from
  }
}
