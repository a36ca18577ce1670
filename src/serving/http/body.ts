/** Reads the bodies of requests, within the limits of one body and of all bodies together. */

import { createHash } from 'node:crypto'
import type { Readable } from 'node:stream'
import { createGunzip } from 'node:zlib'
import type { FastifyInstance, FastifyRequest, RequestPayload } from 'fastify'
import type { Clock } from '../../core/clock.ts'
import { GatewayError } from '../../core/errors.ts'
import { JsonLimitError, type NonJsonLiteral, parseJsonBytes } from '../../core/json/text.ts'
import { eachInSlices, type MaybePromise, turnFor, turnForOne } from '../../core/slices.ts'
import { codeOf } from '../../core/system-error.ts'

const literalsByRequest = new WeakMap<FastifyRequest, readonly NonJsonLiteral[]>()

/** Literals in this request's body that JSON cannot carry: NaN, infinities and very long integers. */
export const nonJsonLiteralsOf = (request: FastifyRequest): readonly NonJsonLiteral[] =>
  literalsByRequest.get(request) ?? []

const lengths = new WeakMap<FastifyRequest, number>()

/** Decompressed bytes of this request's body; 0 if it is small. */
export const bodyBytesOf = (request: FastifyRequest): number => lengths.get(request) ?? 0

const digests = new WeakMap<FastifyRequest, string>()

const bytesByRequest = new WeakMap<FastifyRequest, Buffer>()

/** This request's body as it was sent, decompressed, on routes whose config sets `keepsBytes` or `lines`. */
export const sentBytesOf = (request: FastifyRequest): Buffer => bytesByRequest.get(request) ?? Buffer.alloc(0)

declare module 'fastify' {
  interface FastifyRequest {
    /** What its body uses; null if it has none. */
    bodyShare: Share | null
  }
  interface FastifyContextConfig {
    /** Whether identical requests share an outcome; the body is then hashed. */
    repeats?: boolean
    /** Whether the body is also kept as it was sent. */
    keepsBytes?: boolean
    /** Whether the body is NDJSON, which the route reads itself. */
    lines?: boolean
    /** Members of the body that are lists of rows. A row with too many values fails alone, not the whole request. */
    rows?: readonly string[]
  }
}

/** Hash of this request's body, on routes whose config sets `repeats`. */
export const digestOf = (request: FastifyRequest): string => digests.get(request) ?? ''

/** Limits of a request body. */
interface ReadLimits {
  /** Maximum bytes after decompression. */
  readonly bytes: number
  /** `limits.max_row_values` and `limits.max_samples`. */
  readonly values: () => { readonly max_row_values: number; readonly max_samples: number }
  readonly admission: BodyAdmission
  readonly clock: Clock
}

