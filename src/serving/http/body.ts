import { createHash } from 'node:crypto'
import { createGunzip } from 'node:zlib'
import type { FastifyInstance, FastifyRequest, RequestPayload } from 'fastify'
import { GatewayError } from '../../core/errors.ts'
import { JsonLimitError, type NonJsonLiteral, parseJsonBytes } from '../../core/json/text.ts'
import { eachInSlices, turnFor, turnForOne } from '../../core/slices.ts'
import type { BodyAdmission } from './body-admission.ts'
import { bytesOf, type Payload } from './body-bytes.ts'

const odditiesByRequest = new WeakMap<FastifyRequest, readonly NonJsonLiteral[]>()

/** What JSON could not carry in this request's body: NaN and its like, and too long integers. */
export const odditiesOf = (request: FastifyRequest): readonly NonJsonLiteral[] =>
  odditiesByRequest.get(request) ?? []

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
export interface ReadLimits {
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
        const { value, oddities } = parsing instanceof Promise ? await parsing : parsing
        if (oddities.length > 0) odditiesByRequest.set(request, oddities)
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
