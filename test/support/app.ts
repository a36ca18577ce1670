import type { FastifyInstance } from 'fastify'
import type { Test } from 'tap'
import { systemClock } from '../../src/core/clock.ts'
import { createApp } from '../../src/serving/http/app.ts'
import { figuresOf } from '../../src/serving/queue/overview.ts'
import { openQueue, type QueueOptions, type RolloutQueue } from '../../src/serving/queue/queue.ts'
import { openMetrics } from '../../src/serving/telemetry/metrics/metrics.ts'
import { testGateway } from './gateway.ts'

/** The HTTP face of a gateway over these rewards, with the queue that its settings ask for; closed with the test. */
export async function testApp(
  t: Test,
  rewards: Readonly<Record<string, object>>,
  bodyLimit = 1 << 20,
  env: Readonly<Record<string, string>> = {},
  queueParts: Partial<QueueOptions> = {},
): Promise<FastifyInstance> {
  let queue: RolloutQueue | null = null
  const metrics = openMetrics({
    queue: () => (queue ? figuresOf(queue) : null),
    version: 'test',
    inFlight: () => gateway.inFlight,
    models: () => gateway.models(),
    sandboxes: () => gateway.sandboxes(),
    runs: () => gateway.runs(),
    stalls: () => gateway.stalls(),
  })
  const gateway = await testGateway(t, rewards, { events: metrics, env })
  queue = await openQueue({ gateway, clock: systemClock, events: metrics.queue, ...queueParts })
  const app = await createApp({ gateway, metrics, bodyLimit, queue })
  // Closed by the test, it ends as a server does.
  app.addHook('onClose', async () => {
    await gateway.close(0)
    await queue?.close()
  })
  app.addHook('preClose', (done) => {
    queue?.stop()
    done()
  })
  t.teardown(async () => {
    await app.close()
    metrics.close()
  })
  return app
}