/** Reads JSON bodies, plain or gzipped, with Python's NaN and Infinity. Limits also apply to the decompressed body. */
export function readBodies(
  app: FastifyInstance,
  { bytes: limit, values, admission, clock }: ReadLimits,
): void {
  app.removeAllContentTypeParsers()
  app.addContentTypeParser(
    ['application/json', 'text/json'],
    async (request: FastifyRequest, payload: Payload) => {
      const bytes = await bytesOf(payload, request, limit, (length) => admission.grow(request, length))
      request.arrived = clock.now()
      const turn = turnForOne()
      if (turn !== null) await turn
      if (bytes.length > fewBytes) lengths.set(request, bytes.length)
      const { repeats, keepsBytes, rows = [] } = request.routeOptions.config
      if (keepsBytes) bytesByRequest.set(request, bytes)
      if (repeats) digests.set(request, await digest(bytes))
      const { max_row_values: maxValues, max_samples: maxRows } = values()
      const taken = (heapBytes: number) => admission.grow(request, bytes.length, heapBytes)
      try {
        const limits = { rows, maxValues, maxRows, hasLongLists: true }
        const parsing = parseJsonBytes(bytes, limits, taken)
        const { value, literals } = parsing instanceof Promise ? await parsing : parsing
        if (literals.length > 0) literalsByRequest.set(request, literals)
        // Validation and the route handler are one uninterrupted piece of work each, so they get a turn of their own.
        if (bytes.length > longBytes) await turnFor(bytes.length)
        return value
      } catch (cause) {
        throw refusalOf(cause, maxRows)
      }
    },
  )
  app.addContentTypeParser('application/x-ndjson', async (request: FastifyRequest, payload: Payload) => {
    if (!request.routeOptions.config.lines)
      throw new GatewayError(
        'RG_MEDIA_TYPE',
        "send the body as JSON, with the header 'content-type: application/json'",
      )
    bytesByRequest.set(
      request,
      await bytesOf(payload, request, limit, (length) => admission.grow(request, length)),
    )
    return null
  })
  app.addHook('preParsing', (request, _reply, payload, done) => {
    const encoding = request.headers['content-encoding']
    if (encoding === undefined || encoding === 'identity') return done(null, payload)
    if (encoding !== 'gzip') {
      return done(
        new GatewayError(
          'RG_MEDIA_TYPE',
          `content-encoding ${encoding} is not supported: send gzip, or none`,
        ),
      )
    }
    done(null, unpacked(payload))
  })
}

/** A longer body may contain tens of thousands of values. */
const longBytes = 100_000

/** Shorter bodies are not worth counting; a judge question has that much overhead anyway. */
const fewBytes = 16_384

const hashBytes = 1_048_576

async function digest(bytes: Buffer): Promise<string> {
  const hash = createHash('sha256')
  const pieces = Math.ceil(bytes.length / hashBytes)
  const one = (k: number): void => {
    hash.update(bytes.subarray(k * hashBytes, (k + 1) * hashBytes))
  }
  const hashing = eachInSlices(pieces, one, undefined, 1)
  if (hashing !== null) await hashing
  return hash.digest('base64')
}

function unpacked(payload: RequestPayload): RequestPayload {
  const gunzip = Object.assign(createGunzip(), { receivedEncodedLength: 0 })
  payload.on('data', (chunk: Buffer) => {
    gunzip.receivedEncodedLength += chunk.length
  })
  payload.on('error', (error) => gunzip.destroy(error))
  return payload.pipe(gunzip)
}

function refusalOf(cause: unknown, maxRows: number): unknown {
  if (!(cause instanceof SyntaxError)) return cause
  if (!(cause instanceof JsonLimitError))
    return new GatewayError('RG_REQUEST_INVALID', `the body is not valid JSON: ${reason(cause)}`, { cause })
  if (cause.kind === 'rows') return new GatewayError('RG_REQUEST_TOO_LARGE', tooManyRows(maxRows), { cause })
  return new GatewayError('RG_REQUEST_INVALID', `the body ${cause.message}`, { cause })
}

const tooManyRows = (maxRows: number): string =>
  `a request may contain at most ${maxRows} samples (limits.max_samples); split it`

// V8's message quotes the text around the mistake. Texts of samples must not appear in errors or logs.
const reason = ({ message }: SyntaxError): string =>
  /at position \d+/.exec(message)?.[0] ?? 'it ends too early or contains an unexpected character'

/** The stream of a body, decompressed if it was compressed. */
type Payload = Readable & {
  /** Compressed bytes received so far; absent if the body is not compressed. */
  readonly receivedEncodedLength?: number
}

/** Each chunk has hundreds of bytes of overhead. After the first few, chunks up to this size are copied together. */
const smallBytes = 4096
const manyChunks = 64
const togetherBytes = 65_536

/** Larger bodies are joined in slices: copying 1 GiB at once blocks the event loop for a third of a second. */
const copyBytes = 4_194_304

/**
 * Reads a body. `received` is called with the number of bytes so far; what it throws ends the reading. Rejects with
 * RG_REQUEST_TOO_LARGE beyond `limit`, and with RG_REQUEST_INVALID if the length differs from the content-length.
 */
