import { systemClock } from '../clock.ts'
import { type Gateway, type GatewayOptions, openGateway } from '../gateway/gateway.ts'
import { allOf } from '../gateway/listeners.ts'
import { shownText } from '../gateway/shown-text.ts'
import { sourcesOf, watchSources } from '../gateway/watch-sources.ts'
import { createApp } from '../http/app.ts'
import { packageVersion } from '../package-version.ts'
import { rewardRange } from '../plan/reward-range.ts'
import { openLive } from '../telemetry/live/live.ts'
import { openMetrics } from '../telemetry/metrics/metrics.ts'
import { type Log, withLog } from './log-events.ts'

/** What `serve` and `demo` say of a server. */
interface ServerOptions extends Omit<GatewayOptions, 'events'> {
  /** Over the configs' own `listen`. */
  readonly host?: string
  readonly port?: number
  /** A pino level, or 'silent'. */
  readonly logLevel: string
  /** Reloads once configs, functions or keys have changed and are left alone for a second. */
  readonly watch?: boolean
  /** Simulated judges serve it: the page shows texts unless the configs say otherwise. */
  readonly simulates?: boolean
}

/** A server that listens. */
export interface RunningServer {
  readonly url: string
  readonly rewards: readonly string[]
  /** Reads everything again; what came of it is in the log and the metrics. Never rejects. */
  reload(): Promise<void>
  /** Leaves, stops accepting, finishes what is in flight within the configs' limit, then frees everything. */
  close(): Promise<void>
}

/** A gateway with its HTTP face, listening. */
export async function openServer(options: ServerOptions): Promise<RunningServer> {
  const metrics = openMetrics({
    version: packageVersion,
    inFlight: () => gateway.inFlight,
    models: () => gateway.models(),
    runs: () => gateway.runs(),
  })
  let log: Log | null = null
  let opened: Gateway | null = null
  const live = openLive({
    clock: options.clock ?? systemClock,
    rangeOf: rewardRange,
    isOn: () => opened?.settings.inspector.enabled ?? true,
    policy: () => shownText(opened?.settings, options.simulates),
  })
  // Before anything is read, so that no change falls between.
  const unwatch = options.watch
    ? await watchSources(
        () => sourcesOf(options, opened?.settings ?? null),
        options.clock ?? systemClock,
        () => reload(),
      )
    : () => {}
  const opening = openGateway({
    ...options,
    events: withLog(
      { ...metrics, engine: allOf([metrics.engine, live]) },
      () => log,
      () => opened?.settings.log.slow_sample_s,
    ),
  })
  const reload = async () => {
    try {
      await (await opening).reload()
    } catch {
      // It is in the log and the metrics.
    }
  }
  const gateway = await opening.catch((error) => {
    unwatch()
    throw error
  })
  opened = gateway
  const { listen, limits } = gateway.settings
  let app: Awaited<ReturnType<typeof createApp>>
  try {
    app = await createApp({
      gateway,
      metrics,
      ...(gateway.settings.inspector.enabled && { live }),
      bodyLimit: limits.max_body_bytes,
      receiveMs: limits.receive_s * 1000,
      logger: { level: options.logLevel },
    })
    log = app.log
    await app.listen({ host: options.host ?? listen.host, port: options.port ?? listen.port })
  } catch (error) {
    unwatch()
    await gateway.close(0)
    throw error
  }
  return {
    url: app.listeningOrigin,
    rewards: gateway.rewards().map(({ name }) => name),
    reload,
    async close() {
      unwatch()
      await gateway.leave()
      const drained = app.close()
      await gateway.close()
      await drained
      metrics.close()
    },
  }
}
