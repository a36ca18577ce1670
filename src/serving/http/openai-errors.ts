import type { FastifyError, FastifyReply, FastifyRequest } from 'fastify'
import type { GatewayError } from '../../core/errors.ts'
import { AskError } from '../../scoring/gateway/gateway.ts'
import { tellWhen, toGatewayError } from './errors.ts'

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
  tellWhen(reply, status, retryAfterS)
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
