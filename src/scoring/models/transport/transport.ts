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
  let isUnderWay = false
  const over = () => {
    if (isUnderWay) underWay -= 1
    isUnderWay = false
  }
  let controller: Dispatcher.DispatchController | null = null
  let fault: UpstreamError | null = null
  let rejectReply: (fault: UpstreamError) => void = () => {}
  const reply = new Promise<Reply>((resolve, reject) => {
    rejectReply = reject
    let status = 0
    let retryAfter = ''
    let first: Buffer | null = null
    let rest: Buffer[] | null = null
    let bytes = 0
    const handler: Dispatcher.DispatchHandler = {
      onRequestStart(started) {
        controller = started
        if (fault) started.abort(fault)
      },
      onResponseStart(_controller, statusCode, headers) {
        if (statusCode < 200) return
        status = statusCode
        retryAfter = header(headers['retry-after'])
      },
      onResponseData(controller, chunk) {
        bytes += chunk.length
        if (bytes > maxReplyBytes) {
          controller.abort(tooLong())
          return
        }
        if (!first) first = chunk
        else if (rest) rest.push(chunk)
        else rest = [first, chunk]
      },
      onResponseEnd() {
        const text = rest ? Buffer.concat(rest).toString() : (first?.toString() ?? '')
        over()
        soon(() => resolve({ status, retryAfter, text }))
      },
      onResponseError(_controller, error) {
        over()
        reject(faultOf(error))
      },
    }
    soon(() => {
      if (fault) return
      isUnderWay = true
      underWay += 1
      try {
        pool.dispatch(basePath === '' ? message : { ...message, path: basePath + message.path }, handler)
      } catch (error) {
        over()
        reject(faultOf(error as Error))
      }
    })
  })
  return {
    reply,
    abort(reason) {
      if (fault) return
      fault = reason
      rejectReply(reason)
      controller?.abort(reason)
    },
  }
}
