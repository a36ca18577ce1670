import { randomUUID } from 'node:crypto'
import type { Socket } from 'node:net'
import Fastify, {
  type FastifyBaseLogger,
  type FastifyInstance,
  type FastifyReply,
  type FastifyRequest,
  LogController,
} from 'fastify'
import { type Clock, systemClock } from '../../core/clock.ts'
import { GatewayError } from '../../core/errors.ts'
import { heapShare } from '../../core/heap-share.ts'
import type { ObservedGateway } from '../observed-gateway.ts'
import type { RolloutQueue } from '../queue/queue.ts'
import type { LiveView } from '../telemetry/live/live.ts'
import type { Metrics } from '../telemetry/metrics/metrics.ts'
import { checkKeys, KeyLimits } from './auth.ts'
import { admitBodies, readBodies } from './body.ts'
import { serveDocs } from './docs.ts'
import { answerClientErrors, answerErrors, answerFrameworkError } from './errors.ts'
import {
  addWaitTime,
  overheadMs,
  routePattern,
  setSecurityHeaders,
  traceRequests,
} from './request-context.ts'
import { adminRoutes } from './routes/admin.ts'
import { healthRoutes } from './routes/health.ts'
import { inspectorRoutes } from './routes/inspector.ts'
import { passThroughRoutes } from './routes/pass-through.ts'
import { rewardRoutes } from './routes/rewards.ts'
import { runRoutes } from './routes/runs.ts'
import { scoreRoutes } from './routes/score.ts'
import { trainerRoutes } from './routes/trainers.ts'
import { type ZodProvider, zodCompilers } from './validation.ts'

/** Options of the HTTP server. */
interface AppOptions {
  readonly gateway: ObservedGateway
  readonly metrics: Metrics
  readonly logger?:
    | FastifyBaseLogger
    | boolean
    | {
        level: string
        hooks: { streamWrite(line: string): string }
        formatters: { level(name: string): object }
        timestamp(): string
      }
  /** Maximum bytes of a request body, after decompression. */
  readonly bodyLimit: number
  /** Maximum time to receive the headers and body of a request, in milliseconds. Default: 60,000. */
  readonly receiveMs?: number
  /** Accepts rollouts on disk; null or absent: off. */
  readonly queue?: RolloutQueue | null
  /** What the page at /ui shows. Without it there is no page. */
  readonly live?: LiveView
  /** The folder of the built page. Default: the package's own. */
  readonly page?: string
  /** Default: the system's clock. */
  readonly clock?: Clock
}

/** Share of the heap for request bodies; rows being scored may use as much again. */
const bodiesHeapShare = 0.4

const idPattern = /^[\w.:-]{1,128}$/

