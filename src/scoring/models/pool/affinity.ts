import { hashedShare } from '../../../core/hash.ts'
import type { PoolMember } from './pool-member.ts'

/** Load over its fair share that an instance may have before the next in order is asked. */
export const boundedLoad = 1.25

const keptOrders = 1024

/** The order of preference of a pool's members for a beginning of prompts, by weighted rendezvous hashing. */
export class Affinity {
  readonly #orders = new Map<string, readonly PoolMember[]>()

  /** Forgets the orders: the members have changed. */
  reset(): void {
    this.#orders.clear()
  }

  orderOf(prefix: string, members: readonly PoolMember[]): readonly PoolMember[] {
    const known = this.#orders.get(prefix)
    if (known) return known
    const scored = members.map((member) => ({
      member,
      // The logarithm needs a number in (0, 1).
      score: -member.weight / Math.log(hashedShare(`${member.address}\n${prefix}`) + 2 ** -33),
    }))
    const order = scored.sort((a, b) => b.score - a.score).map(({ member }) => member)
    if (this.#orders.size >= keptOrders) this.#orders.clear()
    this.#orders.set(prefix, order)
    return order
  }
}

/** The first usable member in order whose load stays within the bound; null: none. */
export function preferred(
  order: readonly PoolMember[],
  usable: (member: PoolMember) => boolean,
): PoolMember | null {
  let calls = 1
  let weights = 0
  for (const { endpoint, weight } of order) {
    calls += endpoint.inFlight
    weights += weight
  }
  for (const member of order) {
    const bound = Math.ceil((boundedLoad * calls * member.weight) / weights)
    if (usable(member) && member.endpoint.inFlight < bound) return member
  }
  return null
}
