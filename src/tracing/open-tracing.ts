import {
  type Context,
  context,
  SpanKind as Kinds,
  propagation,
  SpanStatusCode,
  type Tracer,
  trace,
} from '@opentelemetry/api'
import { packageVersion } from '../package-version.ts'
import type { Facts, Span, SpanKind } from './trace.ts'

/** Spans through the tracer that the operator loaded. */
export interface Tracing {
  /** The span of a request, below the one that its headers or the tracer's own instrumentation name. */
  request(name: string, headers: Readonly<Record<string, unknown>>, facts: Facts): Span
}

const scope = 'reward-gateway'
const kinds = { server: Kinds.SERVER, client: Kinds.CLIENT, internal: Kinds.INTERNAL } as const

/** null where no OpenTelemetry SDK is loaded: then nothing is paid for one. */
export function openTracing(): Tracing | null {
  if (!isLoaded()) return null
  const tracer = trace.getTracer(scope, packageVersion)
  return {
    request(name, headers, facts) {
      const active = context.active()
      const parent = trace.getSpan(active) ? active : propagation.extract(active, headers)
      return begun(tracer, parent, name, 'server', facts)
    },
  }
}

/** The API hands out a proxy until an SDK has registered its own provider; several copies of the API share one. */
function isLoaded(): boolean {
  const provider: object = trace.getTracerProvider()
  if (!('getDelegateTracer' in provider)) return true
  return (provider as { getDelegateTracer(name: string): unknown }).getDelegateTracer(scope) !== undefined
}

function begun(tracer: Tracer, parent: Context, name: string, kind: SpanKind, attributes: Facts): Span {
  const span = tracer.startSpan(name, { kind: kinds[kind], attributes }, parent)
  const here = trace.setSpan(parent, span)
  return {
    trace: {
      get headers() {
        const carrier: Record<string, string> = {}
        propagation.inject(here, carrier)
        return carrier
      },
      // Neither below a span that is not sampled nor below one that has ended.
      begin: (below, belowKind, facts) =>
        span.isRecording() ? begun(tracer, here, below, belowKind, facts) : null,
    },
    end(fault, facts) {
      if (facts) span.setAttributes(facts)
      if (fault !== null) span.setStatus({ code: SpanStatusCode.ERROR, message: fault })
      span.end()
    },
  }
}
