import { randomUUID } from 'node:crypto'
import { STATUS_CODES } from 'node:http'
import type { Socket } from 'node:net'
import type { FastifyError, FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { type ErrorCode, GatewayError } from '../../core/errors.ts'
import { codeOf } from '../../core/system-error.ts'
import { AskError } from '../../scoring/gateway/gateway.ts'
import { apiHeaders } from './security-headers.ts'

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

/** Every error leaves as `{"error": {code, message, problems, request_id}}`; what is nobody's on purpose is RG_INTERNAL. */
export function answerErrors(app: FastifyInstance): void {
  const methodsOf = routedMethods(app)
  app.setNotFoundHandler((request, reply) => {
    const path = request.url.split('?')[0] ?? ''
    const methods = methodsOf(path)
    if (methods.length === 0) {
      const message = `${request.method} ${path}: no such path; see /docs`
      return send(request, reply, new GatewayError('RG_NOT_FOUND', message))
    }
    const allow = methods.join(', ')
    reply.header('allow', allow)
    send(
      request,
      reply,
      new GatewayError('RG_METHOD_NOT_ALLOWED', `${request.method} ${path}: the path takes ${allow}`),
    )
  })
  app.setErrorHandler<FastifyError | GatewayError>((error, request, reply) => {
    send(request, reply, toGatewayError(error))
  })
}

/** Of a request whose address Fastify itself refuses: no handler sees it. */
export function answerFrameworkError(
  error: FastifyError,
  request: FastifyRequest,
  reply: FastifyReply,
): void {
  reply.headers({ 'x-request-id': request.id, ...apiHeaders })
  // Fastify quotes the whole address.
  const { code, statusCode } = error
  const path = JSON.stringify(request.url.slice(0, 100))
  const isLong = code === 'FST_ERR_MAX_PARAM_LENGTH' || statusCode === 414
  const message = isLong ? 'a name in the path is too long' : `the path ${path} cannot be read`
  send(request, reply, new GatewayError('RG_REQUEST_INVALID', message, { cause: error }))
}

/** What any error of a request is in our own words; what is nobody's on purpose is RG_INTERNAL. */
function toGatewayError(error: FastifyError | GatewayError): GatewayError {
  if (error instanceof GatewayError) return error
  const status = error.statusCode ?? 500
  const code =
    status < 500
      ? (codeOfStatus[status] ?? 'RG_REQUEST_INVALID')
      : status === 503
        ? 'RG_CLOSING'
        : 'RG_INTERNAL'
  return new GatewayError(code, wordsOf(code, error.message), { cause: error })
}

function wordsOf(code: ErrorCode, message: string): string {
  if (code === 'RG_INTERNAL') return 'the gateway made a mistake; its log has the request id'
  if (code === 'RG_REQUEST_TOO_LARGE')
    return 'the body is longer than limits.max_body_bytes; send fewer samples at a time'
  if (code === 'RG_MEDIA_TYPE')
    return "send the body as JSON, with the header 'content-type: application/json'"
  return message
}

function send(request: FastifyRequest, reply: FastifyReply, error: GatewayError): void {
  const { code, message, statusCode, problems } = error
  if (code === 'RG_INTERNAL')
    request.log.error({ reqId: request.id, err: error.cause ?? error }, 'request failed')
  else request.log.debug({ reqId: request.id, code }, 'request refused')
  setRetryAfter(reply, statusCode, error.retryAfterS)
  void reply.code(statusCode).send({ error: { code, message, problems, request_id: request.id } })
}

/** The Retry-After of what may be let in later: a second where nothing is known of it. */
function setRetryAfter(reply: FastifyReply, status: number, seconds = 1): void {
  if (status === 429 || status === 503) reply.header('retry-after', String(seconds))
}

/** An error as OpenAI's API tells it. `code`: model_not_found, a failure's kind, or one of ours. */
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
  // Nobody reads it: the client has gone. nginx's number, for the metrics.
  cancelled: 499,
}

/** For the routes that speak OpenAI's API: `{"error": {message, type, param, code}}`. */
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

/** OpenAI's words for classes of statuses. */
function typeOf(status: number): string {
  if (status === 401) return 'authentication_error'
  if (status === 403) return 'permission_error'
  if (status === 429) return 'rate_limit_error'
  return status < 500 ? 'invalid_request_error' : 'api_error'
}

/** Which methods a path knows, in the order of their routes; none: no such path. Counts the routes added after the call. */
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
 * Answers what is no request that Fastify could see, in the form of all errors: headers or a body that came too slowly,
 * headers that are too long, what is no HTTP. `answered` hears of each with its status.
 */
export function answerClientErrors(answered: (status: number) => void): (error: Error, socket: Socket) => void {
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
