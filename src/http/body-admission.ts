import type { FastifyInstance, FastifyRequest } from 'fastify'
import { GatewayError } from '../errors.ts'

/**
 * Refuses a request whose body would not fit beside those in work, before any of it is read. A body counts with its
 * content-length, or as the longest (`each`, bytes) where that is not known or it comes packed.
 */
export function admitBodies(app: FastifyInstance, limits: { each: number; all: () => number }): void {
  let inWork = 0
  app.addHook('onRequest', (request, reply, done) => {
    const bytes = bytesOf(request, limits.each)
    if (bytes === 0) return done()
    // A body alone may have any size that a body may have: it could never come otherwise.
    if (inWork > 0 && inWork + bytes > limits.all())
      return done(
        new GatewayError('RG_OVERLOADED', `bodies of ${inWork} bytes are in work; send this one later`),
      )
    inWork += bytes
    reply.raw.once('close', () => {
      inWork -= bytes
    })
    done()
  })
}

function bytesOf({ headers }: FastifyRequest, longest: number): number {
  const { 'content-length': length, 'transfer-encoding': transfer, 'content-encoding': packed } = headers
  if (length === undefined) return transfer === undefined ? 0 : longest
  const bytes = Number(length)
  if (bytes === 0) return 0
  return packed === undefined || packed === 'identity' ? Math.min(bytes, longest) : longest
}
