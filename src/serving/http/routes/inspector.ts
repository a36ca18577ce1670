import type { FastifyReply, FastifyRequest } from 'fastify'
import { z } from 'zod'
import type { Clock } from '../../../core/clock.ts'
import { GatewayError } from '../../../core/errors.ts'
import type { ObservedGateway } from '../../observed-gateway.ts'
import type { Live } from '../../telemetry/live/live.ts'
import { mayDo } from '../auth.ts'
import { mostListeners, openFeed } from '../inspector/feed.ts'
import { builtPage, type PageFile, readPage } from '../inspector/page-files.ts'
import { eventStream } from '../inspector/stream.ts'
import type { ZodApp } from '../validation.ts'

/** What the page is told from. */
export interface InspectorParts {
  readonly live: Live
  readonly clock: Clock
  /** The folder of the built page. */
  readonly page?: string
}

const policy = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "img-src 'self'",
  "connect-src 'self'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
  "require-trusted-types-for 'script'",
  "trusted-types 'none'",
].join('; ')

const hide = { hide: true }

/** /ui: the page, and what it reads. The page holds nothing and needs no key; all that it reads needs one that may read. */
export function inspectorRoutes(
  app: ZodApp,
  gateway: ObservedGateway,
  { live, clock, page }: InspectorParts,
): void {
  const feed = openFeed(gateway, live, clock)
  app.addHook('preClose', (done) => {
    feed.close()
    done()
  })
  servePage(app, () => page ?? builtPage())

  app.get('/ui/api/access', { config: { scope: 'open' }, schema: hide }, async (request, reply) => {
    const { keys } = gateway
    const may = (scope: 'read' | 'score' | 'admin') => mayDo(request, keys, scope)
    return unkept(reply).send({ read: may('read'), score: may('score'), admin: may('admin') })
  })

  app.get('/ui/api/events', { schema: hide }, async (request, reply) => {
    const { body, listener } = eventStream(reply, () => mayDo(request, gateway.keys, 'read'), clock)
    const leave = feed.listen(listener)
    if (!leave)
      throw new GatewayError('RG_OVERLOADED', `${mostListeners} pages are open already; close one`, {
        retryAfterS: 10,
      })
    if (reply.raw.destroyed) leave()
    else reply.raw.once('close', leave)
    // Proxies that gather replies would hold the events back.
    return unkept(reply).header('x-accel-buffering', 'no').type('text/event-stream').send(body)
  })

  const params = z.object({ id: z.string() })
  app.get('/ui/api/rows/:id', { schema: { ...hide, params } }, async (request, reply) => {
    const row = live.detail(request.params.id)
    if (!row) throw new GatewayError('RG_NOT_FOUND', 'this row is not kept any more; the record may have it')
    return unkept(reply).send(row)
  })
}

const unkept = (reply: FastifyReply): FastifyReply => reply.header('cache-control', 'no-store')

function servePage(app: ZodApp, folder: () => string | null): void {
  const config = { scope: 'open' } as const
  let files: ReadonlyMap<string, PageFile> | null = null
  const send = (path: string, request: FastifyRequest, reply: FastifyReply) => {
    files ??= readPage(folder())
    if (!files) throw new GatewayError('RG_NOT_FOUND', "the page is not built; 'npm run build:ui' builds it")
    const file = files.get(path)
    if (!file) throw new GatewayError('RG_NOT_FOUND', 'the page has no such file; load it again')
    const isNamed = request.headers['accept-encoding']?.includes('gzip') ?? false
    reply.headers({
      'content-security-policy': policy,
      'cache-control': file.isHashed ? 'public, max-age=31536000, immutable' : 'no-cache',
      vary: 'accept-encoding',
      etag: file.etag,
    })
    if (request.headers['if-none-match'] === file.etag) return reply.code(304).send()
    if (isNamed) reply.header('content-encoding', 'gzip')
    return reply.type(file.type).send(isNamed ? file.gzip : file.body)
  }
  app.get('/ui', { config, schema: hide }, async (_request, reply) => reply.redirect('ui/'))
  app.get('/ui/', { config, schema: hide }, async (request, reply) => send('', request, reply))
  const params = z.object({ '*': z.string() })
  app.get('/ui/*', { config, schema: { ...hide, params } }, async (request, reply) =>
    send(request.params['*'], request, reply),
  )
}
