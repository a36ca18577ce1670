import type { FastifyInstance } from 'fastify'
import type { Test } from 'tap'
import { createApp } from '../../src/serving/http/app.ts'
import { openMetrics } from '../../src/serving/telemetry/metrics/metrics.ts'
import { testGateway } from './gateway.ts'

/** The HTTP face of a gateway over these rewards; closed with the test. */
export async function testApp(
  t: Test,
  rewards: Readonly<Record<string, object>>,
  bodyLimit = 1 << 20,
  env: Readonly<Record<string, string>> = {},
): Promise<FastifyInstance> {
  const metrics = openMetrics({
    version: 'test',
    inFlight: () => gateway.inFlight,
    models: () => gateway.models(),
    sandboxes: () => gateway.sandboxes(),
    runs: () => gateway.runs(),
    stalls: () => gateway.stalls(),
  })
  const gateway = await testGateway(t, rewards, { events: metrics, env })
  const app = await createApp({ gateway, metrics, bodyLimit })
  t.teardown(async () => {
    await app.close()
    metrics.close()
  })
  return app
}