function bytesOf(
  payload: Payload,
  { headers }: FastifyRequest,
  limit: number,
  received: (length: number) => void,
): Promise<Buffer> {
  const announced = Number(headers['content-length'] ?? Number.NaN)
  if (announced > limit) return Promise.reject(tooLong(limit))
  const chunks = new Chunks()
  let length = 0
  return new Promise((resolve, reject) => {
    const stop = (): void => {
      payload.off('data', take)
      payload.off('end', end)
      payload.off('error', fail)
    }
    const end = (): void => {
      const sent = payload.receivedEncodedLength || length
      if (Number.isNaN(announced) || sent === announced) resolve(joined(chunks.all(), length))
      else
        reject(
          new GatewayError(
            'RG_REQUEST_INVALID',
            `the body has ${sent} bytes, but its content-length is ${announced}`,
          ),
        )
    }
    const fail = (error: Error & { statusCode?: number }): void => {
      stop()
      // A broken stream is the client's fault.
      error.statusCode ??= 400
      const isBadGzip = payload.receivedEncodedLength !== undefined && /^Z_/.test(codeOf(error) ?? '')
      reject(isBadGzip ? badGzip(error) : error)
    }
    const take = (chunk: Buffer): void => {
      length += chunk.length
      try {
        if (length > limit || (payload.receivedEncodedLength ?? 0) > limit) throw tooLong(limit)
        received(length)
      } catch (error) {
        stop()
        // Stops decompressing.
        if (payload.receivedEncodedLength !== undefined) payload.destroy()
        reject(error)
        return
      }
      if (!chunks.add(chunk)) return
      // Otherwise tiny chunks on many connections would monopolize the event loop.
      const turn = turnForOne()
      if (turn === null) return
      payload.pause()
      void turn.then(() => payload.resume())
    }
    payload.on('data', take)
    payload.on('end', end)
    payload.on('error', fail)
  })
}

/** The chunks of a body, with small ones copied together. */
class Chunks {
  readonly #chunks: Buffer[] = []
  #together: Buffer | null = null
  #used = 0
  #small = 0

  /** Returns true after every `manyChunks` small chunks. */
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
  // The only chunk needs no copy: the stream does not reuse it.
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

const tooLong = (limit: number): GatewayError =>
  new GatewayError(
    'RG_REQUEST_TOO_LARGE',
    `the body is larger than limits.max_body_bytes (${limit} bytes); send fewer samples per request`,
  )

const badGzip = (cause: Error): GatewayError =>
  new GatewayError(
    'RG_REQUEST_INVALID',
    "the body is not valid gzip or ends too early: compress all of it, or omit 'content-encoding: gzip'",
    { cause },
  )

/** Limits of all request bodies in progress together, in bytes. */
interface SharedLimits {
  /** Of the decompressed bodies: `limits.max_bodies_bytes`. */
  readonly bytes: () => number
  /** Of V8's heap, for texts and values. */
  readonly heapBytes: number
}

/** What one body uses, as far as known. Released when the reply is closed. */
interface Share {
  bytes: number
  heapBytes: number
}

/** Counts bodies while they are read, and refuses those that do not fit before doing more work on them. */
interface BodyAdmission {
  /**
   * Reports the decompressed bytes of this body and the heap used by its values so far. Throws RG_OVERLOADED if that does
   * not fit beside the other bodies, RG_REQUEST_TOO_LARGE if it would not fit alone.
   */
  grow(request: FastifyRequest, bytes: number, heapBytes?: number): void
}

/** A text is in memory as received, and once more while it is decoded or flattened. */
const heapPerByte = 2

/** Counts each body by its content-length before it is read, and by its decompressed size while it arrives. */
export function admitBodies(app: FastifyInstance, limits: SharedLimits): BodyAdmission {
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
