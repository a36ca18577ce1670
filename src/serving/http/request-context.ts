import type { FastifyContextConfig, FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import type { ListenerGuard } from '../../core/listener-guard.ts'
import { openTracing } from '../../core/tracing/open-tracing.ts'
import { passedOn, type Span, type Trace } from '../../core/tracing/trace.ts'
import { WaitTime } from '../../scoring/gateway/gateway.ts'

declare module 'fastify' {
  interface FastifyRequest {
    /** null if the request was rejected before routing. */
    routeConfig: RouteConfig | null
  }
}

/** The config of a route, with its URL pattern; no pattern if no route matched. */
type RouteConfig = FastifyContextConfig & { readonly url?: string }

/** Reads each request's route config once: Fastify builds a new `routeOptions` object of a dozen members on every access. */
export function keepRouteConfig(app: FastifyInstance): void {
  app.decorateRequest('routeConfig', null)
  app.addHook('onRequest', (request, _reply, done) => {
    request.routeConfig = request.routeOptions.config
    done()
  })
}

/** The URL pattern of a request's route; '' if no route matched. */
export const routePattern = ({ routeConfig }: FastifyRequest): string => routeConfig?.url ?? ''

const spans = new WeakMap<FastifyRequest, Span>()

/** Starts a span for every POST, if the operator has loaded an OpenTelemetry SDK. It ends when the reply is closed. */
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
          : 'the client disconnected'
        span.end(fault, { 'http.response.status_code': statusCode })
      })
    }
    done()
  })
}

/** The trace context of a request; undefined if it has none. */
export const traceOf = (request: FastifyRequest): Trace | undefined =>
  spans.get(request)?.trace ?? passedOn(request.headers) ?? undefined

declare module 'fastify' {
  interface FastifyRequest {
    /** null if nothing is scored for this request alone. */
    waitTime: WaitTime | null
  }
}

/** Declares `request.waitTime`. */
export function addWaitTime(app: FastifyInstance): void {
  app.decorateRequest('waitTime', null)
}

/** Starts to measure how long a request waits for models and groups. */
export function startWaitTime(request: FastifyRequest): WaitTime {
  const time = new WaitTime()
  request.waitTime = time
  return time
}

/** The part of `ms` in which the request did not wait for models or groups; null if not measured. */
export function overheadMs({ waitTime }: FastifyRequest, ms: number, now: number): number | null {
  return waitTime ? Math.max(0, ms - waitTime.until(now)) : null
}

/** Aborted when the client disconnects before its reply is written, or has disconnected already. */
export function disconnectSignal(reply: FastifyReply): AbortSignal {
  const controller = new AbortController()
  onDisconnect(reply, () => controller.abort())
  return controller.signal
}

/** Calls `left` when the client disconnects before its reply is written, or has disconnected already. */
export function onDisconnect({ raw }: FastifyReply, left: () => void): void {
  const closed = () => {
    if (!raw.writableFinished) left()
  }
  if (raw.destroyed) closed()
  else raw.once('close', closed)
}
