import { createRequire } from 'node:module'
import type { Dispatcher, Pool } from 'undici'
import type { Span, Trace } from '../../../core/tracing/open-tracing.ts'
import { UpstreamError } from './upstream-error.ts'

const require = createRequire(import.meta.url)
/** The parts of undici that ask a server. */
type Sockets = Pick<typeof import('undici'), 'Pool' | 'buildConnector'>

let sockets: Sockets | null = null

/**
 * Loaded for the first address: it takes longer than the rest of many commands, which ask no model. These parts are a third of
 * undici, as its own index puts them together; the rest is fetch, caches, mocks and WebSockets.
 */
function undici(): Sockets {
  if (sockets) return sockets
  const Pool = require('undici/lib/dispatcher/pool.js') as Sockets['Pool']
  const buildConnector = require('undici/lib/core/connect.js') as Sockets['buildConnector']
  const { prototype } = require('undici/lib/dispatcher/dispatcher.js') as typeof import('undici').Dispatcher
  Object.assign(prototype, require('undici/lib/api/index.js') as object)
  sockets = { Pool, buildConnector }
  return sockets
}

/** A body that is only written when it is sent. */
export interface LateBody {
  /** Bytes that it holds until then. */
  readonly ownLength: number
  toBytes(): Buffer
}

/** A request to a server. */
export interface HttpMessage {
  readonly method: 'GET' | 'POST'
  readonly path: string
  readonly headers: Record<string, string>
  readonly body: string | Buffer | LateBody | null
}

/** A complete reply. `retryAfter` is the raw header; '' if there was none. */
export interface Reply {
  readonly status: number
  readonly retryAfter: string
  readonly text: string
}

/** A request in flight. `reply` only rejects with UpstreamError. */
interface Exchange {
  readonly reply: Promise<Reply>
  /** Closes the connection; `reply` rejects with `fault` at once. */
  abort(fault: UpstreamError): void
}

/** The sockets of one address. */
export interface Connections {
  readonly pool: Pool
  /** Applies to connections that are opened from now on. */
  setConnectMs(ms: number): void
}

/** Opens connections on demand. The pool never times out, because calls have their own deadlines. */
export function openConnections(origin: string, connectMs: number): Connections {
  const { buildConnector, Pool } = undici()
  let connector = buildConnector({ timeout: connectMs })
  const pool = new Pool(origin, {
    headersTimeout: 0,
    bodyTimeout: 0,
    connect: (options, callback) => connector(options, callback),
    pipelining: 1,
  })
  return {
    pool,
    setConnectMs(ms) {
      connector = buildConnector({ timeout: ms })
    },
  }
}

/** The error for a reply that is larger than the model allows. */
export const tooLong = (): UpstreamError =>
  new UpstreamError('judge_rejected', 'the reply is larger than max_reply_bytes')

const codeOf = (error: Error): string => {
  const { code } = error as NodeJS.ErrnoException
  return typeof code === 'string' ? code : error.name
}

/** No connection came about. */
const unconnected: ReadonlySet<string> = new Set([
  'ECONNREFUSED',
  'EHOSTUNREACH',
  'ENETUNREACH',
  'ENOTFOUND',
  'EAI_AGAIN',
  'UND_ERR_CONNECT_TIMEOUT',
])

/** The UpstreamError for any error of a request. */
export const faultOf = (error: Error): UpstreamError => {
  if (error instanceof UpstreamError) return error
  const code = codeOf(error)
  return new UpstreamError('judge_unreachable', `the connection failed: ${code}`, {
    isConnection: true,
    isRefused: code === 'ECONNREFUSED',
    isUnsent: unconnected.has(code),
  })
}

/** The first value of a header in undici's flat list of names and values; '' if there is none. */
function headerOf(name: string, headers: readonly Buffer[]): string {
  for (let at = 0; at + 1 < headers.length; at += 2) {
    const given = headers[at]
    if (given?.length === name.length && given.toString('latin1').toLowerCase() === name)
      return (headers[at + 1] as Buffer).toString()
  }
  return ''
}

let underWay = 0

/** A single request is not worth batching. */
const soon = (fn: () => void): void => (underWay === 0 ? fn() : batchInImmediate(fn))

/** Sends a request and reads the whole reply, up to `maxReplyBytes`. `basePath` prefixes its path. */
export function send(
  pool: Pool,
  message: HttpMessage,
  { basePath = '', maxReplyBytes }: { readonly basePath?: string; readonly maxReplyBytes: number },
): Exchange {
  const sending = new Sending(maxReplyBytes)
  soon(() => sending.begin(pool, basePath === '' ? message : { ...message, path: basePath + message.path }))
  return sending
}

/**
 * undici's legacy handlers, which undici 7 still supports: with `pool.request` a judged sample costs 17 % more alone and 26 % more
 * in a batch (`npm run against`).
 */
