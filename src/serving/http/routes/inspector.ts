import { createHash } from 'node:crypto'
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { extname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { gzipSync } from 'node:zlib'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { z } from 'zod'
import type { Clock } from '../../../core/clock.ts'
import { GatewayError } from '../../../core/errors.ts'
import type { ObservedGateway } from '../../observed-gateway.ts'
import type { LiveView } from '../../telemetry/live/live.ts'
import { grants } from '../auth.ts'
import { eventStream, InspectorFeed, maxListeners } from '../inspector/feed.ts'
import type { ZodApp } from '../validation.ts'

/** What the inspector needs. */
interface InspectorParts {
  readonly live: LiveView
  readonly clock: Clock
  readonly hasQueue: boolean
  /** The folder of the built page. Default: the package's own. */
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

/** Serves the page at /ui, which needs no key, and its data, which need a key with the scope `read`. */
export function inspectorRoutes(
  app: ZodApp,
  gateway: ObservedGateway,
  { live, clock, hasQueue, page }: InspectorParts,
): void {
  const feed = new InspectorFeed(gateway, live, clock, hasQueue)
  app.addHook('preClose', (done) => {
    feed.close()
    done()
  })
  servePage(app, () => page ?? builtPage())

  app.get('/ui/api/access', { config: { scope: 'open' }, schema: hide }, async (request, reply) => {
    const { keys } = gateway
    const may = (scope: 'read' | 'score' | 'admin') => grants(request, keys, scope)
    return noStore(reply).send({ read: may('read'), score: may('score'), admin: may('admin') })
  })

  app.get('/ui/api/events', { schema: hide }, async (request, reply) => {
    const { body, listener } = eventStream(reply, () => grants(request, gateway.keys, 'read'), clock)
    const leave = feed.listen(listener)
    if (!leave)
      throw new GatewayError('RG_OVERLOADED', `${maxListeners} inspector pages are open already; close one`, {
        retryAfterS: 10,
      })
    if (reply.raw.destroyed) leave()
    else reply.raw.once('close', leave)
    // Stops proxies from buffering the events.
    return noStore(reply).header('x-accel-buffering', 'no').type('text/event-stream').send(body)
  })

  const params = z.object({ id: z.string() })
  app.get('/ui/api/rows/:id', { schema: { ...hide, params } }, async (request, reply) => {
    const row = live.detail(request.params.id)
    if (!row) throw new GatewayError('RG_NOT_FOUND', 'this row is no longer kept; look for it in the record')
    return noStore(reply).send(row)
  })

  const hash = z.object({ sha256: z.string().regex(/^[0-9a-f]{64}$/) })
  app.get('/ui/api/images/:sha256', { schema: { ...hide, params: hash } }, async (request, reply) => {
    const image = live.image(request.params.sha256)
    if (!image) throw new GatewayError('RG_NOT_FOUND', 'this image is not kept, or no longer')
    return noStore(reply)
      .header('content-security-policy', "default-src 'none'; sandbox")
      .type(image.type)
      .send(Buffer.from(image.base64, 'base64'))
  })
}

const noStore = (reply: FastifyReply): FastifyReply => reply.header('cache-control', 'no-store')

function servePage(app: ZodApp, folder: () => string | null): void {
  const config = { scope: 'open' } as const
  let files: ReadonlyMap<string, PageFile> | null = null
  const send = (path: string, request: FastifyRequest, reply: FastifyReply) => {
    files ??= readPage(folder())
    if (!files)
      throw new GatewayError('RG_NOT_FOUND', "the page is not built; build it with 'npm run build:ui'")
    const file = files.get(path)
    if (!file) throw new GatewayError('RG_NOT_FOUND', 'the page has no such file; reload the page')
    const acceptsGzip = request.headers['accept-encoding']?.includes('gzip') ?? false
    reply.headers({
      'content-security-policy': policy,
      'cache-control': file.isHashed ? 'public, max-age=31536000, immutable' : 'no-cache',
      vary: 'accept-encoding',
      etag: file.etag,
    })
    if (request.headers['if-none-match'] === file.etag) return reply.code(304).send()
    if (acceptsGzip) reply.header('content-encoding', 'gzip')
    return reply.type(file.type).send(acceptsGzip ? file.gzip : file.body)
  }
  app.get('/ui', { config, schema: hide }, async (_request, reply) => reply.redirect('ui/'))
  app.get('/ui/', { config, schema: hide }, async (request, reply) => send('', request, reply))
  const params = z.object({ '*': z.string() })
  app.get('/ui/*', { config, schema: { ...hide, params } }, async (request, reply) =>
    send(request.params['*'], request, reply),
  )
}

/** A file of the built page. */
interface PageFile {
  readonly type: string
  readonly body: Buffer
  readonly gzip: Buffer
  readonly etag: string
  /** Whether the file name contains a hash of the content. */
  readonly isHashed: boolean
}

const types: Readonly<Record<string, string>> = {
  '.html': 'text/html; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.svg': 'image/svg+xml',
}

/** The package's own page; null if it is not built. */
const builtPage = (): string | null =>
  ['../../../../ui/', '../../../../dist/ui/']
    .map((place) => fileURLToPath(new URL(place, import.meta.url)))
    .find(isBuilt) ?? null

const isBuilt = (folder: string): boolean => existsSync(join(folder, 'index.html'))

/**
 * The files of a built page by path, with `index.html` as ''; null if it is not built. They are few and small, so they are
 * kept in memory. @fastify/static would tag them by time and size, which do not tell two releases apart: all files of an
 * npm package have the same time, and index.html keeps its size when the hashes in it change.
 */
function readPage(folder: string | null): ReadonlyMap<string, PageFile> | null {
  if (folder === null || !isBuilt(folder)) return null
  const paths = readdirSync(folder, { recursive: true, encoding: 'utf8' }).filter(
    (path) => types[extname(path)],
  )
  return new Map(paths.map((path) => [path === 'index.html' ? '' : path, fileOf(folder, path)]))
}

function fileOf(folder: string, path: string): PageFile {
  const body = readFileSync(join(folder, path))
  return {
    type: types[extname(path)] ?? '',
    body,
    gzip: gzipSync(body),
    etag: `"${createHash('sha256').update(body).digest('base64url').slice(0, 22)}"`,
    isHashed: path.startsWith('assets/'),
  }
}
