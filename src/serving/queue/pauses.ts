import type { Clock } from '../../core/clock.ts'
import type { FailureKind } from '../../core/sample/sample.ts'
import type { Unit } from './ready.ts'
import type { Pending } from './run-state.ts'

/** Milliseconds of the first pause, which doubles, and of the longest. */
const pauses = { first: 1000, most: 60_000 }

/** Units that found their servers away, until they are tried again. */
export class Pauses {
  readonly #clock: Clock
  readonly #again: (unit: Unit) => void
  readonly #reasons = new Map<Pending, FailureKind>()
  readonly #cancels = new Set<() => void>()
  /** Pauses so far. */
  count = 0

  /** `again` gets a unit at the end of its pause. */
  constructor(clock: Clock, again: (unit: Unit) => void) {
    this.#clock = clock
    this.#again = again
  }

  /** Whether a rollout with this deadline may be tried again. Both in Unix time, in milliseconds. */
  static leavesTime = (deadline: number, now: number): boolean => deadline > now + pauses.first

  add(unit: Unit, reason: FailureKind): void {
    this.count += 1
    for (const pending of unit.members) this.#reasons.set(pending, reason)
    const cancel = this.#clock.after(Math.min(pauses.most, pauses.first * 2 ** unit.tries), () => {
      this.#cancels.delete(cancel)
      for (const pending of unit.members) this.#reasons.delete(pending)
      this.#again({ ...unit, tries: unit.tries + 1 })
    })
    this.#cancels.add(cancel)
  }

  /** Why a rollout pauses; undefined if it does not. */
  reasonOf(pending: Pending): FailureKind | undefined {
    return this.#reasons.get(pending)
  }

  stop(): void {
    for (const cancel of this.#cancels) cancel()
  }
}
