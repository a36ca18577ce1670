import type { FastifyInstance, FastifyRequest } from 'fastify'
import { GatewayError } from '../../core/errors.ts'

/** Limits of all request bodies in progress together, in bytes. */
export interface BodyLimits {
  /** Of the decompressed bodies: `limits.max_bodies_bytes`. */
  readonly bytes: () => number
  /** Of V8's heap, for texts and values. */
  readonly heapBytes: number
}

declare module 'fastify' {
  interface FastifyRequest {
    /** null if the request has no body. */
    bodyShare: Share | null
  }
}

/** What one body uses, as far as known. Released when the reply is closed. */
interface Share {
  bytes: number
  heapBytes: number
}

/** Counts bodies while they are read, and refuses those that do not fit before doing more work on them. */
export interface BodyAdmission {
  /**
   * Reports the decompressed bytes of this body and the heap used by its values so far. Throws RG_OVERLOADED if that does
   * not fit beside the other bodies, RG_REQUEST_TOO_LARGE if it would not fit alone.
   */
  grow(request: FastifyRequest, bytes: number, heapBytes?: number): void
}

/** A text is in memory as received, and once more while it is decoded or flattened. */
const heapPerByte = 2

/** Counts each body by its content-length before it is read, and by its decompressed size while it arrives. */
export function admitBodies(app: FastifyInstance, limits: BodyLimits): BodyAdmission {
  app.decorateRequest('bodyShare', null)
  const all: Share = { bytes: 0, heapBytes: 0 }
  const grow = (share: Share, bytes: number, heapBytes: number): void => {
    const more = {
      bytes: Math.max(0, bytes - share.bytes),
      heapBytes: Math.max(0, heapBytes - share.heapBytes),
    }
    if (more.bytes === 0 && more.heapBytes === 0) return
    const most = limits.bytes()
    if (bytes > most) throw tooLarge(`the body has ${bytes} bytes, and limits.max_bodies_bytes is ${most}`)
    if (heapBytes > limits.heapBytes)
      throw tooLarge(
        `the values of the body need ${mib(heapBytes)} MiB of memory, and bodies may use ${mib(limits.heapBytes)} MiB of this process's heap`,
      )
    if (all.bytes + more.bytes > most || all.heapBytes + more.heapBytes > limits.heapBytes)
      throw new GatewayError(
        'RG_OVERLOADED',
        `requests in progress already hold ${all.bytes} bytes of bodies, which use ${mib(all.heapBytes)} MiB of memory; send this one later`,
      )
    share.bytes += more.bytes
    share.heapBytes += more.heapBytes
    all.bytes += more.bytes
    all.heapBytes += more.heapBytes
  }
  const giveBack = (share: Share): void => {
    all.bytes -= share.bytes
    all.heapBytes -= share.heapBytes
    share.bytes = 0
    share.heapBytes = 0
  }
  app.addHook('onRequest', (request, reply, done) => {
    const { 'content-length': length, 'transfer-encoding': transfer } = request.headers
    const bytes = Number(length ?? 0)
    if (!(bytes > 0) && transfer === undefined) return done()
    const share = { bytes: 0, heapBytes: 0 }
    try {
      grow(share, bytes, bytes * heapPerByte)
    } catch (error) {
      return done(error as GatewayError)
    }
    request.bodyShare = share
    reply.raw.once('close', () => giveBack(share))
    done()
  })
  return {
    grow(request, bytes, heapBytes = 0) {
      const share = request.bodyShare
      if (!share) return
      try {
        grow(share, bytes, Math.max(bytes * heapPerByte, bytes + heapBytes))
      } catch (refusal) {
        // Released now: until its reply is sent, a refused body would keep out others, and none would fit.
        giveBack(share)
        throw refusal
      }
    },
  }
}

const mib = (bytes: number): number => Math.ceil(bytes / 1_048_576)

const tooLarge = (what: string): GatewayError =>
  new GatewayError('RG_REQUEST_TOO_LARGE', `${what}; send fewer samples in one request`)
