import { z } from 'zod'
import type { Gateway } from '../../../scoring/gateway/gateway.ts'
import type { RolloutQueue } from '../../queue/queue.ts'
import type { Metrics } from '../../telemetry/metrics/metrics.ts'
import type { ZodApp } from '../validation.ts'

const readiness = z.object({
  ready: z.boolean(),
  missing: z.array(z.string()),
  parked: z
    .array(z.object({ model: z.string(), questions: z.number(), since: z.string() }))
    .describe('Models without an available instance, and the number of questions that wait for one.'),
  suspects: z
    .record(z.string(), z.number())
    .describe('Number of instances that fail their canaries, by model.'),
  queue: z
    .string()
    .nullable()
    .describe('What fails of the folder of the queue. null: nothing, or the queue is off.'),
})

/**
 * /livez: the process responds. /readyz: requests can be served, because each model has a live instance, or had one and its
 * questions wait for the next. A gateway whose queue another process has taken over is not ready.
 */
export function healthRoutes(
  app: ZodApp,
  gateway: Gateway,
  metrics: Metrics,
  queue: Pick<RolloutQueue, 'upkeep'> | null,
): void {
  const tags = ['operation']
  const config = { scope: 'open' } as const
  app.get('/livez', { config, schema: { tags, summary: 'Whether the process responds' } }, async () => ({
    status: 'ok',
  }))
  app.get(
    '/readyz',
    {
      config,
      schema: {
        tags,
        summary:
          'Whether rewards can be scored, now or once a restarting judge is back; otherwise 503 with what is missing',
        response: { 200: readiness, 503: readiness },
      },
    },
    async (_request, reply) => {
      const missing = [...gateway.missing()]
      const suspects: Record<string, number> = {}
      for (const { model } of gateway.suspects()) suspects[model] = (suspects[model] ?? 0) + 1
      const parked = gateway
        .models()
        .flatMap(({ name, parked }) =>
          parked
            ? [{ model: name, questions: parked.questions, since: new Date(parked.since).toISOString() }]
            : [],
        )
      const ready = gateway.isReady && !queue?.upkeep.hasLost
      const trouble = queue?.upkeep.trouble ?? null
      return reply.code(ready ? 200 : 503).send({ ready, missing, parked, suspects, queue: trouble })
    },
  )
  app.get('/metrics', { schema: { tags, summary: 'Prometheus metrics' } }, async (_request, reply) => {
    const { text, contentType } = await metrics.expose()
    return reply.type(contentType).send(text)
  })
}
