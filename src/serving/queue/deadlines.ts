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
  /** Where each rollout is in them. */
  readonly #secondOf = new Map<Pending, number>()
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

  /** A rollout has one time: this one takes the place of an earlier call's. `at`: Unix time in milliseconds. */
  set(store: RunStore, pending: Pending, at: number): void {
    this.delete(pending)
    const second = Math.max(this.#last + 1, secondOf(at))
    const own = this.#seconds.get(second) ?? new Map<Pending, RunStore>()
    this.#seconds.set(second, own)
    own.set(pending, store)
    this.#secondOf.set(pending, second)
  }

  /** Forgets the rollout. */
  delete(pending: Pending): void {
    const second = this.#secondOf.get(pending)
    if (second === undefined) return
    this.#secondOf.delete(pending)
    const own = this.#seconds.get(second)
    own?.delete(pending)
    if (own?.size === 0) this.#seconds.delete(second)
  }

  stop(): void {
    this.#cancel()
  }

  readonly #tick = (): void => {
    this.#cancel = this.#clock.after(tickMs, this.#tick)
    const now = secondOf(this.#wallClock()) - 1
    if (now <= this.#last) return
    const passed = now - this.#last
    const due =
      // The process may have been stopped.
      passed > this.#seconds.size
        ? [...this.#seconds.keys()].filter((second) => second <= now)
        : Array.from({ length: passed }, (_, k) => this.#last + 1 + k)
    this.#last = now
    for (const second of due) {
      const own = this.#seconds.get(second) ?? new Map<Pending, RunStore>()
      this.#seconds.delete(second)
      for (const pending of own.keys()) this.#secondOf.delete(pending)
      for (const [pending, store] of own) if (!pending.isOver) this.#ended(store, pending)
    }
  }
}
