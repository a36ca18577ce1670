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
export interface ModelLine extends QueueStatus {
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
export function lineMs(members: readonly PoolMember[], questions: number): number {
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
