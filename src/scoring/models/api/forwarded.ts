import type { Readable } from 'node:stream'
import type { Trace } from '../../../core/tracing/trace.ts'

/** A client's own request to a model, as it came. */
export interface ForwardRequest {
  /** `/v1/chat/completions`, ... */
  readonly path: string
  /** Its `model` is replaced by the name that the servers serve. */
  readonly body: { readonly [key: string]: unknown }
  readonly deadline: number
  readonly signal: AbortSignal
  /** Absent: the request is not traced. */
  readonly trace?: Trace | undefined
}

/** A server's reply as it comes; reading `body` to its end, or destroying it, gives the place back. */
export interface Forwarded {
  readonly status: number
  readonly contentType: string
  /** The header as it came; '' where there was none. */
  readonly retryAfter: string
  readonly body: Readable
  readonly instance: string
}
