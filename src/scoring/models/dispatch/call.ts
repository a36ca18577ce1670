import type { AskName } from '../../../contract/index.ts'
import type { Clock } from '../../../core/clock.ts'
import type { Span, Trace } from '../../../core/tracing/trace.ts'
import type { CancelToken } from '../api/cancel-token.ts'
import type { CallEnd, ModelEvents } from '../api/events.ts'
import type { InstancePool, PoolRequest } from '../pool/pool.ts'
import type { PoolMember } from '../pool/pool-member.ts'
import type { ParsedReply } from '../transport/reply.ts'
import { type HttpMessage, type Reply, send } from '../transport/transport.ts'
import { abandoned, UpstreamError } from '../transport/upstream-error.ts'

const noTokens = { prompt: 0, completion: 0 }

const hung = (): UpstreamError =>
  new UpstreamError('judge_timeout', 'the server makes no progress', { blame: false, isHang: true })

/** Makes one call to an instance that `InstancePool.take` returned, and frees the slot. Rejects with UpstreamError. */
export async function call<T>(
  to: {
    readonly model: string
    readonly clock: Clock
    readonly events: ModelEvents
    readonly pool: InstancePool
    readonly timeoutMs: number
    readonly maxReplyBytes: number
  },
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
  readonly ask: AskName
  readonly message: HttpMessage
  /** The trace that its calls belong to, if any. */
  readonly trace?: Trace | undefined
  /** Throws UpstreamError. */
  read(reply: Reply): ParsedReply<T>
}

/** Begins the span of one call; null if the question is not traced. */
export const beginCall = (
  trace: Trace | undefined,
  model: string,
  address: string,
  ask: CallEnd['ask'],
): Span | null =>
  trace?.begin(`${ask} ${model}`, 'client', {
    'reward_gateway.model': model,
    'reward_gateway.ask': ask,
    'server.address': address,
  }) ?? null

/** Token counts as span attributes, named by OpenTelemetry's conventions for generative AI. */
export const tokenFacts = ({ prompt, completion }: CallEnd['tokens']): Record<string, number> => ({
  'gen_ai.usage.input_tokens': prompt,
  'gen_ai.usage.output_tokens': completion,
})

/** The headers, with the trace context added. */
export const headersWith = (
  headers: Record<string, string>,
  trace: Trace | undefined,
): Record<string, string> => (trace ? { ...headers, ...trace.headers } : headers)

/** The message, with the trace context in its headers. */
export const traced = (message: HttpMessage, trace: Trace | undefined): HttpMessage =>
  trace ? { ...message, headers: headersWith(message.headers, trace) } : message
