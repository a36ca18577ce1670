import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { GatewayError } from '../../core/errors.ts'

/**
 * Closes each connection after its current reply once the server is closing or leaving. Otherwise keep-alive connections
 * would keep the process alive, and clients would send requests into connections that are about to end. The returned
 * function gives the error for requests that still arrive; undefined while the server is open.
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
