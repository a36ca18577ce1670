import { hashedShare } from '../../../core/hash.ts'
import type { PoolMember } from './pool-member.ts'

const load = ({ endpoint, weight }: PoolMember): number => (endpoint.inFlight + 1) / weight

/** The less loaded of two drawn, by weight, from the members that can take a question; null: none can. */
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

/** The first usable member from a random place on. */
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

/** An instance so many times slower than the quickest is asked only where no other would answer sooner. */
const slowFactor = 2

/** Milliseconds that do not matter to a judgement: below them a difference is chance. */
const slowFromMs = 100

/** A slow instance without a call for so many of its own latencies, and a second, is tried again. */
const retryAfterLatencies = 10

/**
 * Which members are worth asking: with `waiting` questions in a line that has stood for `stoodMs`, a slow one is where it
 * answers before a place at a quick one is free and used, or when the line has stood for its whole latency.
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

/** Answers a millisecond of the quick members with all places taken. */
function rateOf(members: readonly PoolMember[], quick: number): number {
  let rate = 0
  for (const { latencyMs, limit, isAlive } of members)
    if (latencyMs > 0 && latencyMs <= quick && isAlive) rate += limit / latencyMs
  return rate
}
