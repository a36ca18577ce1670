import { type GatewayOptions, openGateway } from '../gateway/gateway.ts'
import { createApp } from '../http/app.ts'
import { packageVersion } from '../package-version.ts'
import { openMetrics } from '../telemetry/metrics.ts'
import { type Log, withLog } from './log-events.ts'

export interface ServerOptions extends Omit<GatewayOptions, 'events'> {
  /** Over the configs' own `listen`. */
  readonly host?: string
  readonly port?: number
  /** A pino level, or 'silent'. */
  readonly logLevel: string
}

export interface RunningServer {
  readonly url: string
  readonly rewards: readonly string[]
  /** Stops accepting, finishes what is in flight within the configs' limit, then frees everything. */
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
  const gateway = await openGateway({ ...options, events: withLog(metrics, () => log) })
  const { listen, limits } = gateway.settings
  let app: Awaited<ReturnType<typeof createApp>>
  try {
    app = await createApp({
      gateway,
      metrics,
      bodyLimit: limits.max_body_bytes,
      logger: { level: options.logLevel },
    })
    log = app.log
    await app.listen({ host: options.host ?? listen.host, port: options.port ?? listen.port })
  } catch (error) {
    await gateway.close(0)
    throw error
  }
  return {
    url: app.listeningOrigin,
    rewards: gateway.rewards().map(({ name }) => name),
    async close() {
      const drained = app.close()
      await gateway.close()
      await drained
      metrics.close()
    },
  }
}
