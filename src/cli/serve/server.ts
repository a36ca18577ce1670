import { systemClock } from '../../core/clock.ts'
import { GatewayError } from '../../core/errors.ts'
import { guardedEvents, ListenerGuard } from '../../core/listener-guard.ts'
import { packageVersion } from '../../core/package-version.ts'
import { hideSecrets } from '../../core/secrets.ts'
import { sourcesOf, watchSources } from '../../scoring/gateway/watch-sources.ts'
import { rewardRange } from '../../scoring/plan/fold.ts'
import { createApp } from '../../serving/http/app.ts'
import {
  type ObservedEvents,
  type ObservedGateway,
  type ObservedOptions,
  observedRooms,
  openObservedGateway,
} from '../../serving/observed-gateway.ts'
import { figuresOf } from '../../serving/queue/overview.ts'
import { openQueue, type RolloutQueue } from '../../serving/queue/queue.ts'
import { LiveView } from '../../serving/telemetry/live/live.ts'
import { shownText } from '../../serving/telemetry/live/shown-row.ts'
import { openMetrics } from '../../serving/telemetry/metrics/metrics.ts'
import { cannotListen } from './listening.ts'
import {
  type Log,
  logFormat,
  logSandboxes,
  openJudgeLog,
  queueLog,
  slowSamples,
  withLog,
} from './server-log.ts'

/** The server options of `serve` and `demo`. */
interface ServerOptions extends Omit<ObservedOptions, 'events'> {
  /** Overrides `listen` in the configs. */
  readonly host?: string
  readonly port?: number
  /** A pino level, or 'silent'. */
  readonly logLevel: string
  /** Reloads one second after the last change of configs, functions or keys. */
  readonly watch?: boolean
  /** The judges are simulated, so the page shows texts unless the configs say otherwise. */
  readonly simulates?: boolean
  /** Addresses of simulated servers. If given, a config with any other server of a model is refused. */
  readonly simulated?: readonly string[] | undefined
}

/**
 * Backlog of connections that are not accepted yet. The system may allow fewer (net.core.somaxconn). A trainer opens
 * thousands at once; with Node's default of 511, the kernel reset some of them.
 */
const waitingConnections = 4096

/** A listening server. */
export interface RunningServer {
  readonly url: string
  readonly rewards: readonly string[]
  /** Reads all configs, functions and keys again. The result is in the log and the metrics. Never rejects. */
  reload(): Promise<void>
  /** Reports not ready, stops accepting, finishes requests in flight within the configs' limit, then frees all resources. */
  close(): Promise<void>
}

/** Opens a gateway and serves it over HTTP. */
export async function openServer(options: ServerOptions): Promise<RunningServer> {
  const clock = options.clock ?? systemClock
  const metrics = openMetrics({
    version: packageVersion,
    clock,
    inFlight: () => gateway.inFlight,
    models: () => gateway.models(),
    sandboxes: () => gateway.sandboxes(),
    runs: () => gateway.runs(),
    queue: () => (queue ? figuresOf(queue) : null),
    stalls: () => gateway.stalls(),
  })
  let log: Log | null = null
  let queue: RolloutQueue | null = null
  let opened: ObservedGateway | null = null
  const guard = new ListenerGuard(clock, {
    failed: metrics.listenerFailed,
    told: (failure) => log?.error(failure, 'a listener failed; no sample is affected'),
  })
  const live = new LiveView({
    clock,
    rangeOf: rewardRange,
    policy: () => shownText(opened?.settings, options.simulates),
  })
  // Before anything is read, so that no change is missed.
  const unwatch = options.watch
    ? await watchSources(
        () => sourcesOf(options, opened?.settings ?? null),
        clock,
        () => reload(),
      )
    : () => {}
  const { engine, ...rooms } = metrics
  const judges = openJudgeLog(
    withLog(guardedEvents<ObservedEvents>(guard, rooms, observedRooms), () => log),
    () => log,
    () => opened,
    clock,
  )
  const opening = openObservedGateway({
    ...options,
    listens: { host: options.host },
    guard,
    events: judges.events,
    listeners: ({ inspector, log: { slow_sample_s } }) => ({
      metrics: engine,
      ...(inspector.enabled && { live }),
      ...(slow_sample_s !== undefined && { log: slowSamples(slow_sample_s, () => log) }),
    }),
  })
  const reload = async () => {
    try {
      const reloaded = await opening
      await reloaded.reload()
      logSandboxes(log, reloaded)
      const real = notSimulated(reloaded, options.simulated)
      if (real !== null) log?.error(real)
    } catch {
      // The log and the metrics have the error.
    }
  }
  const gateway = await opening.catch((error) => {
    unwatch()
    judges.end()
    throw error
  })
  opened = gateway
  const { listen, limits } = gateway.settings
  const place = { host: options.host ?? listen.host, port: options.port ?? listen.port }
  let app: Awaited<ReturnType<typeof createApp>>
  try {
    const real = notSimulated(gateway, options.simulated)
    if (real !== null) throw new GatewayError('RG_CONFIG_INVALID', real)
    const told = queueLog(() => log)
    queue = await openQueue({ gateway, clock, events: { ...told, committed: metrics.queue.committed } })
    app = await createApp({
      gateway,
      metrics,
      queue,
      ...(gateway.settings.inspector.enabled && { live }),
      bodyLimit: limits.max_body_bytes,
      receiveMs: limits.receive_s * 1000,
      logger: { ...logFormat, level: options.logLevel, hooks: { streamWrite: hideSecrets } },
    })
    log = app.log
    told.flush()
    await app.listen({ ...place, backlog: waitingConnections })
    logSandboxes(log, gateway)
  } catch (error) {
    unwatch()
    judges.end()
    queue?.stop()
    await gateway.close(0)
    await queue?.close()
    throw cannotListen(error, place)
  }
  return {
    url: app.listeningOrigin,
    rewards: gateway.rewards().map(({ name }) => name),
    reload,
    async close() {
      unwatch()
      await gateway.leave()
      queue?.stop()
      const drained = app.close()
      await gateway.close()
      await drained
      await queue?.close()
      judges.end()
      metrics.close()
    },
  }
}

/** Which servers of the configs `--simulate` does not replace, and what to do; null: none. */
function notSimulated(gateway: ObservedGateway, simulated: readonly string[] | undefined): string | null {
  if (!simulated) return null
  const real = gateway
    .models()
    .flatMap(({ name, instances }) =>
      instances.flatMap(({ address }) => (simulated.includes(address) ? [] : [`${name} at ${address}`])),
    )
  if (real.length === 0) return null
  return `--simulate does not replace ${real.join(', ')}: it simulates servers whose addresses the configs read from the environment, as \${JUDGE_A_0} (docs/simulate.md). Write that, or leave --simulate out and run \`reward-gateway simulate\` at their addresses.`
}
