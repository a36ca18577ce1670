import type { FastifyError, FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { type ErrorCode, GatewayError } from '../../core/errors.ts'
import { routedMethods } from './routed-methods.ts'
import { nothingLoads } from './security-headers.ts'

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
  reply.headers({ 'x-request-id': request.id, ...nothingLoads })
  // Fastify quotes the whole address.
  const { code, statusCode } = error
  const path = JSON.stringify(request.url.slice(0, 100))
  const isLong = code === 'FST_ERR_MAX_PARAM_LENGTH' || statusCode === 414
  const message = isLong ? 'a name in the path is too long' : `the path ${path} cannot be read`
  send(request, reply, new GatewayError('RG_REQUEST_INVALID', message, { cause: error }))
}

/** What any error of a request is in our own words; what is nobody's on purpose is RG_INTERNAL. */
export function toGatewayError(error: FastifyError | GatewayError): GatewayError {
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
  tellWhen(reply, statusCode, error.retryAfterS)
  void reply.code(statusCode).send({ error: { code, message, problems, request_id: request.id } })
}

/** The Retry-After of what may be let in later: a second where nothing is known of it. */
export function tellWhen(reply: FastifyReply, status: number, seconds = 1): void {
  if (status === 429 || status === 503) reply.header('retry-after', String(seconds))
}
