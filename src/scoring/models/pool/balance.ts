import { hashedShare } from '../../../core/hash.ts'
import type { PoolMember } from './pool-member.ts'

const load = ({ endpoint, weight }: PoolMember): number => (endpoint.inFlight + 1) / weight

/** Picks two usable members by weight and takes the less loaded one (power of two choices); null if none is usable. */
export function leastOutstanding(
  members: readonly PoolMember[],
  usable: (member: PoolMember) => boolean,
  random: () => number,
): PoolMember | null {
  const one = drawn(members, usable, random)
  if (!one) return null
  const other = drawn(members, usable, random)
  return other && load(other) < load(one) ? other : one
}

/** The first usable member from a random start, drawn by weight. */
function drawn(
  members: readonly PoolMember[],
  usable: (member: PoolMember) => boolean,
  random: () => number,
): PoolMember | null {
  const { length } = members
  let left = 0
  for (const { weight } of members) left += weight
  left *= random()
  let start = 0
  while (start < length - 1) {
    left -= (members[start] as PoolMember).weight
    if (left < 0) break
    start += 1
  }
  for (let i = 0; i < length; i += 1) {
    const member = members[(start + i) % length] as PoolMember
    if (usable(member)) return member
  }
  return null
}

/** Load, as a multiple of its fair share, up to which a preferred instance is used. */
export const boundedLoad = 1.25

const keptOrders = 1024

/** The preference order of a pool's members for a prompt prefix, by weighted rendezvous hashing. */
export class Affinity {
  readonly #orders = new Map<string, readonly PoolMember[]>()

  /** Call when the members have changed. */
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

/** The first usable member in order whose load is within the bound; null if there is none. */
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

/** An instance this many times slower than the fastest is asked only if no other would answer sooner. */
const slowFactor = 2

/** Latency differences below this many milliseconds are noise. */
const slowFromMs = 100

/** A slow instance is tried again after this many of its own latencies without a call, and at least a second. */
const retryAfterLatencies = 10

/**
 * Which members are worth asking. With `waiting` questions in a queue that has not moved for `stoodMs`, a slow member is if it
 * answers before a fast one would have a free slot and answer, or if the queue has stood for its whole latency.
 */
export function slowInstanceFilter(
  members: readonly PoolMember[],
  line: { readonly waiting: number; readonly stoodMs: number },
  now: number,
): (member: PoolMember) => boolean {
  let best = Number.POSITIVE_INFINITY
  for (const { latencyMs, isAlive } of members)
    if (latencyMs > 0 && latencyMs < best && isAlive) best = latencyMs
  if (best === Number.POSITIVE_INFINITY) return () => true
  const quick = Math.max(best * slowFactor, best + slowFromMs)
  let soonest: number | null = null
  return ({ latencyMs, inFlight, lastBegan }) => {
    if (latencyMs <= quick || line.stoodMs >= latencyMs) return true
    soonest ??= best + (line.waiting + 1) / rateOf(members, quick)
    if (soonest >= latencyMs) return true
    return inFlight === 0 && now - lastBegan > Math.max(retryAfterLatencies * latencyMs, 1000)
  }
}

/** Answers per millisecond of the fast members at full load. */
function rateOf(members: readonly PoolMember[], quick: number): number {
  let rate = 0
  for (const { latencyMs, limit, isAlive } of members)
    if (latencyMs > 0 && latencyMs <= quick && isAlive) rate += limit / latencyMs
  return rate
}
