/** A binary heap whose items know where they are, so that any of them can be moved or taken out in O(log n). */
export class Heap<T> {
  readonly #items: T[] = []
  readonly #isBefore: (one: T, other: T) => boolean
  readonly #placed: (item: T, at: number) => void

  /** `placed` is told where an item is from now on; what it was told last is what `moved` and `remove` want. */
  constructor(isBefore: (one: T, other: T) => boolean, placed: (item: T, at: number) => void) {
    this.#isBefore = isBefore
    this.#placed = placed
  }

  get first(): T | undefined {
    return this.#items[0]
  }

  push(item: T): void {
    this.#rise(item, this.#items.push(item) - 1)
  }

  /** Tells that what orders the item at this place has changed. */
  moved(at: number): void {
    const item = this.#items[at] as T
    this.#sink(item, this.#rise(item, at))
  }

  remove(at: number): void {
    const last = this.#items.pop() as T
    if (at === this.#items.length) return
    this.#items[at] = last
    this.moved(at)
  }

  #rise(item: T, from: number): number {
    const items = this.#items
    let at = from
    while (at > 0) {
      const parent = (at - 1) >> 1
      if (!this.#isBefore(item, items[parent] as T)) break
      this.#put(items[parent] as T, at)
      at = parent
    }
    this.#put(item, at)
    return at
  }

  #sink(item: T, from: number): void {
    const items = this.#items
    let at = from
    for (;;) {
      let child = 2 * at + 1
      if (child >= items.length) break
      if (child + 1 < items.length && this.#isBefore(items[child + 1] as T, items[child] as T)) child += 1
      if (!this.#isBefore(items[child] as T, item)) break
      this.#put(items[child] as T, at)
      at = child
    }
    this.#put(item, at)
  }

  #put(item: T, at: number): void {
    this.#items[at] = item
    this.#placed(item, at)
  }
}
