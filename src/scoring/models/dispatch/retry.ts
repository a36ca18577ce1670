import type { Clock } from '../../../core/clock.ts'
import { type CancelToken, pause } from '../api/cancel-token.ts'
import type { ModelEvents } from '../api/events.ts'
import type { InstancePool } from '../pool/pool.ts'
import type { PoolMember } from '../pool/pool-member.ts'
import type { UpstreamError } from '../transport/upstream-error.ts'

/** What decides about retries of one model's questions. */
interface Retrying {
  readonly model: string
  readonly clock: Clock
  readonly events: ModelEvents
  readonly pool: InstancePool
  readonly budget: RetryBudget
  readonly maxRetries: number
  readonly pauseMs: number
  readonly random: () => number
}

/** The calls of one question so far. */
interface Tries {
  /** Instances called since the last decision to retry; empty if none was. */
  readonly tried: Set<PoolMember>
  /** Retries spent. */
  retries: number
}

/**
 * Whether to retry a question whose call failed; resolves after the pause that is due. While no instance is alive and the
 * model's questions wait for one, a server that is away costs no retry. A server that received the question and failed costs
 * one, so that a question that crashes servers is not asked forever.
 */
export async function isTriedAgain(
  to: Retrying,
  fault: UpstreamError,
  tries: Tries,
  stop: CancelToken,
): Promise<boolean> {
  const { pool, budget, events, model } = to
  const { tried } = tries
  if (tried.size === 0 || fault.remedy === 'give-up' || stop.aborted) return false
  const paused = () => {
    const ms = to.pauseMs * 2 ** tries.retries * (0.5 + to.random())
    return pause(to.clock, Math.max(ms, fault.waitMs), stop)
  }
  // The first calls that a crashing server loses fail before it is known to be dead.
  const isDoubtful = pool.isPatient && fault.isConnection && !pool.isDead && !pool.hasOther(tried)
  if (isDoubtful) await paused()
  if (stop.aborted) return false
  const isParked = pool.isPatient && pool.isDead
  if (isParked && (fault.isAway || tries.retries < to.maxRetries)) {
    if (!fault.isAway) tries.retries += 1
    tried.clear()
  } else {
    // A server that hangs costs its questions no retry.
    if (!fault.isHang) {
      if (tries.retries >= to.maxRetries) return false
      if (!budget.spend()) {
        events.retryDenied?.({ model })
        return false
      }
    }
    if (!pool.hasOther(tried)) {
      tried.clear()
      if (!isDoubtful) await paused()
      if (stop.aborted) return false
    }
    if (!fault.isHang) tries.retries += 1
  }
  events.retried?.({ model, kind: fault.kind })
  return true
}

/** Limits retries to a share of first calls. The credit covers one wave of calls lost with their instance. */
export class RetryBudget {
  #debt = 0
  readonly #share: number
  readonly #credit: () => number

  /** `credit`: how many calls can be in flight. */
  constructor(share: number, credit: () => number) {
    this.#share = share
    this.#credit = credit
  }

  /** Counts a first call. */
  earn(): void {
    this.#debt = Math.max(0, this.#debt - this.#share)
  }

  /** Pays for one retry; false if the budget is spent. */
  spend(): boolean {
    if (this.#share === 0 || this.#debt + 1 > this.#credit()) return false
    this.#debt += 1
    return true
  }
}
