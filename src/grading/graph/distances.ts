/** Among more stops no distances are made up: that costs the cube of their number. */
const mostFilled = 200

/** Symmetric distances between stops by position; undefined where none is known. */
export class Distances {
  readonly #size: number
  readonly #known = new Map<number, number>()

  constructor(size: number) {
    this.#size = size
  }

  set(from: number, to: number, distance: number): void {
    this.#known.set(from * this.#size + to, distance)
    this.#known.set(to * this.#size + from, distance)
  }

  get(from: number, to: number): number | undefined {
    return this.#known.get(from * this.#size + to)
  }

  /** Whether every two different stops have a distance. */
  isComplete(): boolean {
    return this.#missing().next().done === true
  }

  /**
   * Gives each pair without a distance its shortest way over the stops, or `unconnected` where there is none.
   * In order of the pairs: a made-up distance serves the pairs after it. false: there are too many stops.
   */
  fill(unconnected: number): boolean {
    if (this.#size > mostFilled) return this.isComplete()
    let row: { readonly from: number; readonly shortest: Float64Array } | undefined
    for (const [from, to] of this.#missing()) {
      if (row?.from !== from) row = { from, shortest: this.#shortestFrom(from) }
      const shortest = row.shortest[to]!
      this.set(from, to, shortest === Number.POSITIVE_INFINITY ? unconnected : shortest)
      // An edge as long as the shortest way changes no other way; one between two islands does.
      if (shortest === Number.POSITIVE_INFINITY) row = undefined
    }
    return true
  }

  *#missing(): Generator<[number, number]> {
    for (let from = 0; from < this.#size; from++) {
      for (let to = from + 1; to < this.#size; to++) {
        if (this.get(from, to) === undefined) yield [from, to]
      }
    }
  }

  /** Dijkstra's algorithm without a heap: the graphs are dense. */
  #shortestFrom(start: number): Float64Array {
    const shortest = new Float64Array(this.#size).fill(Number.POSITIVE_INFINITY)
    const open = new Set(shortest.keys())
    shortest[start] = 0
    while (open.size > 0) {
      let nearest = -1
      for (const stop of open) if (nearest === -1 || shortest[stop]! < shortest[nearest]!) nearest = stop
      if (shortest[nearest] === Number.POSITIVE_INFINITY) break
      open.delete(nearest)
      for (const stop of open) {
        const way = shortest[nearest]! + (this.get(nearest, stop) ?? Number.POSITIVE_INFINITY)
        if (way < shortest[stop]!) shortest[stop] = way
      }
    }
    return shortest
  }
}
