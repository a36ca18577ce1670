import type { FastifyInstance } from 'fastify'
import type { Test } from 'tap'
import type { Gateway } from '../../src/gateway/gateway.ts'
import { allOf } from '../../src/gateway/listeners.ts'
import { shownText } from '../../src/gateway/shown-text.ts'
import { createApp } from '../../src/http/app.ts'
import { rewardRange } from '../../src/plan/reward-range.ts'
import { openLive } from '../../src/telemetry/live/live.ts'
import { openMetrics } from '../../src/telemetry/metrics/metrics.ts'
import { type FakeClock, fakeClock } from './clock.ts'
import { testGateway } from './gateway.ts'

/** An app with the inspector, whose clock a test moves by hand; closed with the test. */
export async function inspectedApp(
  t: Test,
  rewards: Readonly<Record<string, object>>,
  parts: { readonly env?: Readonly<Record<string, string>>; readonly page?: string } = {},
): Promise<{ app: FastifyInstance; gateway: Gateway; clock: FakeClock }> {
  const { env = {}, page = 'not-built' } = parts
  const clock = fakeClock(1_000_000)
  const metrics = openMetrics({ version: 'test', inFlight: () => gateway.inFlight })
  const live = openLive({ clock, epoch: 0, rangeOf: rewardRange, policy: () => shownText(gateway.settings) })
  const events = { ...metrics, engine: allOf([metrics.engine, live]) }
  const gateway = await testGateway(t, rewards, { events, env })
  const app = await createApp({ gateway, metrics, bodyLimit: 4 << 20, live, clock, page })
  t.teardown(async () => {
    await app.close()
    metrics.close()
  })
  return { app, gateway, clock }
}
