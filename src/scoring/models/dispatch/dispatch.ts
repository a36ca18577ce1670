import type { Clock } from '../../../core/clock.ts'
import type { Attempt } from '../../../core/sample/sample.ts'
import { AskError } from '../api/ask.ts'
import { CancelToken } from '../api/cancel-token.ts'
import type { ModelEvents } from '../api/events.ts'
import { bytesOfBody, type QueueMemory } from '../pool/capacity.ts'
import type { InstancePool, PoolRequest } from '../pool/pool.ts'
import type { PoolMember } from '../pool/pool-member.ts'
import type { ParsedReply } from '../transport/reply.ts'
import { abandoned, UpstreamError } from '../transport/upstream-error.ts'
import { call, type UpstreamRequest } from './call.ts'
import type { Hedge } from './hedge.ts'
import { isTriedAgain, type RetryBudget } from './retry.ts'

/** An answer and the instance that gave it. */
export interface Dispatched<T> extends ParsedReply<T> {
  readonly instance: string
  /** Calls made for the answer. */
  readonly attempts: number
}

/** What all calls of one model share. */
export interface Dispatcher {
  readonly model: string
  readonly clock: Clock
  readonly events: ModelEvents
  readonly pool: InstancePool
  /** Bounds the memory of waiting questions of all models. */
  readonly queueMemory: QueueMemory
  readonly budget: RetryBudget
  readonly hedge: Hedge | null
  readonly timeoutMs: number
  readonly maxReplyBytes: number
  readonly maxRetries: number
  readonly pauseMs: number
  readonly random: () => number
}

/** No instance answered the question. Lists every call that was made for it. */
export class AllAttemptsFailed extends Error {
  override readonly name = 'AllAttemptsFailed' as const
  readonly fault: UpstreamError
  readonly attempts: readonly Attempt[]

  constructor(fault: UpstreamError, attempts: readonly Attempt[]) {
    super(fault.message)
    this.fault = fault
    this.attempts = attempts
  }
}

/** The most hedges for one question. */
const mostHedges = 2

/** Calls made for one question. */
interface AttemptLog {
  readonly attempts: Attempt[]
  readonly tried: Set<PoolMember>
  retries: number
}

/** Sends a request to one instance after another until one answers. Rejects with AllAttemptsFailed. */
export async function dispatch<T>(
  to: Dispatcher,
  work: UpstreamRequest<T>,
  stop: CancelToken,
): Promise<Dispatched<T>> {
  const { pool, budget } = to
  const journey: AttemptLog = { attempts: [], tried: new Set(), retries: 0 }
  const { attempts, tried } = journey
  budget.earn()
  to.hedge?.earn()
  for (;;) {
    let fault: UpstreamError
    try {
      const member = pool.take(tried, work) ?? (await queued(to, tried, work, stop))
      // The last caller may have left between the slot becoming free and now.
      if (stop.aborted) {
        member.giveBack(work.load)
        throw abandoned()
      }
      return await (to.hedge
        ? hedged(to, member, work, stop, journey)
        : plain(to, member, work, stop, journey))
    } catch (error) {
      if (!(error instanceof UpstreamError)) throw error
      fault = error
    }
    if (!(await isTriedAgain(to, fault, journey, stop))) throw new AllAttemptsFailed(fault, attempts)
  }
}

async function queued(
  to: Dispatcher,
  tried: ReadonlySet<PoolMember>,
  work: UpstreamRequest<unknown>,
  stop: CancelToken,
): Promise<PoolMember> {
  const since = to.clock.now()
  const { message, load } = work
  const bytes = bytesOfBody(message.body)
  const member = await to.queueMemory.holding(load.questions, bytes, to.pool.isDead, () =>
    to.pool.wait(tried, work, stop, abandoned),
  )
  to.events.queued?.({ model: to.model, ms: to.clock.now() - since })
  return member
}

async function plain<T>(
  to: Dispatcher,
  member: PoolMember,
  work: UpstreamRequest<T>,
  stop: CancelToken,
  { attempts, tried }: AttemptLog,
): Promise<Dispatched<T>> {
  const { address } = member
  const began = to.clock.now()
  try {
    const { answer, prompt, completion } = await call(to, member, work, stop)
    return { answer, prompt, completion, instance: address, attempts: attempts.length + 1 }
  } catch (error) {
    tried.add(member)
    const ms = Math.round(to.clock.now() - began)
    attempts.push({ instance: address, ms, error: (error as Error).message })
    throw error
  }
}

/** Like `plain`, but asks a second instance if the answer is late, and takes the first good answer. */
function hedged<T>(
  to: Dispatcher,
  first: PoolMember,
  work: UpstreamRequest<T>,
  stop: CancelToken,
  journey: AttemptLog,
): Promise<Dispatched<T>> {
  const hedge = to.hedge as Hedge
  const began = to.clock.now()
  return new Promise((resolve, reject) => {
    const stops: CancelToken[] = []
    let untrack = () => {}
    let running = 0
    let calls = journey.attempts.length
    const end = () => {
      untrack()
      off()
      for (const own of stops) own.stop()
    }
    const run = (member: PoolMember, own: CancelToken) => {
      running += 1
      calls += 1
      plain(to, member, work, own, journey).then(
        (done) => {
          hedge.observe(to.clock.now() - began)
          end()
          resolve({ ...done, attempts: calls })
        },
        (fault) => {
          running -= 1
          if (running > 0) return
          end()
          reject(fault)
        },
      )
    }
    const begin = (): CancelToken => {
      const own = new CancelToken()
      stops.push(own)
      return own
    }
    run(first, begin())
    const off = stop.on(() => {
      for (const own of stops) own.stop()
    })
    const watch = (late: PoolMember) => {
      untrack = hedge.track(late, began, () => {
        const own = begin()
        acquireHedgeInstance(to, late, work, own).then(
          (second) => {
            // The answer may have come between the slot becoming free and now.
            if (!second || own.aborted) {
              second?.giveBack(work.load)
              hedge.refund()
              return
            }
            to.events.hedged?.({ model: to.model, instance: second.address })
            run(second, own)
            if (stops.length <= mostHedges) watch(second)
          },
          () => hedge.refund(),
        )
      })
    }
    watch(first)
  })
}

/** Takes a slot at an instance other than `first`, ahead of the queue; null if there is none. */
async function acquireHedgeInstance(
  to: Dispatcher,
  first: PoolMember,
  { request, deadline, load }: PoolRequest,
  stop: CancelToken,
): Promise<PoolMember | null> {
  const avoid = new Set([first])
  if (!to.pool.hasOther(avoid)) return null
  const anywhere = { request, deadline, load, prefix: '' }
  const member = to.pool.take(avoid, anywhere) ?? (await to.pool.wait(avoid, anywhere, stop, abandoned, true))
  if (member !== first) return member
  member.giveBack(load)
  return null
}

const retryable: ReadonlySet<string> = new Set([
  'judge_unreachable',
  'judge_timeout',
  'overloaded',
  'deadline',
  'cancelled',
])

/** Turns the error of a question's calls into an AskError. Throws any other error on, since it is a bug. */
export function askError(error: unknown): AskError {
  const fault = error instanceof AllAttemptsFailed ? error.fault : error
  if (!(fault instanceof UpstreamError)) throw error
  const failure = { kind: fault.kind, retryable: retryable.has(fault.kind), detail: fault.message }
  const attempts = error instanceof AllAttemptsFailed ? error.attempts : []
  return new AskError(attempts.length > 0 ? { ...failure, attempts } : failure)
}
