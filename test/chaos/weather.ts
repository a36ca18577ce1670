import { faultKinds } from '../../src/simulator/faults.ts'
import type { GatewayProcess } from './gateway-process.ts'
import { deeds } from './hostile/misbehave.ts'
import type { ModelServer } from './model-server.ts'
import type { Links, Toxic } from './toxiproxy.ts'

/** Everything that a fault can strike. `links` knows `trainer` and a link to each model server by its index. */
export interface Scene {
  readonly gateway: GatewayProcess
  readonly servers: readonly ModelServer[]
  readonly links: Links
  /** Questions that were parked at once, at most. */
  parked: number
}

/** One fault at one time of a run. */
export interface Trouble {
  readonly atMs: number
  readonly what: string
  /** True where it strikes the trainer's own connection. */
  readonly isOnTrainer: boolean
  strike(scene: Scene): void | Promise<void>
}

/** A slow server is the links' affair. */
const serverFaults = faultKinds.filter((kind) => kind !== 'slow')

const toxics: readonly Pick<Toxic, 'type' | 'attributes'>[] = [
  { type: 'latency', attributes: { latency: 200, jitter: 150 } },
  { type: 'bandwidth', attributes: { rate: 20 } },
  { type: 'slow_close', attributes: { delay: 300 } },
  { type: 'timeout', attributes: { timeout: 0 } },
  { type: 'timeout', attributes: { timeout: 150 } },
  { type: 'reset_peer', attributes: { timeout: 20 } },
  { type: 'slicer', attributes: { average_size: 40, size_variation: 20, delay: 2000 } },
  { type: 'limit_data', attributes: { bytes: 150 } },
]

/** One to four troubles of a run, in the order of their times. */
export function weatherOf(random: () => number, servers: number): Trouble[] {
  const count = 1 + Math.floor(random() * 4)
  return Array.from({ length: count }, () => troubleOf(random, servers)).sort((a, b) => a.atMs - b.atMs)
}

function troubleOf(random: () => number, servers: number): Trouble {
  const pick = <T>(items: readonly T[]): T => items[Math.floor(random() * items.length)] as T
  const atMs = random() < 0.5 ? 0 : Math.floor(random() * 300)
  const index = Math.floor(random() * servers)
  const drawn = random()
  const trouble = (what: string, strike: Trouble['strike'], isOnTrainer = false): Trouble => ({
    atMs,
    what,
    isOnTrainer,
    strike,
  })
  if (drawn < 0.04) {
    const downMs = 150 + Math.floor(random() * 450)
    const both = index < servers / 2 ? [0, 1] : [2, 3]
    return trouble(`judge away, servers ${both.join(' and ')}, for ${downMs} ms`, async (scene) => {
      const away = Promise.all(both.map((one) => scene.servers[one]?.restart(downMs)))
      await new Promise((resolve) => setTimeout(resolve, downMs / 2))
      const parked = await scene.gateway.metric('reward_gateway_questions_parked').catch(() => 0)
      scene.parked = Math.max(scene.parked, parked)
      await away
    })
  }
  if (drawn < 0.4) {
    const [kind, rate] = [pick(serverFaults), random() < 0.5 ? 1 : random()]
    return trouble(`server ${index} ${kind} at ${rate.toFixed(2)}`, ({ servers }) =>
      servers[index]?.faults([{ kind, rate, ms: 500 }]),
    )
  }
  if (drawn < 0.75) {
    const isOnTrainer = random() < 0.3
    const link = isOnTrainer ? 'trainer' : `server-${index}`
    if (random() < 0.1) return trouble(`${link} cut`, ({ links }) => links.cut(link), isOnTrainer)
    const toxic: Toxic = {
      ...pick(toxics),
      stream: pick(['upstream', 'downstream'] as const),
      toxicity: random() < 0.5 ? 1 : random(),
    }
    const what = `${link} ${toxic.type} ${JSON.stringify(toxic.attributes)} ${toxic.stream} at ${toxic.toxicity.toFixed(2)}`
    // A second toxic of the same name on a link is refused; the first one is trouble enough.
    return trouble(what, ({ links }) => links.spoil(link, toxic).catch(() => {}), isOnTrainer)
  }
  if (drawn < 0.81) {
    const [deed, reward] = [pick(deeds), pick(['hostile', 'hostile-python'])]
    return trouble(`a function of ${reward} does ${deed}`, ({ gateway }) => gateway.misbehave(reward, deed))
  }
  if (drawn < 0.84) return trouble(`server ${index} killed`, ({ servers }) => servers[index]?.kill())
  if (drawn < 0.89) return trouble(`server ${index} stopped`, ({ servers }) => servers[index]?.pause())
  if (drawn < 0.92) return trouble('the clock jumps', ({ gateway }) => gateway.jumpClock())
  if (drawn < 0.97) return trouble('reload', ({ gateway }) => gateway.reload('next'))
  return trouble('reload of a broken config', ({ gateway }) => gateway.reload('broken'))
}
