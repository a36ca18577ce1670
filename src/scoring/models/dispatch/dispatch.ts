import type { AskName } from '../../../contract/index.ts'
import type { Clock } from '../../../core/clock.ts'
import type { Attempt } from '../../../core/sample/sample.ts'
import type { Trace } from '../../../core/tracing/open-tracing.ts'
import { AskError } from '../interface/ask.ts'
import { CancelToken, pause } from '../interface/cancel-token.ts'
import type { ModelEvents } from '../interface/events.ts'
import { bytesOfBody, type QueueMemory } from '../pool/capacity.ts'
import type { InstancePool, PoolRequest } from '../pool/pool.ts'
import type { PoolMember } from '../pool/pool-member.ts'
import type { ParsedReply } from '../transport/reply.ts'
import { beginCall, type HttpMessage, type Reply, send, tokenFacts, traced } from '../transport/transport.ts'
import { abandoned, UpstreamError } from '../transport/upstream-error.ts'
import type { Hedge } from './hedge.ts'

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
  /** Instances called since the last decision to retry; empty if none was. */
  readonly tried: Set<PoolMember>
  /** Retries spent. */
  retries: number
}

/** Sends a request to one instance after another until one answers. Rejects with AllAttemptsFailed. */
export async function dispatch<T>(
  to: Dispatcher,
  work: UpstreamRequest<T>,
  stop: CancelToken,
): Promise<Dispatched<T>> {
  const { pool, budget } = to
  const log: AttemptLog = { attempts: [], tried: new Set(), retries: 0 }
  const { attempts, tried } = log
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
      work.watch?.enters('answer', to.clock.now())
      return await (to.hedge && work.isHedged !== false
        ? hedged(to, member, work, stop, log)
        : plain(to, member, work, stop, log))
    } catch (error) {
      if (!(error instanceof UpstreamError)) throw error
      work.watch?.failed()
      fault = error
    }
    const mayRepeat = work.isIdempotent !== false || fault.isUnsent
    if (!mayRepeat || !(await isTriedAgain(to, fault, log, stop)))
      throw new AllAttemptsFailed(fault, attempts)
  }
}

/**
 * Whether to retry a question whose call failed; resolves after the pause that is due. While no instance is alive and the
 * model's questions wait for one, a server that is away costs no retry. A server that received the question and failed costs
 * one, so that a question that crashes servers is not asked forever.
 */
export async function isTriedAgain(
  to: Dispatcher,
  fault: UpstreamError,
  tries: Pick<AttemptLog, 'tried' | 'retries'>,
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

async function queued(
  to: Dispatcher,
  tried: ReadonlySet<PoolMember>,
  work: UpstreamRequest<unknown>,
  stop: CancelToken,
): Promise<PoolMember> {
  const since = to.clock.now()
  const { message, load, watch } = work
  watch?.enters(to.pool.isDead ? 'parked' : 'line', since)
  const bytes = bytesOfBody(message.body)
  const member = await to.queueMemory.holding(load.questions, bytes, to.pool.isDead, () =>
    to.pool.wait(tried, work, stop, abandoned),
  )
  to.events.queued?.({ model: to.model, ms: to.clock.now() - since })
  return member
}

function plain<T>(
  to: Dispatcher,
  member: PoolMember,
  work: UpstreamRequest<T>,
  stop: CancelToken,
  { attempts, tried }: AttemptLog,
): Promise<Dispatched<T>> {
  const { address } = member
  const began = to.clock.now()
  return call(to, member, work, stop).then(
    ({ answer, prompt, completion }) => ({
      answer,
      prompt,
      completion,
      instance: address,
      attempts: attempts.length + 1,
    }),
    (error) => {
      tried.add(member)
      const ms = Math.round(to.clock.now() - began)
      attempts.push({ instance: address, ms, error: (error as Error).message })
      throw error
    },
  )
}

/** Like `plain`, but asks a second instance if the answer is late, and takes the first good answer. */
function hedged<T>(
  to: Dispatcher,
  first: PoolMember,
  work: UpstreamRequest<T>,
  stop: CancelToken,
  log: AttemptLog,
): Promise<Dispatched<T>> {
  const hedge = to.hedge as Hedge
  const began = to.clock.now()
  return new Promise((resolve, reject) => {
    const stops: CancelToken[] = []
    let untrack = () => {}
    let running = 0
    let calls = log.attempts.length
    const end = () => {
      untrack()
      off()
      for (const own of stops) own.stop()
    }
    const run = (member: PoolMember, own: CancelToken) => {
      const since = running === 0 ? null : to.clock.now()
      running += 1
      calls += 1
      plain(to, member, work, own, log).then(
        (done) => {
          hedge.observe(to.clock.now() - began)
          if (since !== null) work.watch?.overtaken(since)
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

const noTokens = { prompt: 0, completion: 0 }

const hung = (): UpstreamError =>
  new UpstreamError('judge_timeout', 'the server makes no progress', { blame: false, isHang: true })

/** Makes one call to an instance that `InstancePool.take` returned, and frees the slot. Rejects with UpstreamError. */
export async function call<T>(
  to: Pick<Dispatcher, 'model' | 'clock' | 'events' | 'pool' | 'timeoutMs' | 'maxReplyBytes'>,
  member: PoolMember,
  work: UpstreamRequest<T>,
  stop: CancelToken,
): Promise<ParsedReply<T>> {
  const { clock, events, model } = to
  const { ask } = work
  const { address, endpoint } = member
  const started = clock.now()
  member.lastAsk = ask
  events.callStarted?.({ model, instance: address, ask })
  const span = beginCall(work.trace, model, address, ask)
  const message = traced(work.message, span?.trace ?? work.trace)
  const exchange = send(endpoint.connections, message, {
    basePath: endpoint.basePath,
    maxReplyBytes: to.maxReplyBytes,
  })
  const cancelTimer = clock.after(to.timeoutMs, () =>
    exchange.abort(new UpstreamError('judge_timeout', `no answer within ${to.timeoutMs / 1000} s`)),
  )
  const off = stop.on(() => exchange.abort(abandoned()))
  const untrack = to.pool.onHang(member, () => exchange.abort(hung()))
  let tokens = noTokens
  let outcome: 'ok' | 'abandoned' | UpstreamError['kind'] = 'ok'
  try {
    const reading = work.read(await exchange.reply)
    tokens = reading
    member.succeeded(clock.now() - started)
    return reading
  } catch (error) {
    const fault =
      error instanceof UpstreamError
        ? error
        : new UpstreamError('judge_unreachable', 'the reply cannot be read')
    outcome = stop.aborted ? 'abandoned' : fault.kind
    if (stop.aborted) member.abandoned(clock.now() - started)
    else member.failed(fault)
    throw fault
  } finally {
    cancelTimer()
    off()
    untrack()
    member.end(work.load)
    span?.end(outcome === 'ok' ? null : outcome, tokenFacts(tokens))
    events.callEnded?.({ model, instance: address, ask, ms: clock.now() - started, outcome, tokens })
  }
}

/** A request to a server, and how to read its reply. */
export interface UpstreamRequest<T> extends PoolRequest {
  readonly ask: AskName | 'execute'
  readonly message: HttpMessage
  /** The trace that its calls belong to, if any. */
  readonly trace?: Trace | undefined
  /** False: it is never sent twice at once. */
  readonly isHedged?: boolean
  /** False: it is not sent again once a server may have received it. */
  readonly isIdempotent?: boolean
  /** Throws UpstreamError. */
  read(reply: Reply): ParsedReply<T>
}
