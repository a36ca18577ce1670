import { z } from 'zod'
import type { Gateway } from '../../gateway/gateway.ts'
import type { ZodApp } from '../validation.ts'

/** What is served: rewards with their resolved configs, and reward functions with their schemas. */
export function rewardRoutes(app: ZodApp, gateway: Gateway): void {
  const tags = ['rewards']
  app.get('/v1/rewards', { schema: { tags, summary: 'Every reward that is served' } }, async () => ({
    rewards: gateway.rewards().map(({ name, version, description }) => ({ name, version, description })),
  }))
  const params = z.object({ name: z.string() })
  app.get(
    '/v1/rewards/:name',
    { schema: { tags, summary: 'One reward with its resolved config', params } },
    async (request) => {
      const { name, version, description, config } = gateway.reward(request.params.name)
      return { name, version, description, config }
    },
  )
  app.get(
    '/v1/functions',
    { schema: { tags, summary: 'Every reward function, with its schemas' } },
    async () => ({
      functions: (await gateway.functions()).map(
        ({ name, kind, ask, critique, optionsSchema, truthSchema }) => ({
          name,
          kind,
          ask,
          critique,
          options: optionsSchema,
          ground_truth: truthSchema,
        }),
      ),
    }),
  )
}
