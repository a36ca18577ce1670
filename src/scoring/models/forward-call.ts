import { pipeline, Readable, Transform } from 'node:stream'
import type { Trace } from '../../core/tracing/trace.ts'
import type { CancelToken } from './api/cancel-token.ts'
import type { CallEnd } from './api/events.ts'
import type { Forwarded } from './api/forwarded.ts'
import { beginCall, headersWith } from './dispatch/traced-call.ts'
import type { Model } from './model.ts'
import type { Load } from './pool/load.ts'
import type { PoolMember } from './pool/pool-member.ts'
import { refusal } from './transport/reply.ts'
import { faultOf, tooLong } from './transport/transport.ts'
import { abandoned, UpstreamError } from './transport/upstream-error.ts'

/** A reply that has begun. `over` resolves when its body was read, broke off or was given up; never rejects. */
export interface Begun {
  readonly reply: Forwarded
  readonly over: Promise<void>
}

/** A reply that says the server is ill or full: another may do better, else this is what the client gets. */
export class Refused extends Error {
  override readonly name = 'Refused' as const
  readonly fault: UpstreamError
  readonly begun: Begun

  constructor(fault: UpstreamError, begun: Begun) {
    super(fault.message)
    this.fault = fault
    this.begun = begun
  }
}

/** One request to an instance whose place is taken; gives the place back. Rejects with UpstreamError or Refused. */
export async function begin(
  model: Model,
  member: PoolMember,
  message: { readonly path: string; readonly body: string; readonly load: Load },
  stop: CancelToken,
  trace?: Trace,
): Promise<Begun> {
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
      throw new Refused(fault, { reply: { ...reply, body: Readable.from([text]) }, over: Promise.resolve() })
    }
    cancelTimer()
    member.answered()
    return {
      reply: { ...reply, body },
      over: closing(whole, stop, statusCode < 400 ? 'ok' : 'judge_rejected', end),
    }
  } catch (error) {
    if (error instanceof Refused) {
      failed(error.fault)
      throw error
    }
    throw failed(timedOut ?? faultOf(error as Error))
  }
}

const none = { prompt: 0, completion: 0 }

/** A body that breaks off beyond so many bytes; whoever ends either of both ends the other. */
function limited(body: Readable, maxReplyBytes: number): Readable {
  let bytes = 0
  const counted = new Transform({
    transform(chunk: Buffer, _encoding, done) {
      bytes += chunk.length
      if (bytes > maxReplyBytes) done(tooLong())
      else done(null, chunk)
    },
  })
  // Whoever reads it hears of its errors; an unread one must not end the process.
  return pipeline(body, counted, () => {})
}

/** `whole`: the outcome where all of the body comes. */
function closing(
  body: Readable,
  stop: CancelToken,
  whole: CallEnd['outcome'],
  end: (outcome: CallEnd['outcome']) => void,
): Promise<void> {
  return new Promise((resolve) => {
    let isBroken = false
    // Whoever reads the body hears of its errors; an unread one must not end the process.
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
