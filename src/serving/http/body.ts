import { createHash } from 'node:crypto'
import type { Readable } from 'node:stream'
import { createGunzip } from 'node:zlib'
import type { FastifyInstance, FastifyRequest, RequestPayload } from 'fastify'
import { GatewayError } from '../../core/errors.ts'
import { JsonLimitError, type NonJsonLiteral, parseJsonBytes } from '../../core/json/text.ts'
import { eachInSlices, type MaybePromise, turnFor, turnForOne } from '../../core/slices.ts'
import { codeOf } from '../../core/system-error.ts'
import type { BodyAdmission } from './body-admission.ts'

const literalsByRequest = new WeakMap<FastifyRequest, readonly NonJsonLiteral[]>()

/** What JSON could not carry in this request's body: NaN and its like, and too long integers. */
export const nonJsonLiteralsOf = (request: FastifyRequest): readonly NonJsonLiteral[] =>
  literalsByRequest.get(request) ?? []

const lengths = new WeakMap<FastifyRequest, number>()

/** Bytes of this request's body, unpacked, where they are many; 0: they are few. */
export const bodyBytesOf = (request: FastifyRequest): number => lengths.get(request) ?? 0

const digests = new WeakMap<FastifyRequest, string>()

declare module 'fastify' {
  interface FastifyContextConfig {
    /** True where requests with the same bytes share an answer. */
    repeats?: boolean
    /** Members of the body that are lists of rows: what one row holds too much of is that row's failure alone. */
    rows?: readonly string[]
  }
}

/** What the bytes of this request's body hash to, on routes whose config says `repeats`. */
export const digestOf = (request: FastifyRequest): string => digests.get(request) ?? ''

/** What a body may hold. */
interface ReadLimits {
  /** Of one body once unpacked. */
  readonly bytes: number
  /** `limits.max_row_values` and `limits.max_samples`. */
  readonly values: () => { readonly max_row_values: number; readonly max_samples: number }
  readonly admission: BodyAdmission
}

/** Bodies are JSON with Python's literals, plain or gzipped; the limits hold for what is unpacked, too. */
export function readBodies(app: FastifyInstance, { bytes: limit, values, admission }: ReadLimits): void {
  app.removeAllContentTypeParsers()
  app.addContentTypeParser(
    ['application/json', 'text/json'],
    async (request: FastifyRequest, payload: Payload) => {
      const bytes = await bytesOf(payload, request, limit, (length) => admission.grow(request, length))
      const turn = turnForOne()
      if (turn !== null) await turn
      if (bytes.length > fewBytes) lengths.set(request, bytes.length)
      const { repeats, rows = [] } = request.routeConfig ?? {}
      if (repeats) digests.set(request, await digest(bytes))
      const { max_row_values: maxValues, max_samples: maxRows } = values()
      const taken = (heapBytes: number) => admission.grow(request, bytes.length, heapBytes)
      try {
        const limits = { rows, maxValues, maxRows, hasLongLists: true }
        const parsing = parseJsonBytes(bytes, limits, taken)
        const { value, literals } = parsing instanceof Promise ? await parsing : parsing
        if (literals.length > 0) literalsByRequest.set(request, literals)
        // Its schema, and its route's first look at it, are one piece of work each.
        if (bytes.length > longBytes) await turnFor(bytes.length)
        return value
      } catch (cause) {
        throw refusalOf(cause, maxRows)
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

/** A longer body may hold tens of thousands of values. */
const longBytes = 100_000

/** What a question takes beside its texts is counted with as much. */
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
    return new GatewayError('RG_REQUEST_INVALID', `the body is no JSON: ${reason(cause)}`, { cause })
  if (cause.kind === 'rows') return new GatewayError('RG_REQUEST_TOO_LARGE', tooManyRows(maxRows), { cause })
  return new GatewayError('RG_REQUEST_INVALID', `the body ${cause.message}`, { cause })
}

const tooManyRows = (maxRows: number): string =>
  `one request may hold ${maxRows} samples (limits.max_samples), and this one holds more; split it`

// V8 quotes the text around the mistake; a body holds prompts, which never leave in an error or a log.
const reason = ({ message }: SyntaxError): string =>
  /at position \d+/.exec(message)?.[0] ?? 'it ends too early or holds a stray character'

/** A body on its way, unpacked where it came packed. */
type Payload = Readable & {
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
async function bytesOf(
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
