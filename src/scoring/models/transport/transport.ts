import { buildConnector, type Dispatcher, Pool } from 'undici'
import { batchInImmediate } from './batch-in-immediate.ts'
import { UpstreamError } from './upstream-error.ts'

/** Bytes to one server. */
export interface HttpMessage {
  readonly method: 'GET' | 'POST'
  readonly path: string
  readonly headers: Record<string, string>
  readonly body: string | Buffer | null
}

/** A whole reply. `retryAfter`: the header as it came; '' where there was none. */
export interface Reply {
  readonly status: number
  readonly retryAfter: string
  readonly text: string
}

/** A message under way. `reply` rejects with UpstreamError only. */
export interface Exchange {
  readonly reply: Promise<Reply>
  /** Closes the connection; `reply` rejects with `fault` at once. */
  abort(fault: UpstreamError): void
}

/** The sockets of one address. */
export interface Connections {
  readonly pool: Pool
  /** For connections that are opened from now on. */
  setConnectMs(ms: number): void
}

/** Opens connections as they are needed. The pool itself never times out: calls have their own deadlines. */
export function openConnections(origin: string, connectMs: number): Connections {
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

/** What a reply fails with that is longer than its model allows. */
export const tooLong = (): UpstreamError =>
  new UpstreamError('judge_rejected', 'the reply is larger than max_reply_bytes')

const codeOf = (error: Error): string => {
  const { code } = error as NodeJS.ErrnoException
  return typeof code === 'string' ? code : error.name
}

/** What a message fails with. */
export const faultOf = (error: Error): UpstreamError => {
  if (error instanceof UpstreamError) return error
  const code = codeOf(error)
  return new UpstreamError('judge_unreachable', `the connection failed: ${code}`, {
    isConnection: true,
    isRefused: code === 'ECONNREFUSED',
  })
}

const header = (value: string | string[] | undefined): string =>
  Array.isArray(value) ? (value[0] ?? '') : (value ?? '')

let underWay = 0

/** What is alone has nothing to be worked on together with. */
const soon = (fn: () => void): void => (underWay === 0 ? fn() : batchInImmediate(fn))

/** Sends a message and reads the whole reply, of at most `maxReplyBytes`. `basePath` goes before its path. */
export function send(
  pool: Pool,
  message: HttpMessage,
  { basePath = '', maxReplyBytes }: { readonly basePath?: string; readonly maxReplyBytes: number },
): Exchange {
  const sending = new Sending(maxReplyBytes)
  soon(() => sending.begin(pool, basePath === '' ? message : { ...message, path: basePath + message.path }))
  return sending
}

/** A class: an object of functions, each with its own variables, costs as much as undici's own request. */
class Sending implements Exchange, Dispatcher.DispatchHandler {
  readonly reply: Promise<Reply>
  readonly #maxReplyBytes: number
  #resolve: (reply: Reply) => void = () => {}
  #reject: (fault: UpstreamError) => void = () => {}
  #controller: Dispatcher.DispatchController | null = null
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
      pool.dispatch(message, this)
    } catch (error) {
      this.onResponseError(null, error as Error)
    }
  }

  abort(reason: Fault): void {
    if (this.#fault) return
    this.#fault = reason
    this.#reject(reason)
    this.#controller?.abort(reason)
  }

  onRequestStart(controller: Dispatcher.DispatchController): void {
    this.#controller = controller
    if (this.#fault) controller.abort(this.#fault)
  }

  onResponseStart(
    _controller: Dispatcher.DispatchController,
    status: number,
    headers: Record<string, string | string[] | undefined>,
  ): void {
    if (status < 200) return
    this.#status = status
    this.#retryAfter = header(headers['retry-after'])
  }

  onResponseData(controller: Dispatcher.DispatchController, chunk: Buffer): void {
    this.#bytes += chunk.length
    if (this.#bytes > this.#maxReplyBytes) {
      controller.abort(tooLong())
      return
    }
    if (!this.#first) this.#first = chunk
    else if (this.#rest) this.#rest.push(chunk)
    else this.#rest = [this.#first, chunk]
  }

  onResponseEnd(): void {
    const text = this.#rest ? Buffer.concat(this.#rest).toString() : (this.#first?.toString() ?? '')
    this.#over()
    soon(() => this.#resolve({ status: this.#status, retryAfter: this.#retryAfter, text }))
  }

  onResponseError(_controller: Dispatcher.DispatchController | null, error: Error): void {
    this.#over()
    this.#reject(faultOf(error))
  }

  #over(): void {
    if (this.#isUnderWay) underWay -= 1
    this.#isUnderWay = false
  }
}
