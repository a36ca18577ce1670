import type { Clock } from '../../core/clock.ts'
import type { Pending } from './run-state.ts'
import type { RunStore } from './run-store.ts'

const tickMs = 1000

const secondOf = (ms: number): number => Math.ceil(ms / 1000)

/** When rollouts end, to the second: one timer for hundreds of thousands of them. */
export class Deadlines {
  readonly #clock: Clock
  readonly #wallClock: () => number
  readonly #ended: (store: RunStore, pending: Pending) => void
  /** Second of Unix time -> rollouts whose time ends in it. */
  readonly #seconds = new Map<number, Map<Pending, RunStore>>()
  #last: number
  #cancel: () => void

  /** `ended` is called for each rollout at its time, or up to a second later. */
  constructor(clock: Clock, wallClock: () => number, ended: (store: RunStore, pending: Pending) => void) {
    this.#clock = clock
    this.#wallClock = wallClock
    this.#ended = ended
    this.#last = secondOf(wallClock())
    this.#cancel = clock.after(tickMs, this.#tick)
  }

  /** `at`: Unix time in milliseconds. */
  add(store: RunStore, pending: Pending, at: number): void {
    const second = Math.max(this.#last + 1, secondOf(at))
    const own = this.#seconds.get(second) ?? new Map<Pending, RunStore>()
    this.#seconds.set(second, own)
    own.set(pending, store)
  }

  /** Forgets the rollout's deadline. */
  delete(pending: Pending): void {
    this.#seconds.get(secondOf(pending.head.deadline))?.delete(pending)
  }

  stop(): void {
    this.#cancel()
  }

  readonly #tick = (): void => {
    this.#cancel = this.#clock.after(tickMs, this.#tick)
    const now = secondOf(this.#wallClock()) - 1
    // The system's clock was set back.
    if (now < this.#last) this.#last = now
    if (now === this.#last) return
    const passed = now - this.#last
    const due =
      // The system's clock may jump.
      passed > this.#seconds.size
        ? [...this.#seconds.keys()].filter((second) => second <= now)
        : Array.from({ length: passed }, (_, k) => this.#last + 1 + k)
    this.#last = now
    for (const second of due) {
      const own = this.#seconds.get(second)
      this.#seconds.delete(second)
      for (const [pending, store] of own ?? []) if (!pending.isOver) this.#ended(store, pending)
    }
  }
}
