import { z } from 'zod'
import { GatewayError } from '../../../core/errors.ts'
import type { Gateway } from '../../../scoring/gateway/gateway.ts'
import { nonJsonLiteralsOf } from '../body.ts'
import { answerOpenAiError } from '../errors.ts'
import { disconnectSignal, traceOf } from '../request-context.ts'
import type { ZodApp } from '../validation.ts'

declare module 'fastify' {
  interface FastifyContextConfig {
    /** Whether a model server answers this route, with any status and body. */
    forwards?: boolean
  }
}

/** Forwarded paths: those of vLLM and SGLang whose body names the model. */
const paths = [
  '/v1/chat/completions',
  '/v1/chat/completions/batch',
  '/v1/completions',
  '/v1/responses',
  '/v1/messages',
  '/v1/decisions',
  '/v1/systemone',
  '/v1/embeddings',
  '/classify',
  '/v1/classify',
  '/pooling',
  '/score',
  '/rerank',
  '/v1/rerank',
  '/v2/rerank',
  '/generative_scoring',
  '/tokenize',
  '/detokenize',
]

const body = z
  .looseObject({
    model: z.string().optional().describe('Name of a model in gateway.yaml. Optional if there is only one.'),
    stream: z.unknown().optional().describe('true: the reply is streamed.'),
  })
  .describe('Everything except `model` is forwarded unchanged.')

/** Exposes the pools as one OpenAI-compatible endpoint. Replies, streams and errors of the servers are passed on unchanged. */
export function passThroughRoutes(app: ZodApp, gateway: Gateway): void {
  const tags = ['models']
  for (const path of paths) {
    const summary = `Forward to a model server's ${path}`
    app.post(
      path,
      { schema: { tags, summary, body }, errorHandler: answerOpenAiError, config: { forwards: true } },
      async (request, reply) => {
        const [odd] = nonJsonLiteralsOf(request)
        if (odd)
          throw new GatewayError(
            'RG_REQUEST_INVALID',
            `${odd.path.join('.')}: ${odd.literal} cannot be forwarded`,
          )
        const forwarded = await gateway.forward(modelOf(request.body.model, gateway), {
          path,
          body: request.body,
          signal: disconnectSignal(reply),
          trace: traceOf(request),
        })
        if (forwarded.retryAfter !== '') reply.header('retry-after', forwarded.retryAfter)
        return reply.code(forwarded.status).type(forwarded.contentType).send(forwarded.body)
      },
    )
  }
  listModels(app, gateway)
}

function modelOf(named: string | undefined, { pools }: Gateway): string {
  if (named !== undefined) return named
  const [only, ...others] = pools.names
  if (only !== undefined && others.length === 0) return only
  throw new GatewayError('RG_REQUEST_INVALID', 'model: name one of the models that /v1/models lists', {
    problems: [{ path: 'model', message: 'is missing' }],
  })
}

function listModels(app: ZodApp, gateway: Gateway): void {
  const tags = ['models']
  // For keys with the scope score as well as read.
  const config = { scope: 'any' } as const
  const created = Math.floor(Date.now() / 1000)
  const entryOf = ({ name, serves }: { name: string; serves: string }) => ({
    id: name,
    object: 'model',
    created,
    owned_by: 'reward-gateway',
    root: serves,
  })
  const errorHandler = answerOpenAiError
  app.get('/v1/models', { config, errorHandler, schema: { tags, summary: 'List the models' } }, async () => ({
    object: 'list',
    data: gateway
      .models()
      .filter(({ backend }) => backend !== 'service')
      .map(entryOf),
  }))
  const params = z.object({ name: z.string() })
  app.get(
    '/v1/models/:name',
    { config, errorHandler, schema: { tags, summary: 'Get one model', params } },
    async (request) => {
      const { name } = request.params
      const found = gateway.models().find((model) => model.name === name)
      if (found) return entryOf(found)
      throw new GatewayError('RG_NOT_FOUND', `there is no model '${name}'`)
    },
  )
}
