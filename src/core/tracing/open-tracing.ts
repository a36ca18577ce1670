import { createRequire } from 'node:module'
import type { Context, Tracer } from '@opentelemetry/api'
import type { ListenerGuard } from '../listener-guard.ts'
import { packageVersion } from '../package-version.ts'

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

/** Creates spans with the tracer that the operator loaded. */
interface Tracing {
  /**
   * Starts the span of a request, under the parent from its headers or from the tracer's own instrumentation.
   * null if none is recorded.
   */
  request(name: string, headers: Readonly<Record<string, unknown>>, facts: Facts): Span | null
}

const scope = 'reward-gateway'

type Api = typeof import('@opentelemetry/api')
const require = createRequire(import.meta.url)

/** Where all copies of the API of version 1 keep what an SDK registers. */
const registered = Symbol.for('opentelemetry.js.api.1')

/** null if no OpenTelemetry SDK is loaded, so that tracing costs nothing, not even loading the API. */
export function openTracing(guard: ListenerGuard): Tracing | null {
  const shared = (globalThis as { [registered]?: { readonly trace?: unknown } })[registered]
  if (shared?.trace === undefined) return null
  const api = require('@opentelemetry/api') as Api
  if (!isLoaded(api)) return null
  const { context, propagation, trace } = api
  const tracer = trace.getTracer(scope, packageVersion)
  return {
    request(name, headers, facts) {
      let span: Span | null = null
      guard.run('tracing', () => {
        const active = context.active()
        const parent = trace.getSpan(active) ? active : propagation.extract(active, headers)
        span = begun({ api, tracer, guard }, parent, name, 'server', facts)
      })
      return span
    },
  }
}

/**
 * The API returns a proxy until an SDK registers its provider. Several copies of the API share one provider.
 */
function isLoaded({ trace }: Api): boolean {
  const provider: object = trace.getTracerProvider()
  if (!('getDelegateTracer' in provider)) return true
  return (provider as { getDelegateTracer(name: string): unknown }).getDelegateTracer(scope) !== undefined
}

interface Parts {
  readonly api: Api
  readonly tracer: Tracer
  /** The tracer belongs to the operator, so its errors must not reach a request. */
  readonly guard: ListenerGuard
}

function begun(parts: Parts, parent: Context, name: string, kind: SpanKind, attributes: Facts): Span {
  const { api, tracer, guard } = parts
  const { propagation, SpanKind: kinds, SpanStatusCode, trace } = api
  const kindOf = { server: kinds.SERVER, client: kinds.CLIENT, internal: kinds.INTERNAL }[kind]
  const span = tracer.startSpan(name, { kind: kindOf, attributes }, parent)
  const here = trace.setSpan(parent, span)
  return {
    trace: {
      get headers() {
        const carrier: Record<string, string> = {}
        guard.run('tracing', () => propagation.inject(here, carrier))
        return carrier
      },
      // No span below one that is not sampled or has ended.
      begin(below, belowKind, facts) {
        let inner: Span | null = null
        guard.run('tracing', () => {
          if (span.isRecording()) inner = begun(parts, here, below, belowKind, facts)
        })
        return inner
      },
    },
    end(fault, facts) {
      guard.run('tracing', () => {
        if (facts) span.setAttributes(facts)
        if (fault !== null) span.setStatus({ code: SpanStatusCode.ERROR, message: fault })
        span.end()
      })
    },
  }
}
