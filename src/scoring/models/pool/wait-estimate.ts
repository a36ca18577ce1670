import type { Clock } from '../../../core/clock.ts'
import type { PoolMember } from './pool-member.ts'

/** What a question would find that came now. */
export interface QueueStatus {
  /** No place is free, and as many wait as may. */
  readonly isFull: boolean
  /** Until it had a place, milliseconds, at the pace of late; 0: at once, or nothing is known of the pace. */
  readonly waitMs: number
  /** The longest wait that a request is let in for; Infinity: only its deadline says. */
  readonly maxWaitMs: number
}

/** How a model's line stands, with what is known of the model's pace. */
export interface ModelQueue extends QueueStatus {
  /** Since when no instance can be asked although questions came, on the clock; null: one can, or none came. */
  readonly parkedSince: number | null
  /** Questions under way: asked and not answered. */
  readonly asked: number
  /** Milliseconds until the last of so many further questions would be answered; 0: nothing is known of the pace. */
  answerMs(more: number): number
}

/** Answers a millisecond that come from the places which these members hold, as long as their latest calls took. */
export function throughputOf(members: readonly PoolMember[]): number {
  let pace = 0
  // Places and not limits: models that share a server share its answers.
  for (const { inFlight, latencyMs } of members) if (latencyMs > 0) pace += inFlight / latencyMs
  return pace
}

/** Milliseconds until `questions` in line have a place and an answer, with every place of these members taken; 0: unknown. */
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

/** What is known of the time that answers took which found about as many questions under way. */
interface Known {
  /** Moving averages. */
  load: number
  ms: number
  count: number
  at: number
}

/** The share of the newest answer in an average. */
const newest = 0.1

/** Older knowledge of a load counts no more, unless answers take longer than a third of that. */
const keptMs = 30_000

/** So many answers tell what load does from chance. */
const leastAnswers = 16

/**
 * How long a question takes from its asking to its answer, by how many are under way: in line, at the servers, tried again.
 * At a full server the time grows as the load does, at one with room not at all, and at most model servers something
 * between: what two loads took says what a third will take.
 */
export class ResponseTimes {
  readonly #clock: Clock
  /** By the binary logarithm of the load. */
  readonly #known: (Known | undefined)[] = []

  constructor(clock: Clock) {
    this.#clock = clock
  }

  /** `load`: questions under way when it was asked, itself among them. */
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

  /** Milliseconds until a question that came as the `load`-th would be answered; 0: nothing is known. */
  expected(load: number): number {
    const now = this.#clock.now()
    const bucket = bucketOf(load)
    // The next load that is known, and the next two below of which enough is known to tell from chance.
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

/** How the time grows from one load to a larger one: 0 not at all, 1 as the load does. */
function growth(from: Known | null, to: Known): number {
  if (!from || to.load <= from.load) return 0
  return Math.min(1, Math.max(0, Math.log(to.ms / from.ms) / Math.log(to.load / from.load)))
}

const bucketOf = (load: number): number => Math.floor(Math.log2(Math.max(load, 1)))
