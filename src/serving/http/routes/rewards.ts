import { z } from 'zod'
import { hideSecrets, withoutSecrets } from '../../../core/secrets.ts'
import type { ObservedGateway } from '../../observed-gateway.ts'
import { stepStall } from '../../queue/overview.ts'
import { runStats, statsOf } from '../../telemetry/monitors/run-stats.ts'
import type { ZodApp } from '../validation.ts'

/** Lists rewards with their resolved configs, and reward functions with their schemas. */
export function rewardRoutes(app: ZodApp, gateway: ObservedGateway): void {
  const tags = ['rewards']
  app.get('/v1/rewards', { schema: { tags, summary: 'List all rewards' } }, async () => ({
    rewards: gateway
      .rewards()
      .map(({ name, version, description }) => ({ name, version, description: hideSecrets(description) })),
  }))
  const params = z.object({ name: z.string() })
  app.get(
    '/v1/rewards/:name',
    { schema: { tags, summary: 'Get one reward with its resolved config', params } },
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
        summary: 'Get the figures and alarms of the monitors for each run of a reward',
        params,
        response: {
          200: z.object({
            reward: z.string(),
            version: z.string(),
            runs: z.array(runStats),
            suspects: z
              .array(z.object({ model: z.string(), instance: z.string() }))
              .describe('Instances of its models that fail their canaries and therefore get no questions.'),
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
    '/v1/stalls',
    {
      schema: {
        tags,
        summary: 'Get what the last reward of each training step of a run waited for',
        querystring: z.strictObject({
          run: z
            .string()
            .max(4096)
            .default('')
            .describe('As the requests name it. Default: those that name none.'),
        }),
        response: {
          200: z.object({
            run: z.string(),
            steps: z.array(stepStall).describe('Steps that are over, the newest first: at most 20.'),
          }),
        },
      },
      // Trainers log it.
      config: { scope: 'score' },
    },
    async ({ query: { run } }) => {
      const steps = gateway.stalls().find((one) => one.run === run)?.steps ?? []
      return { run, steps: steps.map((stall) => ({ ...stall, shares: [...stall.shares] })) }
    },
  )
  app.get(
    '/v1/functions',
    { schema: { tags, summary: 'List all reward functions with their schemas' } },
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
