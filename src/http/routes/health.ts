import { z } from 'zod'
import type { Gateway } from '../../gateway/gateway.ts'
import type { Metrics } from '../../telemetry/metrics/metrics.ts'
import type { ZodApp } from '../validation.ts'

const readiness = z.object({
  ready: z.boolean(),
  missing: z.array(z.string()),
  suspects: z.record(z.string(), z.number()).describe('Instances that fail their canaries, by model.'),
})

/** /livez: the process answers. /readyz: every reward can be scored (each model has a living instance). */
export function healthRoutes(app: ZodApp, gateway: Gateway, metrics: Metrics): void {
  const tags = ['operation']
  const config = { scope: 'open' } as const
  app.get('/livez', { config, schema: { tags, summary: 'The process answers' } }, async () => ({
    status: 'ok',
  }))
  app.get(
    '/readyz',
    {
      config,
      schema: {
        tags,
        summary: 'Rewards can be scored; 503 with what is missing otherwise',
        response: { 200: readiness, 503: readiness },
      },
    },
    async (_request, reply) => {
      const missing = [...gateway.missing()]
      const suspects: Record<string, number> = {}
      for (const { model } of gateway.suspects()) suspects[model] = (suspects[model] ?? 0) + 1
      return reply
        .code(missing.length > 0 ? 503 : 200)
        .send({ ready: missing.length === 0, missing, suspects })
    },
  )
  app.get('/metrics', { schema: { tags, summary: 'Prometheus metrics' } }, async (_request, reply) => {
    const { text, contentType } = await metrics.expose()
    return reply.type(contentType).send(text)
  })
}
