import swagger from '@fastify/swagger'
import swaggerUi from '@fastify/swagger-ui'
import Fastify, { type FastifyInstance, type FastifySchema, type RouteOptions } from 'fastify'
import type { RouteScope } from './auth.ts'
import { docsLook } from './docs-look.ts'
import { answerErrors } from './errors.ts'
import { setSecurityHeaders } from './request-context.ts'
import { parameterExample, routeExamples } from './route-examples.ts'
import { jsonSchemaOf, zodCompilers } from './validation.ts'

/** The pages about these routes, generated from their zod schemas: /docs and /openapi.json. It runs none of the routes. */
export async function openDocs(routes: readonly RouteOptions[], version: string): Promise<FastifyInstance> {
  const app = Fastify({
    schemaController: zodCompilers,
    genReqId: ({ headers }) => String(headers['x-request-id']),
  })
  answerErrors(app)
  setSecurityHeaders(app)
  await app.register(swagger, {
    openapi: {
      openapi: '3.1.0',
      info: {
        title: 'reward-gateway',
        version,
        description:
          'Rewards for RL training. A reward is a number, or null with the reason for its absence. [/ui](../ui/) shows what is scored. The examples work with `npm start`.',
      },
      components: { securitySchemes: { key: { type: 'http', scheme: 'bearer' } } },
    },
    transform: ({ schema, url, route }) => ({
      url,
      schema: schema ? { security: securityOf(route.config?.scope), ...converted(schema, route) } : schema,
    }),
  })
  await app.register(swaggerUi, {
    ...docsLook,
    routePrefix: '/docs',
    logLevel: 'warn',
    transformStaticCSP: overPlainHttp,
    staticCSP: true,
  })
  app.get('/openapi.json', { schema: { hide: true } }, async () => app.swagger())
  for (const { method, url, schema, config } of routes)
    if (url !== '/openapi.json' && !url.startsWith('/docs'))
      app.route({ method, url, handler: () => {}, ...(schema && { schema }), ...(config && { config }) })
  await app.ready()
  return app
}

/** Swagger UI's policy upgrades requests to https, which breaks the page when the gateway is reached over plain http. */
const overPlainHttp = (policy: string): string =>
  policy
    .split(';')
    .map((part) => part.trim())
    .filter(
      (part) => part !== '' && part !== 'upgrade-insecure-requests' && !part.startsWith('frame-ancestors'),
    )
    .map((part) => part.replaceAll(/ (?:https:|validator\.swagger\.io)/g, ''))
    .concat("frame-ancestors 'none'")
    .join('; ')

/** Admin routes always need a key, open routes never, and the others if the operator has configured keys. */
function securityOf(scope: RouteScope | undefined): readonly Record<string, readonly string[]>[] {
  if (scope === 'open') return []
  return scope === 'admin' ? [{ key: [] }] : [{}, { key: [] }]
}

function converted(schema: FastifySchema, { url, method, config }: RouteOptions): FastifySchema {
  const { body, querystring, params, response, ...rest } = schema
  const isOpen = config?.scope === 'open'
  const example = routeExamples[`${method} ${url}`]
  const errors = [
    ...(body === undefined && querystring === undefined ? [] : [400]),
    ...(isOpen ? [] : [401, 403]),
    ...(url.includes('/:') ? [404] : []),
    ...(method === 'POST' || method === 'PUT'
      ? [...statusesOfBodies, ...(isOpen ? [] : statusesOfWork)]
      : []),
  ]
  return {
    ...rest,
    ...(body !== undefined && { body: withExample(jsonSchemaOf(body), example?.body) }),
    ...(example?.lines && { body: { type: 'string', examples: [linesOf(example.lines)] } }),
    ...(querystring !== undefined && { querystring: jsonSchemaOf(querystring) }),
    ...(params !== undefined && { params: withParameters(jsonSchemaOf(params), url) }),
    response: {
      [example?.status ?? 200]:
        example?.reply === undefined
          ? { description: 'Success.', type: 'null' }
          : withExample({ description: 'Success.' }, example.reply),
      ...Object.fromEntries(errors.map((status) => [status, errorBody])),
      // Errors of a model server are passed on unchanged.
      ...(config?.forwards && { default: errorBody }),
      ...responses(response ?? {}, example?.reply),
    },
  }
}

const linesOf = (values: readonly unknown[]): string =>
  values.map((value) => `${JSON.stringify(value)}\n`).join('')

const withExample = (schema: object, example: unknown): object =>
  example === undefined ? schema : { ...schema, examples: [example] }

function withParameters(schema: { readonly properties?: object }, url: string): object {
  const properties = Object.entries(schema.properties ?? {}).map(([name, property]) => [
    name,
    withExample(property, parameterExample(url, name)),
  ])
  return { ...schema, properties: Object.fromEntries(properties) }
}

const statusesOfBodies = [400, 408, 413, 415]
const statusesOfWork = [404, 429, 502, 503]

/** The common part of both error formats: ours, and OpenAI's on forwarded routes. */
const errorBody = {
  description: 'Error. docs/errors.md lists the codes.',
  type: 'object',
  required: ['error'],
  properties: {
    error: {
      type: 'object',
      required: ['code', 'message', 'request_id'],
      properties: {
        code: { type: 'string' },
        message: { type: 'string' },
        request_id: { type: 'string' },
        problems: {
          type: 'array',
          items: {
            type: 'object',
            required: ['path', 'message'],
            properties: { path: { type: 'string' }, message: { type: 'string' } },
          },
        },
      },
    },
  },
}

/** `example`: of the reply that succeeds. */
const responses = (response: unknown, example: unknown): object =>
  Object.fromEntries(
    Object.entries(response as Record<string, unknown>).map(([status, schema]) => [
      status,
      withExample(jsonSchemaOf(schema, 'output'), status === '200' ? example : undefined),
    ]),
  )
