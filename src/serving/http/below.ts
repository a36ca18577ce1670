import { randomUUID } from 'node:crypto'
import { STATUS_CODES } from 'node:http'
import type { Socket } from 'node:net'
import { GatewayError } from '../../core/errors.ts'
import { codeOf } from '../../core/system-error.ts'
import { nothingLoads } from './security-headers.ts'

/**
 * Answers what is no request that Fastify could see, in the form of all errors: headers or a body that came too slowly,
 * headers that are too long, what is no HTTP. `answered` hears of each with its status.
 */
export function answerBelow(answered: (status: number) => void): (error: Error, socket: Socket) => void {
  return (error, socket) => {
    // Nobody is there to be answered.
    if (codeOf(error) === 'ECONNRESET' || socket.destroyed) return
    const { code, message, statusCode } = refusalOf(error)
    answered(statusCode)
    if (socket.writable) {
      const id = randomUUID()
      const body = JSON.stringify({ error: { code, message, problems: [], request_id: id } })
      const headers = {
        'content-type': 'application/json; charset=utf-8',
        'content-length': String(Buffer.byteLength(body)),
        connection: 'close',
        'x-request-id': id,
        ...nothingLoads,
      }
      const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`)
      socket.write(`HTTP/1.1 ${statusCode} ${STATUS_CODES[statusCode]}\r\n${lines.join('')}\r\n${body}`)
    }
    socket.destroySoon()
  }
}

function refusalOf(error: Error): GatewayError {
  switch (codeOf(error)) {
    case 'ERR_HTTP_REQUEST_TIMEOUT':
      return new GatewayError(
        'RG_REQUEST_TIMEOUT',
        'headers and body took longer than limits.receive_s; send them faster, or send fewer samples',
      )
    case 'HPE_HEADER_OVERFLOW':
      return new GatewayError('RG_HEADERS_TOO_LARGE', 'the headers are longer than 16 KiB together')
    default:
      return new GatewayError('RG_REQUEST_INVALID', `this is no HTTP/1.1 request${parserWords(error)}`)
  }
}

/** Why the parser gave up, in its own words; they never quote the request. */
function parserWords(error: Error): string {
  const reason = 'reason' in error && typeof error.reason === 'string' ? error.reason : ''
  return /^[\w ,.'/-]{1,100}$/.test(reason) ? `: ${reason}` : ''
}
