import { pipeline, Readable, Transform } from 'node:stream'
import type { Trace } from '../../core/tracing/open-tracing.ts'
import { isTriedAgain } from './dispatch/dispatch.ts'
import type { ForwardReply, ForwardRequest } from './interface/ask.ts'
import { CancelToken, whenAborted } from './interface/cancel-token.ts'
import type { CallEnd } from './interface/events.ts'
import type { Model } from './model.ts'
import { bytesOfBody, type Load, loadOf } from './pool/capacity.ts'
import type { PoolMember } from './pool/pool-member.ts'
import { refusal } from './transport/reply.ts'
import { beginCall, faultOf, headersWith, tooLong } from './transport/transport.ts'
import { abandoned, UpstreamError } from './transport/upstream-error.ts'

/**
 * Forwards a client's request under the pool's limits. Retries only before a reply has begun. Returns the last server's reply,
 * even an error. Rejects with UpstreamError if no server replied.
 */
export async function forward(model: Model, request: ForwardRequest): Promise<ForwardReply> {
  const { clock } = model.parts.dispatcher
  const { isFull, waitMs, maxWaitMs } = model.queue
  if (isFull || waitMs > Math.min(maxWaitMs, request.deadline - clock.now()))
    throw new UpstreamError('overloaded', 'too many questions wait for this model', { remedy: 'give-up' })
  if (model.config.service)
    throw new UpstreamError('judge_rejected', 'it is a service, which only rewards may ask', {
      remedy: 'give-up',
    })
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
  const gone = (): UpstreamError => model.missed(isLate ? 'deadline' : 'cancelled', since)
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
    throw new UpstreamError('judge_rejected', 'the body is nested too deeply', { remedy: 'give-up' })
  }
}

async function sent(
  model: Model,
  { path, body: { max_tokens: most }, deadline, trace }: ForwardRequest,
  body: string,
  stop: CancelToken,
): Promise<StartedReply> {
  const { dispatcher } = model.parts
  const { pool, budget, queueMemory } = dispatcher
  const tried = new Set<PoolMember>()
  const load = loadOf(body, 1, typeof most === 'number' && most > 0 ? most : 0)
  const question = { request: stop, deadline, load, prefix: '' }
  const tries = { tried, retries: 0 }
  budget.earn()
  for (;;) {
    const member =
      pool.take(tried, question) ??
      (await queueMemory.holding(1, bytesOfBody(body), pool.isDead, () =>
        pool.wait(tried, question, stop, noLonger),
      ))
    let fault: UpstreamError
    let refused: StartedReply | null = null
    try {
      return await begin(model, member, { path, body, load }, stop, trace)
    } catch (error) {
      if (error instanceof ServerRefusal) {
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

/** A reply that has begun. `over` resolves when its body was read, broke off or was abandoned; never rejects. */
interface StartedReply {
  readonly reply: ForwardReply
  readonly over: Promise<void>
}

/** A 5xx or 429 reply. Another server may do better; otherwise the client gets this one. */
class ServerRefusal extends Error {
  override readonly name = 'Refused' as const
  readonly fault: UpstreamError
  readonly begun: StartedReply

  constructor(fault: UpstreamError, begun: StartedReply) {
    super(fault.message)
    this.fault = fault
    this.begun = begun
  }
}

/** One call to an instance that `InstancePool.take` returned. Frees the slot. Rejects with UpstreamError or ServerRefusal. */
async function begin(
  model: Model,
  member: PoolMember,
  message: { readonly path: string; readonly body: string; readonly load: Load },
  stop: CancelToken,
  trace?: Trace,
): Promise<StartedReply> {
  const { clock, events, timeoutMs, maxReplyBytes, model: name } = model.parts.dispatcher
  const { address, endpoint } = member
  const began = clock.now()
  const span = beginCall(trace, name, address, 'forward')
  const abort = new AbortController()
  let timedOut: UpstreamError | null = null
  const off = stop.on(() => abort.abort())
  const cancelTimer = clock.after(timeoutMs, () => {
    timedOut = new UpstreamError('judge_timeout', `no reply began within ${timeoutMs / 1000} s`)
    abort.abort()
  })
  const end = (outcome: CallEnd['outcome']) => {
    cancelTimer()
    off()
    member.end(message.load)
    const ms = clock.now() - began
    span?.end(outcome === 'ok' ? null : outcome)
    events.callEnded?.({ model: name, instance: address, ask: 'forward', ms, outcome, tokens: none })
  }
  const failed = (fault: UpstreamError): UpstreamError => {
    if (!stop.aborted) member.failed(fault)
    end(stop.aborted ? 'abandoned' : fault.kind)
    return stop.aborted ? abandoned() : fault
  }
  events.callStarted?.({ model: name, instance: address, ask: 'forward' })
  try {
    const {
      statusCode,
      headers,
      body: whole,
    } = await endpoint.connections.request({
      method: 'POST',
      path: endpoint.basePath + message.path,
      headers: headersWith(model.parts.headers, span?.trace ?? trace),
      body: message.body,
      signal: abort.signal,
    })
    const body = limited(whole, maxReplyBytes)
    const reply = {
      status: statusCode,
      contentType: String(headers['content-type'] ?? 'application/json'),
      retryAfter: String(headers['retry-after'] ?? ''),
      instance: address,
    }
    if (statusCode >= 500 || statusCode === 429) {
      const text = Buffer.concat(await body.toArray()).toString()
      const fault = refusal({ ...reply, text })
      throw new ServerRefusal(fault, {
        reply: { ...reply, body: Readable.from([text]) },
        over: Promise.resolve(),
      })
    }
    cancelTimer()
    member.answered()
    return {
      reply: { ...reply, body },
      over: closing(whole, stop, statusCode < 400 ? 'ok' : 'judge_rejected', end),
    }
  } catch (error) {
    if (error instanceof ServerRefusal) {
      failed(error.fault)
      throw error
    }
    throw failed(timedOut ?? faultOf(error as Error))
  }
}

const none = { prompt: 0, completion: 0 }

/** The body, which fails beyond `maxReplyBytes`. Destroying either stream destroys the other. */
function limited(body: Readable, maxReplyBytes: number): Readable {
  let bytes = 0
  const counted = new Transform({
    transform(chunk: Buffer, _encoding, done) {
      bytes += chunk.length
      if (bytes > maxReplyBytes) done(tooLong())
      else done(null, chunk)
    },
  })
  // The reader handles errors; an unread body must not crash the process.
  return pipeline(body, counted, () => {})
}

/** Calls `end` when the body closes, with `whole` if it was complete. */
function closing(
  body: Readable,
  stop: CancelToken,
  whole: CallEnd['outcome'],
  end: (outcome: CallEnd['outcome']) => void,
): Promise<void> {
  return new Promise((resolve) => {
    let isBroken = false
    // The reader handles errors; an unread body must not crash the process.
    body.on('error', () => {
      isBroken = true
    })
    body.once('close', () => {
      const isWhole = body.readableEnded && !isBroken
      end(isWhole ? whole : stop.aborted || !isBroken ? 'abandoned' : 'judge_unreachable')
      resolve()
    })
  })
}
