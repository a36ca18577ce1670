import type { PoolMember } from './pool-member.ts'

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
