import type { Readable } from 'node:stream'
import type { FastifyRequest } from 'fastify'
import { GatewayError } from '../../core/errors.ts'
import { eachInSlices, type MaybePromise, turnForOne } from '../../core/slices.ts'
import { codeOf } from '../../core/system-error.ts'

/** A body on its way, unpacked where it came packed. */
export type Payload = Readable & {
  /** Bytes that came packed; absent: it came as it is. */
  readonly receivedEncodedLength?: number
}

/** A chunk costs hundreds of bytes beside its own: where many come, those up to this length are put together. */
const smallBytes = 4096
const manyChunks = 64
const togetherBytes = 65_536

/** A copy of a gibibyte at once holds up the loop for a third of a second. */
const copyBytes = 4_194_304

/**
 * The bytes of a body. `came` hears how many have come so far; what it throws ends the reading.
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
  const chunks = new Chunks()
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
      if (!chunks.add(chunk)) return
      // Else chunks of few bytes, on many connections, would have the loop for themselves.
      const turn = turnForOne()
      if (turn === null) return
      payload.pause()
      void turn.then(() => payload.resume())
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
  return joined(chunks.all(), length)
}

/** The chunks of a body; small ones in fewer. */
class Chunks {
  readonly #chunks: Buffer[] = []
  #together: Buffer | null = null
  #used = 0
  #small = 0

  /** True after each so many small ones. */
  add(chunk: Buffer): boolean {
    if (chunk.length > smallBytes || ++this.#small <= manyChunks) {
      this.#close()
      this.#chunks.push(chunk)
      return false
    }
    if (this.#used + chunk.length > (this.#together?.length ?? 0)) {
      this.#close()
      this.#together = Buffer.allocUnsafeSlow(togetherBytes)
    }
    this.#together?.set(chunk, this.#used)
    this.#used += chunk.length
    return this.#small % manyChunks === 0
  }

  all(): readonly Buffer[] {
    this.#close()
    return this.#chunks
  }

  #close(): void {
    if (this.#together && this.#used > 0) this.#chunks.push(this.#together.subarray(0, this.#used))
    this.#together = null
    this.#used = 0
  }
}

function joined(chunks: readonly Buffer[], length: number): MaybePromise<Buffer> {
  const [only] = chunks
  // A chunk belongs to whom its stream gave it.
  if (chunks.length === 1 && only) return only
  if (length <= copyBytes) return Buffer.concat(chunks, length)
  const whole = Buffer.allocUnsafe(length)
  let at = 0
  const copying = eachInSlices(chunks.length, (index) => {
    const chunk = chunks[index] as Buffer
    whole.set(chunk, at)
    at += chunk.length
  })
  return copying === null ? whole : copying.then(() => whole)
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