/** The HTTP server of a gateway. Closing it leaves the gateway open. Throws RG_CONFIG_INVALID if a trainer's ground truths cannot be read. */
export async function createApp(options: AppOptions): Promise<FastifyInstance> {
  const { gateway, metrics, bodyLimit, receiveMs = 60_000, clock = systemClock } = options
  const { guard } = gateway
  const { queue = null } = options
  if (queue) gateway.awaitRows((run, step) => queue.runs.get(run)?.state.steps.has(step) ?? false)
  const requests = guard.listeners('requests', metrics.requests)
  const app = Fastify({
    logger: options.logger ?? false,
    schemaController: zodCompilers,
    bodyLimit,
    // A uid of 200 characters, percent-encoded.
    routerOptions: { maxParamLength: 600 },
    // Two log lines per request cost more than the request. Failures are logged where they happen.
    logController: new LogController({ disableRequestLogging: true }),
    forceCloseConnections: 'idle',
    keepAliveTimeout: 75_000,
    frameworkErrors: answerFrameworkError,
    requestTimeout: receiveMs,
    // Bounds how late a timeout is detected.
    http: {
      headersTimeout: receiveMs,
      connectionsCheckingInterval: Math.max(20, Math.min(receiveMs / 4, 500)),
      // A missing Host header is refused in auth.ts, with our error format.
      requireHostHeader: false,
    },
    clientErrorHandler: answerClientErrors((status) => metrics.requests.answered('none', status, 0, null)),
    // closeConnections refuses requests with our error format.
    return503OnClosing: false,
    genReqId: ({ headers }) => {
      const given = headers['x-request-id']
      return typeof given === 'string' && idPattern.test(given) ? given : randomUUID()
    },
  })
  // HTTP allows servers to ignore unknown expectations. Node would reply 417 in its own format.
  app.server.on('checkExpectation', (request, response) => app.server.emit('request', request, response))
  // A child logger per request cost more than validating it. Log lines carry the request id themselves.
  app.setChildLoggerFactory((logger) => logger)
  answerErrors(app)
  traceRequests(app, guard)
  addWaitTime(app)
  setSecurityHeaders(app)
  const refusal = closeConnections(app, () => gateway.isLeaving)
  app.addHook('onRequest', (request, reply, done) => {
    reply.header('x-request-id', request.id)
    done(refusal())
  })
  const keyLimits = new KeyLimits(clock, requests.keyRefused)
  checkKeys(app, gateway, keyLimits)
  const admission = admitBodies(app, {
    bytes: () => gateway.settings.limits.max_bodies_bytes,
    heapBytes: heapShare(bodiesHeapShare),
  })
  readBodies(app, { bytes: bodyLimit, values: () => gateway.settings.limits, admission, clock })
  app.addHook('onResponse', (request, reply, done) => {
    const route = routePattern(request) || 'none'
    const { elapsedTime: ms, statusCode: status } = reply
    const overhead = overheadMs(request, ms, clock.now())
    requests.answered(route, status, ms / 1000, overhead === null ? null : overhead / 1000)
    const answered = { reqId: request.id, route, status, ms }
    request.log.debug(answered, 'answered')
    done()
  })
  serveDocs(app, gateway.version)
  const typed = app.withTypeProvider<ZodProvider>()
  scoreRoutes(typed, gateway, keyLimits)
  await trainerRoutes(typed, { gateway, limits: keyLimits, clock, repeated: requests.repeated })
  runRoutes(typed, { gateway, queue, limits: keyLimits, clock })
  rewardRoutes(typed, gateway)
  healthRoutes(typed, gateway, metrics, queue)
  passThroughRoutes(typed, gateway)
  adminRoutes(typed, gateway, clock)
  const { live, page } = options
  const hasQueue = options.queue != null
  if (live) inspectorRoutes(typed, gateway, { live, clock, hasQueue, ...(page !== undefined && { page }) })
  return app
}

/**
 * Closes each connection after its current reply once the server is closing or leaving. Otherwise keep-alive connections
 * would keep the process alive, and clients would send requests into connections that are about to end. The returned
 * function gives the error for requests that still arrive; undefined while the server is open.
 */
function closeConnections(app: FastifyInstance, isLeaving: () => boolean): () => GatewayError | undefined {
  let isClosing = false
  const sockets = new Set<Socket>()
  app.server.on('connection', (socket) => {
    sockets.add(socket)
    socket.once('close', () => sockets.delete(socket))
  })
  app.addHook('preClose', (done) => {
    isClosing = true
    // Node takes a connection for idle only after its first request. Pools and load balancers open some ahead.
    for (const socket of sockets) if (socket.bytesRead === 0) socket.destroy()
    done()
  })
  app.addHook('onSend', (request, reply, payload, done) => {
    if (isClosing || isLeaving()) reply.header('connection', 'close')
    else if (reply.statusCode >= 400 && !request.raw.complete) drainBody(request, reply)
    done(null, payload)
  })
  // A streamed reply has sent its headers already.
  app.addHook('onResponse', (_request, _reply, done) => {
    if (isClosing) setImmediate(() => app.server.closeIdleConnections())
    done()
  })
  return () =>
    isClosing
      ? new GatewayError(
          'RG_CLOSING',
          'this gateway is shutting down; send the request to another one, or later',
        )
      : undefined
}

/** Longer bodies are not read to their end. */
const maxDrained = 1024 * 1024 * 1024

/**
 * Reads and discards the rest of a refused body. Fastify would close the connection, and a client that is still sending
 * would see a reset instead of the 413 or 429 and its Retry-After. `limits.receive_s` bounds the time.
 */
function drainBody({ raw, headers }: FastifyRequest, reply: FastifyReply): void {
  if (Number(headers['content-length'] ?? 0) > maxDrained) return
  reply.removeHeader('connection')
  raw.resume()
}
