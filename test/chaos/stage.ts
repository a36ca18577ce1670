import { startGateway } from './gateway-process.ts'
import { startModelServer } from './model-server.ts'
import type { Rollout } from './rollouts.ts'
import { directLinks, openToxiproxy } from './toxiproxy.ts'
import type { Scene } from './weather.ts'

/** A gateway with two judges of two simulated servers each, and links that can be spoilt between all of them. */
export interface Stage extends Scene {
  /** The gateway, by the trainer's link. */
  readonly origin: string
  /** Stops all; the gateway's exit code. */
  close(): Promise<number | null>
}

/** Takes the ports from `port` to `port + 10`. Without `toxiproxy` (a path) connections are direct; `isAsShipped`: the models' settings are. */
export async function openStage(
  port: number,
  rollouts: readonly Rollout[],
  toxiproxy: string,
  isAsShipped: boolean,
): Promise<Stage> {
  const links = toxiproxy ? await openToxiproxy(toxiproxy, port) : directLinks
  const servers = await Promise.all(
    ['judge-a', 'judge-a', 'judge-b', 'judge-b'].map((model, index) =>
      startModelServer(model, port + 1 + index, model === 'judge-a' ? 'reference' : 'gullible'),
    ),
  )
  const addresses = await Promise.all(
    servers.map(({ address }, index) => links.open(`server-${index}`, address, port + 6 + index)),
  )
  const models = { 'judge-a': addresses.slice(0, 2), 'judge-b': addresses.slice(2) }
  const gateway = await startGateway({ port: port + 5, models, rollouts, isAsShipped })
  const origin = await links.open('trainer', gateway.address, port + 10)
  return {
    gateway,
    servers,
    links,
    origin,
    parked: 0,
    async close() {
      const code = await gateway.close()
      await Promise.all(servers.map((server) => server.close()))
      await links.close()
      return code
    },
  }
}

/** Takes every fault away. */
export async function clearWeather({ links, servers }: Scene): Promise<void> {
  await links.clear()
  await Promise.all(servers.map((server) => server.recover()))
}

/** Each process that a stage starts ends with this one, also by Ctrl-C. */
export function endsChildren(): void {
  process.setMaxListeners(0)
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => process.exit(1))
}
