/** Values that describe a span; never a prompt, a response or a key. */
export type Facts = Readonly<Record<string, string | number | boolean>>

/** `server`: a request that came; `client`: one that is sent; `internal`: work between them. */
export type SpanKind = 'server' | 'client' | 'internal'

/** A place in a distributed trace: where spans begin, and what those who are asked from here are told of it. */
export interface Trace {
  /** traceparent and its like, for a request that is sent from here. */
  readonly headers: Readonly<Record<string, string>>
  /** A span below this place; null where none is recorded. */
  begin(name: string, kind: SpanKind, facts: Facts): Span | null
}

/** A span that has begun. */
export interface Span {
  /** The place within it. */
  readonly trace: Trace
  /** Ends it. `fault`: what went wrong, in words that quote no sample; null: nothing did. */
  end(fault: string | null, facts?: Facts): void
}

/** W3C Trace Context, version 00. */
const parent = /^00-(?!0{32})[0-9a-f]{32}-(?!0{16})[0-9a-f]{16}-[0-9a-f]{2}$/
const longestState = 512

/** The trace of a request that names one, handed on as it came: nothing is recorded. undefined: it names none. */
export function passedOn(given: Readonly<Record<string, unknown>>): Trace | undefined {
  const { traceparent, tracestate } = given
  if (typeof traceparent !== 'string' || !parent.test(traceparent)) return undefined
  const hasState = typeof tracestate === 'string' && tracestate.length <= longestState
  return { headers: { traceparent, ...(hasState && { tracestate }) }, begin: () => null }
}
