import type { FastifyInstance, FastifyRequest } from 'fastify'
import type { ListenerGuard } from '../../core/listener-guard.ts'
import { openTracing } from '../../core/tracing/open-tracing.ts'
import { passedOn, type Span, type Trace } from '../../core/tracing/trace.ts'

const spans = new WeakMap<FastifyRequest, Span>()

/** Gives every POST a span until its reply is closed, where the operator has loaded an OpenTelemetry SDK. */
export function traceRequests(app: FastifyInstance, guard: ListenerGuard): void {
  const tracing = openTracing(guard)
  if (!tracing) return
  app.addHook('onRequest', (request, reply, done) => {
    const { method, headers, routeOptions, id } = request
    if (method === 'POST') {
      const route = routeOptions.url ?? 'none'
      const facts = { 'http.request.method': method, 'http.route': route, 'reward_gateway.request_id': id }
      const span = tracing.request(`${method} ${route}`, headers, facts)
      if (!span) return done()
      spans.set(request, span)
      reply.raw.once('close', () => {
        const { statusCode, writableFinished } = reply.raw
        const fault = writableFinished
          ? statusCode >= 500
            ? `status ${statusCode}`
            : null
          : 'the client left'
        span.end(fault, { 'http.response.status_code': statusCode })
      })
    }
    done()
  })
}

/** Where the work for a request stands in its trace; undefined where it stands in none. */
export const traceOf = (request: FastifyRequest): Trace | undefined =>
  spans.get(request)?.trace ?? passedOn(request.headers) ?? undefined
