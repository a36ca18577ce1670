import type { Clock } from '../../../core/clock.ts'
import { type CancelToken, pause } from '../api/cancel-token.ts'
import type { ModelEvents } from '../api/events.ts'
import type { InstancePool } from '../pool/pool.ts'
import type { PoolMember } from '../pool/pool-member.ts'
import type { UpstreamError } from '../transport/upstream-error.ts'

/** What the further calls of one model's questions hang on. */
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

/** One question's calls so far. */
interface Tries {
  /** Empty: it was not called since it was last decided to call it. */
  readonly tried: Set<PoolMember>
  /** Further calls that it has spent. */
  retries: number
}

/**
 * Whether a question whose call failed is called once more; resolves after the pause that is due. While no instance lives and
 * the model's questions wait for one, a server that was not there costs none of the further calls. A server that was there and
 * failed at the question costs one, so that a question which brings servers down is not asked for ever.
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
  // The first calls that a dying server loses come back before it is known to be dead.
  const isDoubtful = pool.isPatient && fault.isConnection && !pool.isDead && !pool.hasOther(tried)
  if (isDoubtful) await paused()
  if (stop.aborted) return false
  const isParked = pool.isPatient && pool.isDead
  if (isParked && (fault.isAway || tries.retries < to.maxRetries)) {
    if (!fault.isAway) tries.retries += 1
    tried.clear()
  } else {
    // A server that hangs costs its questions none of their further calls.
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

/** Further calls as a share of first calls. The credit pays for one wave of calls lost with their instance. */
export class RetryBudget {
  #debt = 0
  readonly #share: number
  readonly #credit: () => number

  /** `credit`: how many calls can be under way. */
  constructor(share: number, credit: () => number) {
    this.#share = share
    this.#credit = credit
  }

  /** Counts a first call. */
  earn(): void {
    this.#debt = Math.max(0, this.#debt - this.#share)
  }

  /** Pays for one further call; false: there is nothing left. */
  spend(): boolean {
    if (this.#share === 0 || this.#debt + 1 > this.#credit()) return false
    this.#debt += 1
    return true
  }
}
