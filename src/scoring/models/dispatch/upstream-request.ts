import type { AskName } from '../../../contract/index.ts'
import type { Trace } from '../../../core/tracing/trace.ts'
import type { Asking } from '../pool/pool.ts'
import type { ParsedReply } from '../transport/reply.ts'
import type { HttpMessage, Reply } from '../transport/transport.ts'

/** A message, and how to read its reply. */
export interface UpstreamRequest<T> extends Asking {
  readonly ask: AskName
  readonly message: HttpMessage
  /** Where its calls stand in a trace; absent: in none. */
  readonly trace?: Trace | undefined
  /** Throws UpstreamError. */
  read(reply: Reply): ParsedReply<T>
}
