import type { FastifyInstance } from 'fastify'
import type { Test } from 'tap'
import { allOf, ListenerGuard } from '../../src/core/listener-guard.ts'
import { type EngineEvents, engineEventNames } from '../../src/scoring/engine/events.ts'
import { rewardRange } from '../../src/scoring/plan/fold.ts'
import { createApp } from '../../src/serving/http/app.ts'
import type { ObservedGateway } from '../../src/serving/observed-gateway.ts'
import { LiveView } from '../../src/serving/telemetry/live/live.ts'
import { shownText } from '../../src/serving/telemetry/live/shown-row.ts'
import { openMetrics } from '../../src/serving/telemetry/metrics/metrics.ts'
import type { TextPolicy } from '../../src/serving/telemetry/record/text-policy.ts'
import { type FakeClock, fakeClock } from './clock.ts'
import { testGateway } from './gateway.ts'

/** An app with the inspector, whose clock a test moves by hand; closed with the test. */
export interface Inspected {
  readonly app: FastifyInstance
  readonly gateway: ObservedGateway
  readonly clock: FakeClock
  /** The same gateway behind another app, with this folder as the page and a clock of its own. */
  another(page: string): Promise<{ readonly app: FastifyInstance; readonly clock: FakeClock }>
}

/** `text`: what may be shown, in place of what the configs say. */
export async function inspectedApp(
  t: Test,
  rewards: Readonly<Record<string, object>>,
  parts: { readonly env?: Readonly<Record<string, string>>; readonly text?: () => TextPolicy } = {},
): Promise<Inspected> {
  const clock = fakeClock(1_000_000)
  const metrics = openMetrics({
    version: 'test',
    inFlight: () => gateway.inFlight,
    sandboxes: () => gateway.sandboxes(),
  })
  const policy = parts.text ?? (() => shownText(gateway.settings))
  const live = new LiveView({ clock, epoch: 0, rangeOf: rewardRange, policy })
  const events = {
    ...metrics,
    engine: allOf<EngineEvents>(new ListenerGuard(clock), engineEventNames, {
      metrics: metrics.engine,
      live,
    }),
  }
  const gateway = await testGateway(t, rewards, { events, env: parts.env ?? {} })
  t.teardown(() => metrics.close())
  const appOf = async (page: string, own: FakeClock) => {
    const app = await createApp({ gateway, metrics, bodyLimit: 4 << 20, live, clock: own, page })
    t.teardown(() => app.close())
    return app
  }
  return {
    app: await appOf('not-built', clock),
    gateway,
    clock,
    async another(page) {
      const own = fakeClock(1_000_000)
      return { app: await appOf(page, own), clock: own }
    },
  }
}
