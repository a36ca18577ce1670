import { z } from 'zod'
import { hideSecrets, withoutSecrets } from '../../../core/secrets.ts'
import type { ObservedGateway } from '../../observed-gateway.ts'
import { runStats, statsOf } from '../../telemetry/monitors/run-stats.ts'
import type { ZodApp } from '../validation.ts'

/** What is served: rewards with their resolved configs, and reward functions with their schemas. */
export function rewardRoutes(app: ZodApp, gateway: ObservedGateway): void {
  const tags = ['rewards']
  app.get('/v1/rewards', { schema: { tags, summary: 'Every reward that is served' } }, async () => ({
    rewards: gateway
      .rewards()
      .map(({ name, version, description }) => ({ name, version, description: hideSecrets(description) })),
  }))
  const params = z.object({ name: z.string() })
  app.get(
    '/v1/rewards/:name',
    { schema: { tags, summary: 'One reward with its resolved config', params } },
    async (request) => {
      const { name, version, description, config } = gateway.reward(request.params.name)
      return { name, version, description: hideSecrets(description), config: withoutSecrets(config) }
    },
  )
  app.get(
    '/v1/rewards/:name/stats',
    {
      schema: {
        tags,
        summary: 'How the runs of a reward stand: the figures of the monitors and their alarms',
        params,
        response: {
          200: z.object({
            reward: z.string(),
            version: z.string(),
            runs: z.array(runStats),
            suspects: z
              .array(z.object({ model: z.string(), instance: z.string() }))
              .describe('Instances of its models that fail their canaries and get no questions.'),
          }),
        },
      },
    },
    async (request) => {
      const { name, version } = gateway.reward(request.params.name)
      return {
        reward: name,
        version,
        runs: gateway.runs(name).map(statsOf),
        suspects: [...gateway.suspects(name)],
      }
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
