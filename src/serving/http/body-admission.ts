import type { FastifyInstance, FastifyRequest } from 'fastify'
import { GatewayError } from '../../core/errors.ts'

/** What bodies in work may take together, bytes. */
export interface BodyLimits {
  /** Of the bodies once unpacked: `limits.max_bodies_bytes`. */
  readonly bytes: () => number
  /** Of V8's heap: texts and values. */
  readonly heapBytes: number
}

declare module 'fastify' {
  interface FastifyRequest {
    /** null: it has no body. */
    bodyShare: Share | null
  }
}

/** What one body takes as far as it is known; given back when the reply is closed. */
interface Share {
  bytes: number
  heapBytes: number
}

/** Counts bodies while they are read. What does not fit is refused before more work is done on it. */
export interface BodyAdmission {
  /**
   * So many bytes of this body are unpacked, and its values take so much of the heap so far. Throws RG_OVERLOADED where
   * that does not fit beside the bodies in work, RG_REQUEST_TOO_LARGE where it would not fit alone.
   */
  grow(request: FastifyRequest, bytes: number, heapBytes?: number): void
}

/** A text stands in memory as it came, and once more while it is made or flattened. */
const heapPerByte = 2

/** Counts each body with its content-length before any of it is read, and with what it unpacks to as it comes. */
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
    if (bytes > most) throw tooLarge(`a body of ${bytes} bytes, and limits.max_bodies_bytes is ${most}`)
    if (heapBytes > limits.heapBytes)
      throw tooLarge(
        `a body whose values take ${mib(heapBytes)} MiB of memory, and bodies may take ${mib(limits.heapBytes)} MiB of this process's heap`,
      )
    if (all.bytes + more.bytes > most || all.heapBytes + more.heapBytes > limits.heapBytes)
      throw new GatewayError(
        'RG_OVERLOADED',
        `bodies of ${all.bytes} bytes, which take ${mib(all.heapBytes)} MiB of memory, are in work; send this one later`,
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
        // Nobody reads on. Until its reply has gone it would keep out the others, and they each other: none would fit.
        giveBack(share)
        throw refusal
      }
    },
  }
}

const mib = (bytes: number): number => Math.ceil(bytes / 1_048_576)

const tooLarge = (what: string): GatewayError =>
  new GatewayError('RG_REQUEST_TOO_LARGE', `${what}; send fewer samples in one request`)
