import type { Spell } from '../../core/stalls/request-times.ts'
import type { Pending } from './run-state.ts'
import type { RunStore } from './run-store.ts'

/** Rollouts that are scored together: one, or a group that a reward compares. */
export interface Unit {
  readonly store: RunStore
  readonly members: readonly Pending[]
  /** Its answers are compared. */
  readonly isGroup: boolean
  /** Times that it was tried and found its servers away. */
  readonly tries: number
  /** What it waited for in them, oldest first. */
  readonly earlier?: readonly Spell[]
}

/** Units that may start: the highest priority first, runs in turn, in order of arrival within a run. */
export class ReadyUnits {
  readonly #levels = new Map<number, Map<RunStore, Fifo>>()

  add(unit: Unit): void {
    const priority = Math.max(...unit.members.map(({ head }) => head.priority))
    const level = this.#levels.get(priority) ?? new Map<RunStore, Fifo>()
    this.#levels.set(priority, level)
    const line = level.get(unit.store) ?? new Fifo()
    level.set(unit.store, line)
    line.push(unit)
  }

  /** The next unit; null if there is none. */
  take(): Unit | null {
    if (this.#levels.size === 0) return null
    const priority = Math.max(...this.#levels.keys())
    const level = this.#levels.get(priority) as Map<RunStore, Fifo>
    const [[store, line]] = level as unknown as [[RunStore, Fifo]]
    const unit = line.shift()
    level.delete(store)
    if (!line.isEmpty) level.set(store, line)
    if (level.size === 0) this.#levels.delete(priority)
    return unit ?? null
  }
}

/** A queue whose first entry costs the same to take, however long it is. */
class Fifo {
  #units: (Unit | undefined)[] = []
  #first = 0

  get isEmpty(): boolean {
    return this.#first === this.#units.length
  }

  push(unit: Unit): void {
    this.#units.push(unit)
  }

  shift(): Unit | undefined {
    const unit = this.#units[this.#first]
    this.#units[this.#first] = undefined
    this.#first += 1
    if (this.#first * 2 > this.#units.length && this.#first > 64) {
      this.#units = this.#units.slice(this.#first)
      this.#first = 0
    }
    return unit
  }
}
