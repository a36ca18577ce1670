import { randomUUID } from 'node:crypto'
import { STATUS_CODES } from 'node:http'
import type { Socket } from 'node:net'
import type { FastifyError, FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { type ErrorCode, GatewayError } from '../../core/errors.ts'
import { codeOf } from '../../core/system-error.ts'
import { AskError } from '../../scoring/gateway/gateway.ts'
import { apiHeaders } from './request-context.ts'

const codeOfStatus: Readonly<Record<number, ErrorCode>> = {
  400: 'RG_REQUEST_INVALID',
  404: 'RG_NOT_FOUND',
  408: 'RG_REQUEST_TIMEOUT',
  413: 'RG_REQUEST_TOO_LARGE',
  415: 'RG_MEDIA_TYPE',
  429: 'RG_OVERLOADED',
  431: 'RG_HEADERS_TOO_LARGE',
  503: 'RG_CLOSING',
}

/** Answers every error with `{"error": {code, message, problems, request_id}}`. Unexpected errors are RG_INTERNAL. */
export function answerErrors(app: FastifyInstance): void {
  const methodsOf = routedMethods(app)
  app.setNotFoundHandler((request, reply) => {
    const path = request.url.split('?')[0] ?? ''
    const methods = methodsOf(path)
    if (methods.length === 0) {
      const message = `${request.method} ${path}: there is no such path; see /docs`
      return send(request, reply, new GatewayError('RG_NOT_FOUND', message))
    }
    const allow = methods.join(', ')
    reply.header('allow', allow)
    send(
      request,
      reply,
      new GatewayError('RG_METHOD_NOT_ALLOWED', `${request.method} ${path}: this path accepts ${allow}`),
    )
  })
  app.setErrorHandler<FastifyError | GatewayError>((error, request, reply) => {
    send(request, reply, toGatewayError(error))
  })
}

/** For requests whose URL Fastify itself rejects; they reach no other handler. */
export function answerFrameworkError(
  error: FastifyError,
  request: FastifyRequest,
  reply: FastifyReply,
): void {
  reply.headers({ 'x-request-id': request.id, ...apiHeaders })
  // Fastify's message quotes the whole URL.
  const { code, statusCode } = error
  const path = JSON.stringify(request.url.slice(0, 100))
  const isLong = code === 'FST_ERR_MAX_PARAM_LENGTH' || statusCode === 414
  const message = isLong ? 'a name in the path is too long' : `the path ${path} cannot be read`
  send(request, reply, new GatewayError('RG_REQUEST_INVALID', message, { cause: error }))
}

/** Converts any error of a request; unexpected ones become RG_INTERNAL. */
function toGatewayError(error: FastifyError | GatewayError): GatewayError {
  if (error instanceof GatewayError) return error
  const status = error.statusCode ?? 500
  const code =
    status < 500
      ? (codeOfStatus[status] ?? 'RG_REQUEST_INVALID')
      : status === 503
        ? 'RG_CLOSING'
        : 'RG_INTERNAL'
  return new GatewayError(code, messageOf(code, error.message), { cause: error })
}

function messageOf(code: ErrorCode, message: string): string {
  if (code === 'RG_INTERNAL')
    return 'internal error of the gateway; its log has the details under this request id'
  if (code === 'RG_REQUEST_TOO_LARGE')
    return 'the body is larger than limits.max_body_bytes; send fewer samples per request'
  if (code === 'RG_MEDIA_TYPE')
    return "send the body as JSON, with the header 'content-type: application/json'"
  return message
}

/** An error handler of routes whose replies with 429 and 503 have further fields beside `error`. */
export const answerBusyWith =
  (fields: () => object) =>
  (error: FastifyError | GatewayError, request: FastifyRequest, reply: FastifyReply): void => {
    const told = toGatewayError(error)
    const isBusy = told.statusCode === 429 || told.statusCode === 503
    void reply.send({ error: refuse(request, reply, told), ...(isBusy && fields()) })
  }

function send(request: FastifyRequest, reply: FastifyReply, error: GatewayError): void {
  void reply.send({ error: refuse(request, reply, error) })
}

/** An error whose `error` has further fields, by which a client can go on. */
export class ErrorWithFields extends GatewayError {
  readonly fields: Readonly<Record<string, string | number | null>>

  constructor(code: ErrorCode, message: string, fields: ErrorWithFields['fields']) {
    super(code, message)
    this.fields = fields
  }
}

/** Sets status and headers of a reply with an error, and returns the `error` of its body. */
export function refuse(request: FastifyRequest, reply: FastifyReply, error: GatewayError): object {
  const { code, message, statusCode, problems } = error
  if (code === 'RG_INTERNAL')
    request.log.error({ reqId: request.id, err: error.cause ?? error }, 'request failed')
  else request.log.debug({ reqId: request.id, code }, 'request refused')
  setRetryAfter(reply, statusCode, error.retryAfterS)
  reply.code(statusCode)
  const fields = error instanceof ErrorWithFields ? error.fields : {}
  return { code, message, problems, request_id: request.id, ...fields }
}

/** Sets Retry-After on 429 and 503; one second if nothing better is known. */
function setRetryAfter(reply: FastifyReply, status: number, seconds = 1): void {
  if (status === 429 || status === 503) reply.header('retry-after', String(seconds))
}

/** An error in the format of OpenAI's API. `code`: model_not_found, the kind of a failure, or one of our codes. */
interface OpenAiError {
  readonly status: number
  readonly message: string
  readonly type: string
  readonly param: string | null
  readonly code: string
  readonly retryAfterS: number | undefined
}

const statusOfKind: Readonly<Record<string, number>> = {
  judge_unreachable: 502,
  judge_timeout: 504,
  judge_rejected: 400,
  prompt_too_long: 400,
  deadline: 504,
  overloaded: 429,
  // The client has disconnected. nginx's status code, for the metrics.
  cancelled: 499,
}

/** Error handler of the OpenAI-compatible routes: `{"error": {message, type, param, code}}`. */
export function answerOpenAiError(
  error: FastifyError | GatewayError | AskError,
  request: FastifyRequest,
  reply: FastifyReply,
): void {
  const { status, retryAfterS, ...told } = openAiError(error)
  if (status === 500) request.log.error({ reqId: request.id, err: error }, 'request failed')
  setRetryAfter(reply, status, retryAfterS)
  void reply.code(status).send({ error: { ...told, request_id: request.id } })
}

function openAiError(error: FastifyError | GatewayError | AskError): OpenAiError {
  if (error instanceof AskError) {
    const { kind, detail } = error.failure
    const status = statusOfKind[kind] ?? 502
    return { status, message: detail, type: typeOf(status), param: null, code: kind, retryAfterS: undefined }
  }
  const { code, statusCode: status, message, problems, retryAfterS } = toGatewayError(error)
  const isModel = code === 'RG_NOT_FOUND'
  return {
    status,
    message,
    type: typeOf(status),
    param: isModel ? 'model' : (problems[0]?.path ?? null),
    code: isModel ? 'model_not_found' : code,
    retryAfterS,
  }
}

/** OpenAI's error type for a status. */
function typeOf(status: number): string {
  if (status === 401) return 'authentication_error'
  if (status === 403) return 'permission_error'
  if (status === 429) return 'rate_limit_error'
  return status < 500 ? 'invalid_request_error' : 'api_error'
}

/** The methods that a path accepts, in the order of their routes; empty if there is no such path. Knows routes added after the call. */
function routedMethods(app: FastifyInstance): (path: string) => string[] {
  const routes: { readonly parts: readonly string[]; readonly methods: readonly string[] }[] = []
  app.addHook('onRoute', ({ url, method }) => {
    routes.push({ parts: url.split('/'), methods: [method].flat() })
  })
  return (path) => {
    const parts = path.split('/')
    return [...new Set(routes.filter((route) => fits(route.parts, parts)).flatMap(({ methods }) => methods))]
  }
}

const fits = (route: readonly string[], path: readonly string[]): boolean =>
  (route.length === path.length || (route.at(-1) === '*' && route.length <= path.length)) &&
  route.every((part, at) => part === '*' || (part.startsWith(':') ? path[at] !== '' : part === path[at]))

/**
 * Answers requests that fail before Fastify sees them, in the same format: headers or bodies that arrive too slowly,
 * headers that are too large, and invalid HTTP. `answered` is called with each status.
 */
export function answerClientErrors(
  answered: (status: number) => void,
): (error: Error, socket: Socket) => void {
  return (error, socket) => {
    // The client has gone.
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
        ...apiHeaders,
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
        'receiving the request took longer than limits.receive_s; send it faster, or send fewer samples',
      )
    case 'HPE_HEADER_OVERFLOW':
      return new GatewayError('RG_HEADERS_TOO_LARGE', 'the headers are larger than 16 KiB')
    default:
      return new GatewayError(
        'RG_REQUEST_INVALID',
        `this is not a valid HTTP/1.1 request${parserReason(error)}`,
      )
  }
}

/** The HTTP parser's reason, which never quotes the request. */
function parserReason(error: Error): string {
  const reason = 'reason' in error && typeof error.reason === 'string' ? error.reason : ''
  return /^[\w ,.'/-]{1,100}$/.test(reason) ? `: ${reason}` : ''
}
