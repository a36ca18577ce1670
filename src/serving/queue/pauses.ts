import type { Clock } from '../../core/clock.ts'
import type { FailureKind } from '../../core/sample/sample.ts'
import type { Unit } from './ready.ts'
import type { Pending } from './run-state.ts'

/** Milliseconds of the first pause, which doubles, and of the longest. */
const pauses = { first: 1000, most: 60_000 }

/** How often it is looked whether a reward is there again. */
const lookMs = 1000

/** Why a unit pauses: the failure of its last try, or no config has its reward. */
export type PauseReason = FailureKind | 'reward_unknown'

interface PauseParts {
  readonly clock: Clock
  /** Gets a unit at the end of its pause. */
  readonly again: (unit: Unit) => void
  /** Whether a config has this reward. */
  readonly hasReward: (reward: string) => boolean
  /** Gets a unit once its reward is there again. */
  readonly found: (unit: Unit) => void
}

/** Units that found their servers away, until they are tried again, and those whose reward a reload has removed. */
export class Pauses {
  readonly #parts: PauseParts
  readonly #reasons = new Map<Pending, PauseReason>()
  readonly #unknown = new Map<string, Unit[]>()
  #cancelLook: (() => void) | null = null
  #isStopped = false
  readonly #cancels = new Set<() => void>()
  /** Pauses so far. */
  count = 0

  constructor(parts: PauseParts) {
    this.#parts = parts
  }

  /** Whether a rollout with this deadline may be tried again. Both in Unix time, in milliseconds. */
  static leavesTime = (deadline: number, now: number): boolean => deadline > now + pauses.first

  add(unit: Unit, reason: FailureKind): void {
    this.count += 1
    for (const pending of unit.members) this.#reasons.set(pending, reason)
    const cancel = this.#parts.clock.after(Math.min(pauses.most, pauses.first * 2 ** unit.tries), () => {
      this.#cancels.delete(cancel)
      for (const pending of unit.members) this.#reasons.delete(pending)
      this.#parts.again({ ...unit, tries: unit.tries + 1 })
    })
    this.#cancels.add(cancel)
  }

  /** Keeps a unit until a config has its reward. */
  awaitReward(unit: Unit): void {
    const { reward } = (unit.members[0] as Pending).head
    for (const pending of unit.members) this.#reasons.set(pending, 'reward_unknown')
    const units = this.#unknown.get(reward) ?? []
    this.#unknown.set(reward, units)
    units.push(unit)
    this.#lookLater()
  }

  readonly #look = (): void => {
    this.#cancelLook = null
    for (const [reward, units] of [...this.#unknown]) {
      const open = units.filter(({ members }) => members.some(({ isOver }) => !isOver))
      const isThere = this.#parts.hasReward(reward)
      for (const { members } of units)
        for (const pending of members) if (isThere || pending.isOver) this.#reasons.delete(pending)
      if (isThere || open.length === 0) this.#unknown.delete(reward)
      else this.#unknown.set(reward, open)
      if (isThere) for (const unit of open) this.#parts.found(unit)
    }
    if (this.#unknown.size > 0) this.#lookLater()
  }

  #lookLater(): void {
    if (!this.#isStopped) this.#cancelLook ??= this.#parts.clock.after(lookMs, this.#look)
  }

  /** Why a rollout pauses; undefined if it does not. */
  reasonOf(pending: Pending): PauseReason | undefined {
    return this.#reasons.get(pending)
  }

  stop(): void {
    this.#isStopped = true
    for (const cancel of this.#cancels) cancel()
    this.#cancelLook?.()
  }
}