class Sending implements Exchange, Dispatcher.DispatchHandler {
  readonly reply: Promise<Reply>
  readonly #maxReplyBytes: number
  #resolve: (reply: Reply) => void = () => {}
  #reject: (fault: UpstreamError) => void = () => {}
  #cut: ((reason: Error) => void) | null = null
  #fault: UpstreamError | null = null
  #isUnderWay = false
  #status = 0
  #retryAfter = ''
  #first: Buffer | null = null
  #rest: Buffer[] | null = null
  #bytes = 0

  constructor(maxReplyBytes: number) {
    this.#maxReplyBytes = maxReplyBytes
    this.reply = new Promise((resolve, reject) => {
      this.#resolve = resolve
      this.#reject = reject
    })
  }

  begin(pool: Pool, message: HttpMessage): void {
    if (this.#fault) return
    this.#isUnderWay = true
    underWay += 1
    try {
      const { body } = message
      const isLate = typeof body === 'object' && body !== null && 'toBytes' in body
      pool.dispatch(
        isLate ? { ...message, body: body.toBytes() } : (message as Dispatcher.DispatchOptions),
        this,
      )
    } catch (error) {
      this.onError(error as Error)
    }
  }

  abort(reason: UpstreamError): void {
    if (this.#fault) return
    this.#fault = reason
    this.#reject(reason)
    this.#cut?.(reason)
  }

  onConnect(abort: (reason?: Error) => void): void {
    this.#cut = abort
    if (this.#fault) abort(this.#fault)
  }

  onHeaders(status: number, headers: Buffer[]): boolean {
    if (status < 200) return true
    this.#status = status
    if (status !== 200) this.#retryAfter = headerOf('retry-after', headers)
    return true
  }

  onData(chunk: Buffer): boolean {
    this.#bytes += chunk.length
    if (this.#bytes > this.#maxReplyBytes) this.#cut?.(tooLong())
    else if (!this.#first) this.#first = chunk
    else if (this.#rest) this.#rest.push(chunk)
    else this.#rest = [this.#first, chunk]
    return true
  }

  onComplete(): void {
    const text = this.#rest ? Buffer.concat(this.#rest).toString() : (this.#first?.toString() ?? '')
    this.#over()
    soon(() => this.#resolve({ status: this.#status, retryAfter: this.#retryAfter, text }))
  }

  onError(error: Error): void {
    this.#over()
    this.#reject(faultOf(error))
  }

  #over(): void {
    if (this.#isUnderWay) underWay -= 1
    this.#isUnderWay = false
  }
}

let waiting: (() => void)[] = []
let isDue = false

/** Milliseconds that one turn of the event loop spends on it: writing the questions of a burst may take long. */
const turnMs = 10

/**
 * Runs `fn`, which must not throw, after the I/O events of this turn of the event loop, in a batch with the others of the
 * turn. Alternating between handling answers and reading sockets costs more: batches
 * of judged samples cost a quarter less with it (`npm run judged` in bench/).
 */
export function batchInImmediate(fn: () => void): void {
  waiting.push(fn)
  due()
}

function due(): void {
  if (!isDue) setImmediate(runAll)
  isDue = true
}

/** Runs them in order; what does not fit into the time runs in the next turn. */
function runAll(): void {
  const all = waiting
  waiting = []
  isDue = false
  const until = performance.now() + turnMs
  for (const [index, fn] of all.entries()) {
    fn()
    if (performance.now() < until) continue
    const rest = all.slice(index + 1)
    // What `fn` added runs after what was already there.
    waiting = rest.concat(waiting)
    if (waiting.length > 0) due()
    return
  }
}

/** Begins the span of one call; null if the question is not traced. */
export const beginCall = (
  trace: Trace | undefined,
  model: string,
  address: string,
  ask: string,
): Span | null =>
  trace?.begin(`${ask} ${model}`, 'client', {
    'reward_gateway.model': model,
    'reward_gateway.ask': ask,
    'server.address': address,
  }) ?? null

/** Token counts as span attributes, named by OpenTelemetry's conventions for generative AI. */
export const tokenFacts = ({
  prompt,
  completion,
}: {
  readonly prompt: number
  readonly completion: number
}): Record<string, number> => ({
  'gen_ai.usage.input_tokens': prompt,
  'gen_ai.usage.output_tokens': completion,
})

/** The headers, with the trace context added. */
export const headersWith = (
  headers: Record<string, string>,
  trace: Trace | undefined,
): Record<string, string> => (trace ? { ...headers, ...trace.headers } : headers)

/** The message, with the trace context in its headers. */
export const traced = (message: HttpMessage, trace: Trace | undefined): HttpMessage =>
  trace ? { ...message, headers: headersWith(message.headers, trace) } : message
