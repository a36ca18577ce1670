import type { Waiter } from './fair-line.ts'
import type { PoolMember } from './pool-member.ts'

/** Room that a pool keeps for one who is next and too large for what is free: at one member, so that the others go on. */
export class KeptRoom<W extends Waiter> {
  #kept: { readonly waiter: W; readonly member: PoolMember } | null = null

  /** For whom it is kept; null: for nobody. */
  get waiter(): W | null {
    return this.#kept?.waiter ?? null
  }

  /** Keeps it at the emptiest of the members that are usable, unless it is kept where calls are still worth waiting for. */
  keep(
    waiter: W,
    members: readonly PoolMember[],
    isUsable: (member: PoolMember) => boolean,
    isWorth: (member: PoolMember) => boolean,
  ): void {
    if (this.#kept) {
      const { member } = this.#kept
      if (member.isAlive && isWorth(member)) return
      this.drop(this.#kept.waiter)
    }
    let best: PoolMember | null = null
    for (const member of members)
      if (isUsable(member) && (best === null || member.inFlight / member.limit < best.inFlight / best.limit))
        best = member
    if (best?.room.keep(waiter.question.load)) this.#kept = { waiter, member: best }
  }

  /** The waiter needs it no more; the member where others may have it, or null. */
  drop(waiter: W): PoolMember | null {
    if (this.#kept?.waiter !== waiter) return null
    const { member } = this.#kept
    member.room.drop(waiter.question.load)
    this.#kept = null
    return member
  }

  /** The member has left the pool. */
  dropAt(member: PoolMember): void {
    if (this.#kept?.member === member) this.drop(this.#kept.waiter)
  }
}
