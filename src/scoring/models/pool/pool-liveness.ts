import type { Clock } from '../../../core/clock.ts'
import type { PoolMember } from './pool-member.ts'

/** Whether any instance of a model lives; since when none does, and since when questions are parked for that. */
export class PoolLiveness {
  readonly #clock: Clock
  readonly #waitMs: number
  readonly #tellParked: (isParked: boolean) => void
  readonly #giveUp: () => void
  #deadSince: number | null = null
  #parkedSince: number | null = null
  #deadMs = 0
  #hasLived: boolean
  #cancel: (() => void) | null = null

  /**
   * `waitMs`: how long questions wait for an instance, Infinity: as long as they may; then `giveUp` ends those that wait.
   * `hasLived`: an instance lived under an earlier reading of the configs. `parked` is told when questions begin to wait while
   * no instance lives, and when one lives again.
   */
  constructor(
    clock: Clock,
    settings: { waitMs: number; hasLived?: boolean; parked?: (isParked: boolean) => void },
    giveUp: () => void,
  ) {
    this.#clock = clock
    this.#waitMs = settings.waitMs
    this.#hasLived = settings.hasLived ?? false
    this.#tellParked = settings.parked ?? (() => {})
    this.#giveUp = giveUp
  }

  /** No instance is believed to work. */
  get isDead(): boolean {
    return this.#deadSince !== null
  }

  /** Questions wait for an instance as long as their deadline allows. */
  get isPatient(): boolean {
    return this.#waitMs === Number.POSITIVE_INFINITY
  }

  /** No instance has lived for so long that questions fail at once. */
  get isGivenUp(): boolean {
    return this.#deadSince !== null && this.#clock.now() - this.#deadSince >= this.#waitMs
  }

  /** An instance was believed to work at some time. */
  get hasLived(): boolean {
    return this.#hasLived
  }

  /** Since when questions wait while no instance lives, on the clock, though they may have left; null: none came. */
  get parkedSince(): number | null {
    return this.#parkedSince
  }

  /** Milliseconds, all together, in which no instance lived. */
  get deadMs(): number {
    return this.#deadMs + (this.#deadSince === null ? 0 : this.#clock.now() - this.#deadSince)
  }

  /** A question has joined the line. */
  joined(): void {
    if (!this.isDead || this.#parkedSince !== null) return
    this.#parkedSince = this.#clock.now()
    this.#tellParked(true)
  }

  /** Looks whether any member lives, or may; `hasLine`: questions wait. */
  watch(members: readonly PoolMember[], hasLine: boolean): void {
    this.#hasLived ||= members.some(({ isAlive }) => isAlive)
    const mayLive = members.some(({ isAlive, isJoining }) => isAlive || isJoining)
    if (mayLive && this.isDead) {
      this.#deadMs = this.deadMs
      this.#deadSince = null
      this.end()
      if (this.#parkedSince === null) return
      this.#parkedSince = null
      this.#tellParked(false)
    } else if (!mayLive && !this.isDead) {
      this.#deadSince = this.#clock.now()
      if (hasLine) this.joined()
      if (!this.isPatient) this.#cancel = this.#clock.after(this.#waitMs, this.#giveUp)
    }
  }

  /** Ends its timer. */
  end(): void {
    this.#cancel?.()
    this.#cancel = null
  }
}
