import type { Clock } from '../../../core/clock.ts'
import type { PoolMember } from './pool-member.ts'

/** Whether any instance of a model is alive, since when none is, and since when questions are parked because of that. */
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
   * `waitMs`: how long questions wait for an instance before `giveUp` fails them; Infinity: until their deadline. `hasLived`: an
   * instance was alive before the reload. `parked` is called when questions start to wait because no instance is alive, and
   * when one is alive again.
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

  /** No instance is alive. */
  get isDead(): boolean {
    return this.#deadSince !== null
  }

  /** Questions wait for an instance as long as their deadline allows. */
  get isPatient(): boolean {
    return this.#waitMs === Number.POSITIVE_INFINITY
  }

  /** No instance has been alive for `waitMs`, so questions fail at once. */
  get isGivenUp(): boolean {
    return this.#deadSince !== null && this.#clock.now() - this.#deadSince >= this.#waitMs
  }

  /** An instance has been alive at some time. */
  get hasLived(): boolean {
    return this.#hasLived
  }

  /** Since when questions are parked, on the clock; null if none came. They may have left since. */
  get parkedSince(): number | null {
    return this.#parkedSince
  }

  /** Total milliseconds without a live instance. */
  get deadMs(): number {
    return this.#deadMs + (this.#deadSince === null ? 0 : this.#clock.now() - this.#deadSince)
  }

  /** A question was queued. */
  joined(): void {
    if (!this.isDead || this.#parkedSince !== null) return
    this.#parkedSince = this.#clock.now()
    this.#tellParked(true)
  }

  /** Checks whether any member is or may be alive. `hasLine`: questions are queued. */
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

  /** Cancels its timer. */
  end(): void {
    this.#cancel?.()
    this.#cancel = null
  }
}
