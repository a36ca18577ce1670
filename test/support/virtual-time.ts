import type { Clock } from '../../src/core/clock.ts'

interface Timer {
  readonly at: number
  readonly order: number
  readonly fn: () => void
  isOver: boolean
}

/** Time that jumps to the next timer as soon as nothing is left to do at the present one. */
export class VirtualTime implements Clock {
  #now = 0
  #order = 0
  #holds = 0
  readonly #turns: number
  readonly #heap: Timer[] = []

  /**
   * `turns`: turns of the event loop after each timer, in which promises and, on the loopback of this process, sockets do what the timer set
   * off. Four are enough for promises.
   */
  constructor(turns = 4) {
    this.#turns = turns
  }

  now(): number {
    return this.#now
  }

  after(ms: number, fn: () => void): () => void {
    const timer = { at: this.#now + Math.max(ms, 0), order: this.#order++, fn, isOver: false }
    this.#push(timer)
    return () => {
      timer.isOver = true
    }
  }

  /** Time stands still until `work` has settled: what disks, threads and other processes do has no timer here. */
  async hold<T>(work: Promise<T>): Promise<T> {
    this.#holds += 1
    try {
      return await work
    } finally {
      this.#holds -= 1
    }
  }

  /** Lets time pass until `work` has settled. Throws where it never can: no timer is left. */
  async pass<T>(work: Promise<T>): Promise<T> {
    let isSettled = false
    const settle = () => {
      isSettled = true
    }
    work.then(settle, settle)
    for (;;) {
      // What a timer set off runs to its end first, however many promises and turns of the loop that takes.
      for (let turn = 0; turn < this.#turns; turn++) await new Promise(setImmediate)
      if (isSettled) return work
      if (this.#holds > 0) continue
      const next = this.#pop()
      if (!next) throw new Error('the work waits for something that is no timer')
      this.#now = next.at
      next.fn()
    }
  }

  #push(timer: Timer): void {
    const heap = this.#heap
    let at = heap.push(timer) - 1
    while (at > 0) {
      const parent = (at - 1) >> 1
      if (isBefore(heap[parent] as Timer, timer)) break
      heap[at] = heap[parent] as Timer
      at = parent
    }
    heap[at] = timer
  }

  #pop(): Timer | undefined {
    for (;;) {
      const first = this.#heap[0]
      const last = this.#heap.pop()
      if (first !== last && last) this.#sink(last)
      if (!first?.isOver) return first
    }
  }

  #sink(timer: Timer): void {
    const heap = this.#heap
    let at = 0
    for (;;) {
      let child = 2 * at + 1
      const [left, right] = [heap[child], heap[child + 1]]
      if (!left) break
      if (right && isBefore(right, left)) child += 1
      if (isBefore(timer, heap[child] as Timer)) break
      heap[at] = heap[child] as Timer
      at = child
    }
    heap[at] = timer
  }
}

const isBefore = (one: Timer, other: Timer): boolean =>
  one.at < other.at || (one.at === other.at && one.order < other.order)
