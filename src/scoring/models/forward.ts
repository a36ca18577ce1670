import { CancelToken, whenAborted } from './api/cancel-token.ts'
import type { Forwarded, ForwardRequest } from './api/forwarded.ts'
import { isTriedAgain } from './dispatch/retry.ts'
import { type Begun, begin, Refused } from './forward-call.ts'
import type { Model } from './model.ts'
import { bytesOfBody } from './pool/line-memory.ts'
import { loadOf } from './pool/load.ts'
import type { PoolMember } from './pool/pool-member.ts'
import { UpstreamError } from './transport/upstream-error.ts'

/**
 * Passes a request on under the pool's limits; retried only before a reply began. What the last server says of it, an
 * error too, is passed on. Rejects with UpstreamError where none said anything.
 */
export async function forward(model: Model, request: ForwardRequest): Promise<Forwarded> {
  const { clock } = model.parts.dispatcher
  const { isFull, waitMs, maxWaitMs } = model.line
  if (isFull || waitMs > Math.min(maxWaitMs, request.deadline - clock.now()))
    throw new UpstreamError('overloaded', 'too many questions wait for this model', { remedy: 'give-up' })
  const body = bodyOf(request, model.config.model)
  const stop = new CancelToken()
  let isLate = false
  const off = whenAborted(request.signal, () => stop.stop())
  const cancelTimer = clock.after(Math.max(request.deadline - clock.now(), 0), () => {
    isLate = true
    stop.stop()
  })
  const release = () => {
    off()
    cancelTimer()
  }
  const since = clock.now()
  const gone = (): UpstreamError =>
    isLate ? model.late(since) : new UpstreamError('cancelled', 'the client has gone')
  try {
    await model.enter(stop)
  } catch (error) {
    release()
    throw stop.aborted ? gone() : error
  }
  try {
    const { reply, over } = await sent(model, request, body, stop)
    void over.then(() => {
      release()
      model.leave()
    })
    return reply
  } catch (error) {
    release()
    model.leave()
    throw stop.aborted ? gone() : error
  }
}

function bodyOf({ body }: ForwardRequest, model: string): string {
  try {
    return JSON.stringify({ ...body, model })
  } catch {
    throw new UpstreamError('judge_rejected', 'the body nests too deeply', { remedy: 'give-up' })
  }
}

async function sent(
  model: Model,
  { path, body: { max_tokens: most }, deadline, trace }: ForwardRequest,
  body: string,
  stop: CancelToken,
): Promise<Begun> {
  const { dispatcher } = model.parts
  const { pool, budget, lineMemory } = dispatcher
  const tried = new Set<PoolMember>()
  const load = loadOf(body, 1, typeof most === 'number' && most > 0 ? most : 0)
  const question = { request: stop, deadline, load, prefix: '' }
  const tries = { tried, retries: 0 }
  budget.earn()
  for (;;) {
    const member =
      pool.take(tried, question) ??
      (await lineMemory.holding(1, bytesOfBody(body), pool.isDead, () =>
        pool.wait(tried, question, stop, noLonger),
      ))
    let fault: UpstreamError
    let refused: Begun | null = null
    try {
      return await begin(model, member, { path, body, load }, stop, trace)
    } catch (error) {
      if (error instanceof Refused) {
        fault = error.fault
        refused = error.begun
      } else if (error instanceof UpstreamError) fault = error
      else throw error
    }
    tried.add(member)
    if (await isTriedAgain(dispatcher, fault, tries, stop)) continue
    if (refused && !stop.aborted) return refused
    throw fault
  }
}

const noLonger = (): UpstreamError =>
  new UpstreamError('cancelled', 'nobody waits for the reply', { remedy: 'give-up' })
