import type { Span, Trace } from '../../../core/tracing/trace.ts'
import type { CallEnd } from '../api/events.ts'
import type { HttpMessage } from '../transport/transport.ts'

/** The span of one call; null where the question is not traced. */
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

/** Attributes of a span, named as OpenTelemetry's conventions for generative AI do. */
export const tokenFacts = ({ prompt, completion }: CallEnd['tokens']): Record<string, number> => ({
  'gen_ai.usage.input_tokens': prompt,
  'gen_ai.usage.output_tokens': completion,
})

/** The headers, with those that carry the trace on. */
export const headersWith = (
  headers: Record<string, string>,
  trace: Trace | undefined,
): Record<string, string> => (trace ? { ...headers, ...trace.headers } : headers)

/** The message, telling its server where it stands in the trace. */
export const traced = (message: HttpMessage, trace: Trace | undefined): HttpMessage =>
  trace ? { ...message, headers: headersWith(message.headers, trace) } : message
