import { type Dispatcher, Pool } from 'undici'
import { Fault } from './fault.ts'
import { afterTurn } from './turn.ts'

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

/** A message under way. `reply` rejects with Fault only. */
export interface Exchange {
  readonly reply: Promise<Reply>
  /** Closes the connection; `reply` rejects with `fault` at once. */
  abort(fault: Fault): void
}

/** The connections to one address. The pool itself never times out: calls have their own deadlines. */
export function connections(origin: string, options: { connectMs: number; maxReplyBytes: number }): Pool {
  return new Pool(origin, {
    headersTimeout: 0,
    bodyTimeout: 0,
    connectTimeout: options.connectMs,
    maxResponseSize: options.maxReplyBytes,
    pipelining: 1,
  })
}

const tooLong = 'UND_ERR_RES_EXCEEDED_MAX_SIZE'

const codeOf = (error: Error): string => {
  const { code } = error as NodeJS.ErrnoException
  return typeof code === 'string' ? code : error.name
}

/** What a message fails with. */
export const faultOf = (error: Error): Fault => {
  if (error instanceof Fault) return error
  const code = codeOf(error)
  if (code === tooLong) return new Fault('judge_rejected', 'the reply is larger than max_reply_bytes')
  return new Fault('judge_unreachable', `the connection failed: ${code}`, {
    isRefused: code === 'ECONNREFUSED',
  })
}

const header = (value: string | string[] | undefined): string =>
  Array.isArray(value) ? (value[0] ?? '') : (value ?? '')

let underWay = 0

/** What is alone has nothing to be worked on together with. */
const soon = (fn: () => void): void => (underWay === 0 ? fn() : afterTurn(fn))

/** Sends a message and reads the whole reply. `basePath` goes before its path. */
export function send(pool: Pool, message: HttpMessage, basePath = ''): Exchange {
  let isUnderWay = false
  const over = () => {
    if (isUnderWay) underWay -= 1
    isUnderWay = false
  }
  let controller: Dispatcher.DispatchController | null = null
  let fault: Fault | null = null
  let rejectReply: (fault: Fault) => void = () => {}
  const reply = new Promise<Reply>((resolve, reject) => {
    rejectReply = reject
    let status = 0
    let retryAfter = ''
    let first: Buffer | null = null
    let rest: Buffer[] | null = null
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
      onResponseData(_controller, chunk) {
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
