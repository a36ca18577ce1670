import {
  type Context,
  context,
  SpanKind as Kinds,
  propagation,
  SpanStatusCode,
  type Tracer,
  trace,
} from '@opentelemetry/api'
import type { ListenerGuard } from '../listener-guard.ts'
import { packageVersion } from '../package-version.ts'
import type { Facts, Span, SpanKind } from './trace.ts'

/** Spans through the tracer that the operator loaded. */
export interface Tracing {
  /** The span of a request, below the one that its headers or the tracer's own instrumentation name; null: it made none. */
  request(name: string, headers: Readonly<Record<string, unknown>>, facts: Facts): Span | null
}

const scope = 'reward-gateway'
const kinds = { server: Kinds.SERVER, client: Kinds.CLIENT, internal: Kinds.INTERNAL } as const

/** null where no OpenTelemetry SDK is loaded: then nothing is paid for one. */
export function openTracing(guard: ListenerGuard): Tracing | null {
  if (!isLoaded()) return null
  const tracer = trace.getTracer(scope, packageVersion)
  return {
    request(name, headers, facts) {
      let span: Span | null = null
      guard.run('tracing', () => {
        const active = context.active()
        const parent = trace.getSpan(active) ? active : propagation.extract(active, headers)
        span = begun({ tracer, guard }, parent, name, 'server', facts)
      })
      return span
    },
  }
}

/** The API hands out a proxy until an SDK has registered its own provider; several copies of the API share one. */
function isLoaded(): boolean {
  const provider: object = trace.getTracerProvider()
  if (!('getDelegateTracer' in provider)) return true
  return (provider as { getDelegateTracer(name: string): unknown }).getDelegateTracer(scope) !== undefined
}

interface Parts {
  readonly tracer: Tracer
  /** The tracer is the operator's: what it throws must not reach a request. */
  readonly guard: ListenerGuard
}

function begun(parts: Parts, parent: Context, name: string, kind: SpanKind, attributes: Facts): Span {
  const { tracer, guard } = parts
  const span = tracer.startSpan(name, { kind: kinds[kind], attributes }, parent)
  const here = trace.setSpan(parent, span)
  return {
    trace: {
      get headers() {
        const carrier: Record<string, string> = {}
        guard.run('tracing', () => propagation.inject(here, carrier))
        return carrier
      },
      // Neither below a span that is not sampled nor below one that has ended.
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
