import type { Clock } from '../../../core/clock.ts'
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
const boundedLoad = 1.25

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

/** The queue that a new question would find. */
export interface QueueStatus {
  /** No slot is free and the queue has reached its limit. */
  readonly isFull: boolean
  /** Estimated wait in milliseconds at the recent throughput; 0 if none or unknown. */
  readonly waitMs: number
  /** The longest estimated wait for which a request is admitted; Infinity if only its deadline counts. */
  readonly maxWaitMs: number
}

/** A model's queue, and an estimate of when its questions are answered. */
export interface ModelQueue extends QueueStatus {
  /** Since when questions are parked because no instance can be asked, on the clock; null if none is. */
  readonly parkedSince: number | null
  /** Questions in flight, including queued ones. */
  readonly asked: number
  /** Estimated milliseconds until the last of `more` further questions is answered; 0 if unknown. */
  answerMs(more: number): number
}

/** Answers per millisecond at the current number of calls in flight and the recent latency. */
export function throughputOf(members: readonly PoolMember[]): number {
  let pace = 0
  // Calls in flight instead of limits: models that share a server share its throughput.
  for (const { inFlight, latencyMs } of members) if (latencyMs > 0) pace += inFlight / latencyMs
  return pace
}

/** Milliseconds until `questions` queued ones are answered if the members run at their limits; 0 if unknown. */
export function queueWaitMs(members: readonly PoolMember[], questions: number): number {
  let free = 0
  let pace = 0
  let latency = 0
  for (const { isAlive, latencyMs, limit, inFlight } of members) {
    if (!isAlive || latencyMs === 0) continue
    free += Math.max(0, limit - inFlight)
    pace += limit / latencyMs
    latency = Math.max(latency, latencyMs)
  }
  const excess = questions - free
  return excess > 0 && pace > 0 ? excess / pace + latency : 0
}

/** Response times of questions that found about the same load. */
interface Known {
  /** Moving averages. */
  load: number
  ms: number
  count: number
  at: number
}

/** Weight of the newest answer in a moving average. */
const newest = 0.1

/** Averages expire after this many milliseconds, or three times the average if that is longer. */
const keptMs = 30_000

/** The fewest answers that tell the effect of load from noise. */
const leastAnswers = 16

/**
 * How long questions take from start to answer, by how many are in flight (queued, at servers, or retried). At a full server the
 * time grows in proportion to the load, at an idle one not at all, and at most model servers it lies in between. So the times
 * at two loads predict the time at a third.
 */
export class ResponseTimes {
  readonly #clock: Clock
  /** By the binary logarithm of the load. */
  readonly #known: (Known | undefined)[] = []

  constructor(clock: Clock) {
    this.#clock = clock
  }

  /** `load`: questions in flight when this one was asked, including itself. */
  observe(load: number, ms: number): void {
    const at = this.#clock.now()
    const bucket = bucketOf(load)
    const known = this.#fresh(bucket, at)
    if (!known) {
      this.#known[bucket] = { load, ms, count: 1, at }
      return
    }
    known.load += newest * (load - known.load)
    known.ms += newest * (ms - known.ms)
    known.count += 1
    known.at = at
  }

  /** Estimated milliseconds until the `load`-th question in flight is answered; 0 if unknown. */
  expected(load: number): number {
    const now = this.#clock.now()
    const bucket = bucketOf(load)
    // The nearest load with data, and the two nearest loads below with enough answers to trust.
    let nearest: Known | null = null
    let sure: Known | null = null
    let before: Known | null = null
    for (let at = 0; at < this.#known.length; at += 1) {
      const known = this.#fresh(at, now)
      if (!known) continue
      if (at > bucket) {
        nearest ??= known
        break
      }
      nearest = known
      if (known.count < leastAnswers) continue
      before = sure
      sure = known
    }
    const seen = nearest?.ms ?? 0
    return sure ? Math.max(seen, sure.ms * (load / sure.load) ** growth(before, sure)) : seen
  }

  /** The longest average that is remembered, milliseconds. */
  get longestMs(): number {
    let longest = 0
    for (const known of this.#known) if (known && known.ms > longest) longest = known.ms
    return longest
  }

  #fresh(bucket: number, now: number): Known | undefined {
    const known = this.#known[bucket]
    return known && now - known.at <= Math.max(keptMs, 3 * known.ms) ? known : undefined
  }
}

/** The exponent with which time grows with load: 0 not at all, 1 in proportion. */
function growth(from: Known | null, to: Known): number {
  if (!from || to.load <= from.load) return 0
  return Math.min(1, Math.max(0, Math.log(to.ms / from.ms) / Math.log(to.load / from.load)))
}

const bucketOf = (load: number): number => Math.floor(Math.log2(Math.max(load, 1)))
