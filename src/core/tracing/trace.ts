/** Attributes of a span. Never a prompt, a response or a key. */
export type Facts = Readonly<Record<string, string | number | boolean>>

/** `server`: an incoming request. `client`: an outgoing request. `internal`: work between them. */
export type SpanKind = 'server' | 'client' | 'internal'

/** A position in a distributed trace: spans start here, and outgoing requests carry its headers. */
export interface Trace {
  /** `traceparent` and related headers for outgoing requests. */
  readonly headers: Readonly<Record<string, string>>
  /** Starts a child span, or returns null if none is recorded. */
  begin(name: string, kind: SpanKind, facts: Facts): Span | null
}

export interface Span {
  /** The position inside this span. */
  readonly trace: Trace
  /** Ends the span. `fault` says what went wrong without quoting a sample; null means success. */
  end(fault: string | null, facts?: Facts): void
}
