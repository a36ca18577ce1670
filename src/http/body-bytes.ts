import type { Readable } from 'node:stream'
import type { FastifyRequest } from 'fastify'
import { GatewayError } from '../errors.ts'
import { eachInSlices } from '../slices.ts'
import { codeOf } from '../system-error.ts'

/** A body on its way, unpacked where it came packed. */
export type Payload = Readable & {
  /** Bytes that came packed; absent: it came as it is. */
  readonly receivedEncodedLength?: number
}

/** A copy of a gibibyte at once holds up the loop for a third of a second. */
const copyBytes = 4_194_304

/**
 * The bytes of a body, in memory of their own. `came` hears how many have come so far; what it throws ends the reading.
 * Rejects with RG_REQUEST_TOO_LARGE beyond `limit`, and with RG_REQUEST_INVALID where fewer or more come than announced.
 */
export async function bytesOf(
  payload: Payload,
  { headers }: FastifyRequest,
  limit: number,
  came: (length: number) => void,
): Promise<Buffer> {
  const announced = Number(headers['content-length'] ?? Number.NaN)
  if (announced > limit) throw tooLarge(limit)
  const chunks: Buffer[] = []
  let length = 0
  await new Promise<void>((resolve, reject) => {
    const stop = (): void => {
      payload.off('data', take)
      payload.off('end', resolve)
      payload.off('error', fail)
    }
    const fail = (error: Error & { statusCode?: number }): void => {
      stop()
      // What a client sends wrongly, or packed wrongly, is its own mistake.
      error.statusCode ??= 400
      const isBadGzip = payload.receivedEncodedLength !== undefined && /^Z_/.test(codeOf(error) ?? '')
      reject(isBadGzip ? badGzip(error) : error)
    }
    const take = (chunk: Buffer): void => {
      length += chunk.length
      try {
        if (length > limit || (payload.receivedEncodedLength ?? 0) > limit) throw tooLarge(limit)
        came(length)
      } catch (error) {
        stop()
        // What is packed is unpacked no further.
        if (payload.receivedEncodedLength !== undefined) payload.destroy()
        reject(error)
        return
      }
      chunks.push(chunk)
    }
    payload.on('data', take)
    payload.on('end', resolve)
    payload.on('error', fail)
  })
  const sent = payload.receivedEncodedLength || length
  if (!Number.isNaN(announced) && sent !== announced)
    throw new GatewayError(
      'RG_REQUEST_INVALID',
      `the body has ${sent} bytes and its content-length says ${announced}`,
    )
  return joined(chunks, length)
}

async function joined(chunks: readonly Buffer[], length: number): Promise<Buffer> {
  if (length <= copyBytes) return Buffer.concat(chunks, length)
  const whole = Buffer.allocUnsafe(length)
  let at = 0
  const copying = eachInSlices(chunks.length, (index) => {
    const chunk = chunks[index] as Buffer
    whole.set(chunk, at)
    at += chunk.length
  })
  if (copying !== null) await copying
  return whole
}

const tooLarge = (limit: number): GatewayError =>
  new GatewayError(
    'RG_REQUEST_TOO_LARGE',
    `the body is longer than limits.max_body_bytes, ${limit} bytes; send fewer samples at a time`,
  )

const badGzip = (cause: Error): GatewayError =>
  new GatewayError(
    'RG_REQUEST_INVALID',
    "the body is no gzip, or ends too early: pack all of it, or leave out 'content-encoding: gzip'",
    { cause },
  )
