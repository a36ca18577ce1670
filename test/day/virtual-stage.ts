import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { openServer, type RunningServer } from '../../src/cli/serve/server.ts'
import { Attempts } from '../../src/simulator/options.ts'
import { startSimulatedServers } from '../../src/simulator/server.ts'
import type { VirtualTime } from '../support/virtual-time.ts'
import { openBalancer } from './balancer.ts'
import type { Kind, Row } from './load.ts'
import { metricAt, type Replica, versionsAt } from './replica.ts'
import {
  balancerAt,
  gatewayConfig,
  guardEnv,
  type JudgeServer,
  judges,
  replicaCount,
  replicasAt,
  type Stage,
  type StageOptions,
  write,
  writeRewards,
} from './stage.ts'
import type { Timeline } from './timeline.ts'
import { answerTo } from './verdicts.ts'

/** What needs neither a worker thread nor a process of its own: their time would be the machine's. */
const virtualKinds: readonly Kind[] = ['math', 'open', 'burst']
/** Responses have so many times less text than in real time, because rules read long texts in worker threads. */
const shortened = 4
/** Questions whose tries a simulated server counts: fewer than a step has, so that its memory does not grow beside the gateway's. */
const countedQuestions = 1000
/** Of a function. A burst may fill the main thread's turn, so that some rules run in threads after all. */
const patienceS = 3600

/**
 * The same stage in this process: balancer, replicas and judges' servers with their sockets, whose timers all belong to one clock that
 * jumps to the next of them. Time stands still while a replica starts, reads its configs or ends.
 */
export async function openVirtualStage(
  { port, seed, judgeSpeed, knowsPlaces }: StageOptions,
  clock: VirtualTime,
): Promise<Stage> {
  const folder = mkdtempSync(join(tmpdir(), 'reward-gateway-day-'))
  process.once('exit', () => rmSync(folder, { recursive: true, force: true }))
  const time: Timeline = {
    now: () => clock.now(),
    pause: (ms) => new Promise((resolve) => void clock.after(ms, resolve)),
    isReal: false,
  }
  const own = judges.filter(({ judge }) => judge !== 'prm')
  const servers = await Promise.all(
    own.map(({ judge, portAt, count, ...options }) =>
      startSimulatedServers(count, {
        ...options,
        seed,
        speed: judgeSpeed,
        maxModelLen: 200_000,
        port: port + portAt,
        model: judge,
        clock,
        attempts: new Attempts(countedQuestions),
        policy: ({ text }) => answerTo(judge, text),
      }),
    ),
  )
  const { models, ...settings } = gatewayConfig(port, knowsPlaces)
  const asked = Object.fromEntries(own.map(({ judge }) => [judge, models[judge]]))
  write(folder, 'gateway', { ...settings, models: asked, functions: { timeout_s: patienceS } })
  let edition = 0
  writeRewards(folder, edition, virtualKinds, true)
  const replicaPorts = Array.from({ length: replicaCount }, (_, at) => port + replicasAt + at)
  const replicas = replicaPorts.map((own) => new ReplicaHere(own, folder, clock))
  for (const replica of replicas) await replica.start()
  const closeBalancer = await openBalancer(port + balancerAt, replicaPorts, time)
  return {
    time,
    played: (row) => (virtualKinds.includes(row.kind) ? [shorter(row)] : []),
    origin: `http://127.0.0.1:${port + balancerAt}`,
    replicas,
    servers: own.flatMap(({ judge }, at) =>
      (servers[at] ?? []).map(
        (server): JudgeServer => ({
          judge,
          address: server.url,
          faults: async (faults) => server.set(...faults),
          kill: async () => server.kill(),
          restart: async (downMs) => server.restart({ downMs }),
          stats: async () => server.stats(),
        }),
      ),
    ),
    get edition() {
      return edition
    },
    reload() {
      edition += 1
      writeRewards(folder, edition, virtualKinds, true)
      for (const replica of replicas) replica.reload()
    },
    waitedMs: () => 0,
    async close() {
      const codes = await Promise.all(replicas.map((replica) => replica.stop()))
      closeBalancer()
      await Promise.all(servers.flat().map((server) => server.close()))
      return codes
    },
  }
}

const shorter = (row: Row): Row => ({ ...row, tokens: Math.ceil(row.tokens / shortened) })

class ReplicaHere implements Replica {
  readonly blocks = new Map<number, number>()
  readonly peakRss = 0
  onBlock = (_ms: number): void => {}
  readonly #port: number
  readonly #folder: string
  readonly #clock: VirtualTime
  #server: RunningServer | null = null

  constructor(port: number, folder: string, clock: VirtualTime) {
    this.#port = port
    this.#folder = folder
    this.#clock = clock
  }

  get #url(): string {
    return `http://127.0.0.1:${this.#port}`
  }

  begin(): void {}

  async start(): Promise<void> {
    this.#server = await this.#clock.hold(
      openServer({
        configs: [this.#folder],
        functionFolders: [],
        env: guardEnv,
        port: this.#port,
        clock: this.#clock,
        logLevel: 'silent',
      }),
    )
  }

  async stop(): Promise<number> {
    await this.#server?.close()
    return 0
  }

  async kill(): Promise<void> {
    throw new Error('a replica of this process cannot be killed')
  }

  reload(): void {
    if (this.#server) void this.#clock.hold(this.#server.reload())
  }

  cpuMs(): number {
    return 0
  }

  waitedMs(): number {
    return 0
  }

  metric(name: string, ...labels: readonly string[]): Promise<number> {
    return metricAt(this.#url, name, labels)
  }

  versions(): Promise<ReadonlyMap<string, string>> {
    return versionsAt(this.#url)
  }

  /** Of all that is in this process. */
  async heapAtRest(): Promise<number> {
    collect()
    return process.memoryUsage().heapUsed
  }

  descendants(): readonly number[] {
    return []
  }
}

function collect(): void {
  setFlagsFromString('--expose-gc')
  runInNewContext('gc')()
}
