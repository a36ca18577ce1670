import { z } from 'zod'
import { GatewayError } from '../../../core/errors.ts'
import type { Gateway } from '../../../scoring/gateway/gateway.ts'
import { nonJsonLiteralsOf } from '../body.ts'
import { answerOpenAiError } from '../errors.ts'
import { disconnectSignal, traceOf } from '../request-context.ts'
import type { ZodApp } from '../validation.ts'

declare module 'fastify' {
  interface FastifyContextConfig {
    /** True where a model's server answers, in its own words and with any status. */
    forwards?: boolean
  }
}

/** What a client may ask of a model itself: vLLM's and SGLang's paths that name the model in their body. */
const paths = [
  '/v1/chat/completions',
  '/v1/chat/completions/batch',
  '/v1/completions',
  '/v1/responses',
  '/v1/messages',
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
    model: z
      .string()
      .optional()
      .describe('A model of gateway.yaml by its name there; may be left out where there is only one.'),
    stream: z.unknown().optional().describe('true: the reply comes piece by piece.'),
  })
  .describe("Everything but the model goes to the model's server as it came.")

/** The pools as one OpenAI-compatible endpoint: replies, streams and refusals pass through as the servers give them. */
export function passThroughRoutes(app: ZodApp, gateway: Gateway): void {
  const tags = ['models']
  for (const path of paths) {
    const summary = `Ask a model itself: its server's ${path}`
    app.post(
      path,
      { schema: { tags, summary, body }, errorHandler: answerOpenAiError, config: { forwards: true } },
      async (request, reply) => {
        const [odd] = nonJsonLiteralsOf(request)
        if (odd)
          throw new GatewayError(
            'RG_REQUEST_INVALID',
            `${odd.path.join('.')}: ${odd.literal} cannot be passed on`,
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
  throw new GatewayError('RG_REQUEST_INVALID', 'model: name one of those that /v1/models lists', {
    problems: [{ path: 'model', message: 'is missing' }],
  })
}

function listModels(app: ZodApp, gateway: Gateway): void {
  const tags = ['models']
  // Whoever may ask them and whoever may look at what is served.
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
  app.get(
    '/v1/models',
    { config, errorHandler, schema: { tags, summary: 'The models that can be asked' } },
    async () => ({ object: 'list', data: gateway.models().map(entryOf) }),
  )
  const params = z.object({ name: z.string() })
  app.get(
    '/v1/models/:name',
    { config, errorHandler, schema: { tags, summary: 'One model', params } },
    async (request) => {
      const { name } = request.params
      const found = gateway.models().find((model) => model.name === name)
      if (found) return entryOf(found)
      throw new GatewayError('RG_NOT_FOUND', `there is no model '${name}'`)
    },
  )
}
