import type { Member } from './balance.ts'

/** What a question would find that came now. */
export interface Line {
  /** No place is free, and as many wait as may. */
  readonly isFull: boolean
  /** Until it had a place, milliseconds, at the pace of late; 0: at once, or nothing is known of the pace. */
  readonly waitMs: number
  /** The longest wait that a request is let in for; Infinity: only its deadline says. */
  readonly maxWaitMs: number
}

/** Answers a millisecond that come from the places which these members hold, as long as their latest calls took. */
export function paceOf(members: readonly Member[]): number {
  let pace = 0
  // Places and not limits: models that share an instance share its answers.
  for (const { inFlight, instance } of members)
    if (instance.latencyMs > 0) pace += inFlight / instance.latencyMs
  return pace
}
