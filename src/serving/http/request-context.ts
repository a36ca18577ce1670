import type { FastifyContextConfig, FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import type { ListenerGuard } from '../../core/listener-guard.ts'
import { openTracing } from '../../core/tracing/open-tracing.ts'
import { passedOn, type Span, type Trace } from '../../core/tracing/trace.ts'
import { WaitTime } from '../../scoring/gateway/gateway.ts'

declare module 'fastify' {
  interface FastifyRequest {
    /** null: the request never came to a route, not even to the one for what is not found. */
    routeConfig: RouteConfig | null
  }
}

/** What a route says of itself, with its pattern; without one, nothing was found. */
type RouteConfig = FastifyContextConfig & { readonly url?: string }

/** Asks for the config of each request's route once: `routeOptions` is made anew, a dozen members, for whoever looks at it. */
export function keepRouteConfig(app: FastifyInstance): void {
  app.decorateRequest('routeConfig', null)
  app.addHook('onRequest', (request, _reply, done) => {
    request.routeConfig = request.routeOptions.config
    done()
  })
}

/** The pattern of a request's route; '' where nothing was found. */
export const routePattern = ({ routeConfig }: FastifyRequest): string => routeConfig?.url ?? ''

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

declare module 'fastify' {
  interface FastifyRequest {
    /** null: nothing was scored for this request alone. */
    waitTime: WaitTime | null
  }
}

/** Makes room for the time that each request waits for others. */
export function addWaitTime(app: FastifyInstance): void {
  app.decorateRequest('waitTime', null)
}

/** The measure of a request whose work begins here. */
export function startWaitTime(request: FastifyRequest): WaitTime {
  const time = new WaitTime()
  request.waitTime = time
  return time
}

/** Of the milliseconds that a request took, those in which it waited for nobody; null: not measured. */
export function overheadMs({ waitTime }: FastifyRequest, ms: number, now: number): number | null {
  return waitTime ? Math.max(0, ms - waitTime.until(now)) : null
}

/** Aborted when the client goes away before its answer is written, or has gone already. */
export function disconnectSignal(reply: FastifyReply): AbortSignal {
  const controller = new AbortController()
  onDisconnect(reply, () => controller.abort())
  return controller.signal
}

/** Calls `left` when the client goes away before its answer is written, or has gone already. */
export function onDisconnect({ raw }: FastifyReply, left: () => void): void {
  const closed = () => {
    if (!raw.writableFinished) left()
  }
  if (raw.destroyed) closed()
  else raw.once('close', closed)
}
