import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { GatewayError } from '../../core/errors.ts'

/**
 * Once the server closes, each reply under way is the last on its connection. Else a client that keeps connections open
 * would keep the process alive for as long, and one that `isLeaving` tells of would send into a connection that ends.
 * What it returns is what a request that still comes is refused with; undefined as long as none is.
 */
export function closeConnections(
  app: FastifyInstance,
  isLeaving: () => boolean,
): () => GatewayError | undefined {
  let isClosing = false
  app.addHook('preClose', (done) => {
    isClosing = true
    done()
  })
  app.addHook('onSend', (request, reply, payload, done) => {
    if (isClosing || isLeaving()) reply.header('connection', 'close')
    else if (reply.statusCode >= 400 && !request.raw.complete) drainBody(request, reply)
    done(null, payload)
  })
  // A streamed reply has told its headers before.
  app.addHook('onResponse', (_request, _reply, done) => {
    if (isClosing) setImmediate(() => app.server.closeIdleConnections())
    done()
  })
  return () =>
    isClosing
      ? new GatewayError('RG_CLOSING', 'this gateway is ending; send it to another one, or later')
      : undefined
}

/** A longer body is not worth reading on. */
const maxDrained = 1024 * 1024 * 1024

/**
 * Reads on, and forgets, what a client still sends of a refused body. Fastify would close the connection, and the client
 * would see a reset while it writes, instead of 413 or of 429 and its Retry-After. `limits.receive_s` bounds it.
 */
function drainBody({ raw, headers }: FastifyRequest, reply: FastifyReply): void {
  if (Number(headers['content-length'] ?? 0) > maxDrained) return
  reply.removeHeader('connection')
  raw.resume()
}
