import { randomUUID } from 'node:crypto'
import Fastify, { type FastifyBaseLogger, type FastifyInstance, LogController } from 'fastify'
import { type Clock, systemClock } from '../../core/clock.ts'
import { heapShare } from '../../core/heap-share.ts'
import type { ObservedGateway } from '../observed-gateway.ts'
import type { LiveView } from '../telemetry/live/live.ts'
import type { Metrics } from '../telemetry/metrics/metrics.ts'
import { checkKeys } from './auth.ts'
import { readBodies } from './body.ts'
import { admitBodies } from './body-admission.ts'
import { closeConnections } from './closing.ts'
import { serveDocs } from './docs.ts'
import { answerClientErrors, answerErrors, answerFrameworkError } from './errors.ts'
import { openKeyLimits } from './key-limits.ts'
import { keepRouteConfig, addWaitTime, overheadMs, routePattern, traceRequests } from './request-context.ts'
import { adminRoutes } from './routes/admin.ts'
import { healthRoutes } from './routes/health.ts'
import { inspectorRoutes } from './routes/inspector.ts'
import { passThroughRoutes } from './routes/pass-through.ts'
import { rewardRoutes } from './routes/rewards.ts'
import { scoreRoutes } from './routes/score.ts'
import { trainerRoutes } from './routes/trainers.ts'
import { setSecurityHeaders } from './security-headers.ts'
import { useZod, type ZodProvider } from './validation.ts'

/** What an app serves, and its limits. */
export interface AppOptions {
  readonly gateway: ObservedGateway
  readonly metrics: Metrics
  readonly logger?:
    | FastifyBaseLogger
    | boolean
    | { level: string; hooks: { streamWrite(line: string): string } }
  /** Of a body once unpacked, bytes. */
  readonly bodyLimit: number
  /** How long headers and body of a request may take to come, milliseconds; 60,000 if absent. */
  readonly receiveMs?: number
  /** What the page at /ui shows; absent: there is none. */
  readonly live?: LiveView
  /** The folder of the built page; the package's own if absent. */
  readonly page?: string
  /** The system's if absent. */
  readonly clock?: Clock
}

/** Of the heap; rows in work have as much again. */
const bodiesHeapShare = 0.4

const idPattern = /^[\w.:-]{1,128}$/

/** The HTTP face of a gateway; closing it leaves the gateway open. Throws RG_CONFIG_INVALID for truths that cannot be read. */
export async function createApp(options: AppOptions): Promise<FastifyInstance> {
  const { gateway, metrics, bodyLimit, receiveMs = 60_000, clock = systemClock } = options
  const { guard } = gateway
  const requests = guard.listeners('requests', metrics.requests)
  const app = Fastify({
    logger: options.logger ?? false,
    bodyLimit,
    // Two lines a request cost more than the request; what failed is logged where it failed.
    logController: new LogController({ disableRequestLogging: true }),
    forceCloseConnections: 'idle',
    keepAliveTimeout: 75_000,
    frameworkErrors: answerFrameworkError,
    requestTimeout: receiveMs,
    // A request is late by this at most before it is told so.
    http: {
      headersTimeout: receiveMs,
      connectionsCheckingInterval: Math.max(20, Math.min(receiveMs / 4, 500)),
      // Missing ones are refused in our own words.
      requireHostHeader: false,
    },
    clientErrorHandler: answerClientErrors((status) => metrics.requests.answered('none', status, 0, null)),
    // closeConnections refuses them in our own words.
    return503OnClosing: false,
    genReqId: ({ headers }) => {
      const given = headers['x-request-id']
      return typeof given === 'string' && idPattern.test(given) ? given : randomUUID()
    },
  })
  // HTTP allows to ignore an expectation that nobody knows; Node would answer it in a form of its own.
  app.server.on('checkExpectation', (request, response) => app.server.emit('request', request, response))
  // A logger a request cost more than its validation; what is logged names the request itself.
  app.setChildLoggerFactory((logger) => logger)
  keepRouteConfig(app)
  useZod(app)
  answerErrors(app)
  traceRequests(app, guard)
  addWaitTime(app)
  setSecurityHeaders(app)
  const refusal = closeConnections(app, () => gateway.isLeaving)
  app.addHook('onRequest', (request, reply, done) => {
    reply.header('x-request-id', request.id)
    done(refusal())
  })
  const keyLimits = openKeyLimits(clock, requests.keyRefused)
  checkKeys(app, gateway, keyLimits)
  const admission = admitBodies(app, {
    bytes: () => gateway.settings.limits.max_bodies_bytes,
    heapBytes: heapShare(bodiesHeapShare),
  })
  readBodies(app, { bytes: bodyLimit, values: () => gateway.settings.limits, admission })
  app.addHook('onResponse', (request, reply, done) => {
    const route = routePattern(request) || 'none'
    const { elapsedTime: ms, statusCode: status } = reply
    const overhead = overheadMs(request, ms, clock.now())
    requests.answered(route, status, ms / 1000, overhead === null ? null : overhead / 1000)
    const answered = { reqId: request.id, route, status, ms }
    request.log.debug(answered, 'answered')
    done()
  })
  await serveDocs(app, gateway.version)
  const typed = app.withTypeProvider<ZodProvider>()
  scoreRoutes(typed, gateway, keyLimits)
  await trainerRoutes(typed, { gateway, limits: keyLimits, clock, repeated: requests.repeated })
  rewardRoutes(typed, gateway)
  healthRoutes(typed, gateway, metrics)
  passThroughRoutes(typed, gateway)
  adminRoutes(typed, gateway, clock)
  const { live, page } = options
  if (live) inspectorRoutes(typed, gateway, { live, clock, ...(page !== undefined && { page }) })
  return app
}
