import swagger from '@fastify/swagger'
import swaggerUi from '@fastify/swagger-ui'
import type { FastifyInstance, FastifySchema } from 'fastify'
import type { Scope } from '../gateway/keys.ts'
import { jsonSchemaOf } from './validation.ts'

/** /docs and /openapi.json, made from the zod schemas of the routes. */
export async function serveDocs(app: FastifyInstance, version: string): Promise<void> {
  await app.register(swagger, {
    openapi: {
      info: {
        title: 'reward-gateway',
        version,
        description:
          'Rewards for RL training. A reward is a number, or null with the reason why there is none.',
      },
      components: { securitySchemes: { key: { type: 'http', scheme: 'bearer' } } },
    },
    transform: ({ schema, url, route }) => ({
      url,
      schema: schema ? { security: securityOf(route.config?.scope), ...converted(schema) } : schema,
    }),
  })
  await app.register(swaggerUi, { routePrefix: '/docs', logLevel: 'warn', staticCSP: true })
  app.get(
    '/openapi.json',
    { schema: { hide: true }, logLevel: 'warn', config: { scope: 'open' } },
    async () => app.swagger(),
  )
}

/** The admin API needs a key; the rest needs one where the operator says so; some never do. */
function securityOf(scope: Scope | 'open' | undefined): readonly Record<string, readonly string[]>[] {
  if (scope === 'open') return []
  return scope === 'admin' ? [{ key: [] }] : [{}, { key: [] }]
}

function converted(schema: FastifySchema): FastifySchema {
  const { body, querystring, params, response, ...rest } = schema
  return {
    ...rest,
    ...(body !== undefined && { body: jsonSchemaOf(body) }),
    ...(querystring !== undefined && { querystring: jsonSchemaOf(querystring) }),
    ...(params !== undefined && { params: jsonSchemaOf(params) }),
    ...(response !== undefined && { response: responses(response) }),
  }
}

const responses = (response: unknown): object =>
  Object.fromEntries(
    Object.entries(response as Record<string, unknown>).map(([status, schema]) => [
      status,
      jsonSchemaOf(schema, 'output'),
    ]),
  )
