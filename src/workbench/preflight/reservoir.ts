/** `size` of the items that come, each as likely as any other. */
export class Reservoir<T> {
  readonly items: T[] = []
  readonly #size: number
  readonly #random: () => number
  #seen = 0

  constructor(size: number, random: () => number) {
    this.#size = size
    this.#random = random
  }

  add(item: T): void {
    this.#seen++
    if (this.items.length < this.#size) this.items.push(item)
    else {
      const at = Math.floor(this.#random() * this.#seen)
      if (at < this.#size) this.items[at] = item
    }
  }
}
