/** The span of one call to a server, and how the server learns of it. */

import type { Span, Trace } from '../../../core/tracing/trace.ts'
import type { CallEnd } from '../interface/events.ts'
import type { HttpMessage } from '../transport/transport.ts'

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
