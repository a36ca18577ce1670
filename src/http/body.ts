import { createHash } from 'node:crypto'
import { createGunzip } from 'node:zlib'
import type { FastifyInstance, FastifyRequest, RequestPayload } from 'fastify'
import { GatewayError } from '../errors.ts'
import { parseJsonBytes } from '../wire/json-bytes.ts'
import type { Oddity } from '../wire/json-text.ts'

const odditiesByRequest = new WeakMap<FastifyRequest, readonly Oddity[]>()

/** What JSON could not carry in this request's body: NaN and its like, and too long integers. */
export const odditiesOf = (request: FastifyRequest): readonly Oddity[] => odditiesByRequest.get(request) ?? []

const digests = new WeakMap<FastifyRequest, string>()

declare module 'fastify' {
  interface FastifyContextConfig {
    /** True where requests with the same bytes share an answer. */
    repeats?: boolean
  }
}

/** What the bytes of this request's body hash to, on routes whose config says `repeats`. */
export const digestOf = (request: FastifyRequest): string => digests.get(request) ?? ''

/** Bodies are JSON with Python's literals, plain or gzipped; the body limit holds for what is unpacked, too. */
export function readBodies(app: FastifyInstance): void {
  app.removeAllContentTypeParsers()
  app.addContentTypeParser<Buffer>(
    ['application/json', 'text/json'],
    { parseAs: 'buffer' },
    async (request: FastifyRequest, body: Buffer) => {
      if (request.routeOptions.config.repeats)
        digests.set(request, createHash('sha256').update(body).digest('base64'))
      try {
        const { value, oddities } = parseJsonBytes(body)
        if (oddities.length > 0) odditiesByRequest.set(request, oddities)
        return value
      } catch (cause) {
        throw new GatewayError('RG_REQUEST_INVALID', `the body is no JSON: ${reason(cause)}`, { cause })
      }
    },
  )
  app.addHook('preParsing', (request, _reply, payload, done) => {
    const encoding = request.headers['content-encoding']
    if (encoding === undefined || encoding === 'identity') return done(null, payload)
    if (encoding !== 'gzip') {
      return done(new GatewayError('RG_MEDIA_TYPE', `content-encoding ${encoding}: send gzip, or none`))
    }
    done(null, unpacked(payload))
  })
}

function unpacked(payload: RequestPayload): RequestPayload {
  const gunzip = Object.assign(createGunzip(), { receivedEncodedLength: 0 })
  // Fastify compares this count with content-length, and what comes out with the limit.
  payload.on('data', (chunk: Buffer) => {
    gunzip.receivedEncodedLength += chunk.length
  })
  payload.on('error', (error) => gunzip.destroy(error))
  return payload.pipe(gunzip)
}

// V8 quotes the text around the mistake; a body holds prompts, which never leave in an error or a log.
const reason = (cause: unknown): string => {
  const message = cause instanceof Error ? cause.message : ''
  return /at position \d+/.exec(message)?.[0] ?? 'it ends too early or holds a stray character'
}
