import type { AskName, Asks } from '../../contract/index.ts'
import type { Trace } from '../../core/tracing/trace.ts'
import type { RenderedInput } from './api/ask.ts'
import type { Backend, Settings } from './backends/backend.ts'
import type { UpstreamRequest } from './dispatch/upstream-request.ts'
import { loadOf } from './pool/load.ts'
import { mostGenerated } from './pool/question-size.ts'
import { readJson } from './transport/reply.ts'

/** A question as it is put to an instance. */
interface Question<A extends AskName> {
  readonly ask: A
  readonly input: RenderedInput[A]
  readonly settings: Settings
  readonly prefix: string
  readonly request: object
  readonly deadline: number
  readonly trace?: Trace | undefined
}

/** The work of a question that shares its request with no other. Throws UpstreamError where this kind of server cannot be asked so. */
export function buildRequest<A extends AskName>(
  { backend, headers }: { readonly backend: Backend; readonly headers: Record<string, string> },
  { ask, input, settings, prefix, request, deadline, trace }: Question<A>,
): UpstreamRequest<Asks[A]['answer']> {
  const { path, body } = backend.translate(ask, input, settings)
  return {
    ask,
    prefix,
    request,
    deadline,
    load: loadOf(body, 1, mostGenerated(ask, settings)),
    trace,
    message: { method: 'POST', path, headers, body },
    read: (reply) => backend.read(ask, readJson(reply), input),
  }
}
