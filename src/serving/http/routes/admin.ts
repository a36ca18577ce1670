import { z } from 'zod'
import { type Clock, within } from '../../../core/clock.ts'
import { GatewayError } from '../../../core/errors.ts'
import type { Gateway } from '../../../scoring/gateway/gateway.ts'
import { shownModel } from '../inspector/messages.ts'
import type { ZodApp } from '../validation.ts'

const params = z.object({ name: z.string() })
const tags = ['admin']
const config = { scope: 'admin' } as const

const place = z.strictObject({
  url: z.string().describe("The server's address. The model's `allow` must permit it."),
  weight: z
    .number()
    .positive()
    .max(1000)
    .optional()
    .describe('Share of the load relative to the other servers. Default: 1.'),
  max_in_flight: z
    .int()
    .min(1)
    .max(65_536)
    .optional()
    .describe("Maximum questions in flight at the server. Default: the model's setting."),
  max_tokens_in_flight: z
    .int()
    .min(1)
    .optional()
    .describe("Maximum tokens in flight at the server. Default: the model's setting."),
})

const leaving = z.strictObject({
  url: z.string().describe("The server's address."),
  wait_s: z
    .number()
    .min(0)
    .max(3600)
    .default(0)
    .describe('Seconds to wait for its last call. The reply is 202 if the call has not ended by then.'),
})

/** Routes that change a running gateway. They all need a key with the scope `admin`. */
export function adminRoutes(app: ZodApp, gateway: Gateway, clock: Clock): void {
  const stateOf = (name: string) => {
    const found = gateway.models().find((model) => model.name === name)
    if (found) return shownModel(found)
    throw new GatewayError('RG_NOT_FOUND', `there is no model '${name}'`)
  }
  app.get(
    '/admin/models',
    { config, schema: { tags, summary: 'List all models with their instances' } },
    async () => ({
      models: gateway.models().map(shownModel),
    }),
  )
  app.get(
    '/admin/models/:name',
    { config, schema: { tags, summary: 'Get one model with its instances', params } },
    async (request) => stateOf(request.params.name),
  )
  for (const order of ['sleep', 'wake'] as const) {
    const summary =
      order === 'sleep'
        ? 'Release the GPU memory once the questions in flight are answered'
        : 'Take the GPU memory back'
    app.post(
      `/admin/models/:name/${order}`,
      { config, schema: { tags, summary, params } },
      async (request) => {
        await gateway.pools[order](request.params.name)
        return stateOf(request.params.name)
      },
    )
  }
  app.post(
    '/admin/models/:name/instances',
    {
      config,
      schema: { tags, summary: 'Add a server, or put a draining one back to use', params, body: place },
    },
    async (request, reply) => {
      const { url, weight = 1, max_in_flight, max_tokens_in_flight } = request.body
      gateway.pools.addInstance(request.params.name, {
        url,
        weight,
        ...(max_in_flight !== undefined && { max_in_flight }),
        ...(max_tokens_in_flight !== undefined && { max_tokens_in_flight }),
      })
      return reply.code(201).send(stateOf(request.params.name))
    },
  )
  for (const order of ['drain', 'remove'] as const) {
    const summary =
      order === 'drain' ? 'Stop sending questions to a server' : 'Drain a server, then remove it'
    app.post(
      `/admin/models/:name/instances/${order}`,
      { config, schema: { tags, summary, params, body: leaving } },
      async (request, reply) => {
        const { name } = request.params
        const { url, wait_s } = request.body
        const { pools } = gateway
        const change = order === 'drain' ? pools.drainInstance(name, url) : pools.removeInstance(name, url)
        const isDone = await within(clock, wait_s * 1000, change)
        return reply.code(isDone ? 200 : 202).send(stateOf(name))
      },
    )
  }
  app.get(
    '/admin/reload',
    { config, schema: { tags, summary: 'Result of the last reload, whatever triggered it' } },
    async () => ({ last: gateway.lastReload }),
  )
  app.post(
    '/admin/reload',
    {
      config,
      schema: {
        tags,
        summary: 'Reload configs and functions. If there is a mistake, the old ones stay in use',
      },
    },
    async () => {
      await gateway.reload()
      return { rewards: gateway.rewards().map(({ name, version }) => ({ name, version })) }
    },
  )
}
