import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { InjectedFault } from '../../src/simulator/faults.ts'
import type { ServerStats } from '../../src/simulator/stats.ts'
import type { JudgeServers } from './judge-server.ts'
import { type Kind, kinds, type Row, weightsOf } from './load.ts'
import { type Replica, ReplicaProcess, waitedMsOf } from './replica.ts'
import { realTime, type Timeline } from './timeline.ts'
import type { JudgeName } from './verdicts.ts'

/** One server of a judge, by its control port, which stays open while the server is down. */
export interface JudgeServer {
  readonly judge: JudgeName
  readonly address: string
  faults(faults: readonly InjectedFault[]): Promise<void>
  kill(): Promise<void>
  restart(downMs: number): Promise<void>
  stats(): Promise<ServerStats>
}

/** All that takes part in a day. */
export interface Stage {
  readonly time: Timeline
  /** A row as it is played here; none if its kind is not. Absent: as it is. */
  readonly played?: (row: Row) => readonly Row[]
  /** The balancer's address. */
  readonly origin: string
  readonly replicas: readonly Replica[]
  readonly servers: readonly JudgeServer[]
  /** Of the rewards' config, as it was last written. */
  readonly edition: number
  /** Writes the next edition of the rewards and has all replicas read it. */
  reload(): void
  /** Milliseconds in which this process, the balancer and a replica stood in line for a core. */
  waitedMs(replica: number): number
  /** SIGTERM to the replicas; their exit codes. */
  close(): Promise<readonly (number | null)[]>
}

export interface StageOptions {
  /** The first of a hundred ports. */
  readonly port: number
  readonly seed: number
  /** 4: judges answer four times as fast. */
  readonly judgeSpeed: number
  /** Whether each replica has its share of a server's places as `max_in_flight`. */
  readonly knowsPlaces: boolean
}

export const [balancerAt, replicasAt, controlsAt] = [0, 1, 50]
export const replicaCount = 2

/** Medians and places as in the day that docs/reliability.md describes. */
export const judges: readonly (Omit<JudgeServers, 'seed'> & { readonly portAt: number })[] = [
  { judge: 'judge-small', portAt: 10, count: 4, maxNumSeqs: 64, latencyMedianMs: 1200, latencySigma: 0.8 },
  { judge: 'judge-big', portAt: 20, count: 2, maxNumSeqs: 32, latencyMedianMs: 9000, latencySigma: 0.7 },
  {
    judge: 'prm',
    portAt: 30,
    count: 1,
    maxNumSeqs: 64,
    latencyMedianMs: 600,
    latencySigma: 0.5,
    runner: 'pooling',
  },
]

export async function openStage({ port, seed, judgeSpeed, knowsPlaces }: StageOptions): Promise<Stage> {
  const folder = mkdtempSync(join(tmpdir(), 'reward-gateway-day-'))
  process.once('exit', () => rmSync(folder, { recursive: true, force: true }))
  const helpers = judges.map(({ portAt, ...servers }) =>
    helper('judge-server.js', [
      JSON.stringify({
        ...servers,
        seed,
        speed: judgeSpeed,
        // As long as the longest response of the second profile.
        maxModelLen: 200_000,
        port: port + portAt,
        controlPort: port + controlsAt + portAt,
      }),
    ]),
  )
  const replicaPorts = Array.from({ length: replicaCount }, (_, at) => port + replicasAt + at)
  const balancer = helper('balancer-process.js', [port + balancerAt, ...replicaPorts].map(String))
  await Promise.all([...helpers, balancer].map(ready))
  let edition = 0
  write(folder, 'gateway', { ...gatewayConfig(port, knowsPlaces), sandboxes: { local: {} } })
  writeRewards(folder, edition, kinds)
  const env = guardEnv
  const replicas = replicaPorts.map((replica) => new ReplicaProcess(replica, folder, env))
  await Promise.all(replicas.map((replica) => replica.start()))
  let lastRead = 0
  let waited: readonly number[] = []
  return {
    time: realTime,
    origin: `http://127.0.0.1:${port + balancerAt}`,
    replicas,
    servers: judges.flatMap(({ judge, portAt, count }) =>
      Array.from({ length: count }, (_, at) => judgeServer(judge, port + portAt + at)),
    ),
    get edition() {
      return edition
    },
    reload() {
      edition += 1
      writeRewards(folder, edition, kinds)
      for (const replica of replicas) replica.reload()
    },
    waitedMs(at) {
      const now = performance.now()
      // Reading takes longer than sending a small row, and many rows are sent at once.
      if (now - lastRead > 5) {
        lastRead = now
        const before = waitedMsOf('self') + waitedMsOf(balancer.pid ?? 0)
        waited = replicas.map((replica) => before + replica.waitedMs())
      }
      return waited[at] ?? 0
    },
    async close() {
      const codes = await Promise.all(replicas.map((replica) => replica.stop()))
      for (const child of [...helpers, balancer]) child.kill('SIGKILL')
      return codes
    },
  }
}

/** The same prompts in both replicas, as docs/cluster.md wants it. */
export const guardEnv = { DAY_GUARD_SECRET: 'equal-prompts-in-both-replicas' }

function helper(file: string, args: readonly string[]): ChildProcess {
  const child = spawn(process.execPath, [join(import.meta.dirname, file), ...args], {
    stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
  })
  process.once('exit', () => child.kill('SIGKILL'))
  return child
}

async function ready(child: ChildProcess): Promise<void> {
  const isReady = await Promise.race([
    once(child, 'message').then(() => true),
    once(child, 'exit').then(() => false),
  ])
  if (!isReady) throw new Error(`a process of the stage did not start: ${child.spawnargs.join(' ')}`)
}

function judgeServer(judge: JudgeName, port: number): JudgeServer {
  const control = `http://127.0.0.1:${port + controlsAt}/simulate`
  const order = async (path: string, body: object): Promise<void> => {
    const answer = await fetch(`${control}/${path}`, { method: 'POST', body: JSON.stringify(body) })
    if (!answer.ok) throw new Error(`${path} of ${judge}: ${answer.status} ${await answer.text()}`)
    await answer.arrayBuffer()
  }
  return {
    judge,
    address: `http://127.0.0.1:${port}`,
    faults: (faults) => order('faults', { faults }),
    kill: () => order('kill', {}),
    restart: (downMs) => order('restart', { downMs }),
    stats: async () => (await (await fetch(`${control}/stats`)).json()) as ServerStats,
  }
}

/** Addresses, and of what has a default only what docs/cluster.md says of replicas. */
export function gatewayConfig(port: number, knowsPlaces: boolean) {
  const instances = (at: number, count: number) =>
    Array.from({ length: count }, (_, index) => `http://127.0.0.1:${port + at + index}`)
  return {
    guard: { secret_env: 'DAY_GUARD_SECRET' },
    shutdown: { pre_stop_s: 2 },
    models: Object.fromEntries(
      judges.map(({ judge, portAt, count, maxNumSeqs = 1 }) => [
        judge,
        {
          model: judge,
          instances: instances(portAt, count),
          ...(knowsPlaces && { max_in_flight: maxNumSeqs / replicaCount }),
          ...(judge !== 'prm' && { sampling: { temperature: 0 } }),
        },
      ]),
    ),
  }
}

/** `isShort`: responses are short enough for the rules of the main thread. */
export function writeRewards(folder: string, edition: number, some: readonly Kind[], isShort = false): void {
  const weights = weightsOf(edition)
  const rule = (name: string, options?: object) => ({
    name: 'rule',
    function: name,
    weight: weights.rule,
    ...(options && { options }),
  })
  const small = { name: 'small', function: 'yes-no-judge', model: 'judge-small', weight: weights.small }
  const big = { name: 'big', function: 'yes-no-judge', model: 'judge-big', weight: weights.big }
  const rewards: Record<Kind, readonly object[]> = {
    math: [rule(isShort ? 'numeric-match' : 'math-verify')],
    'math-steps': [
      rule('math-verify'),
      { name: 'steps', function: 'step-rewards', model: 'prm', weight: weights.steps },
    ],
    code: [{ ...rule('code-tests'), sandbox: 'local' }],
    open: [rule('format-tags', { tags: ['think'], outside: 'allow' }), small, big],
    agent: [rule('tool-use', { allowed: ['weather'] }), small],
    image: [rule('numeric-match'), small],
    burst: [rule('numeric-match'), small],
  }
  for (const kind of some) write(folder, kind, { steps: rewards[kind] })
}

/** JSON is YAML, too; renamed into its place, so that nobody reads half of it. */
export function write(folder: string, name: string, config: object): void {
  const path = join(folder, `${name}.yaml`)
  writeFileSync(`${path}.new`, JSON.stringify(config))
  renameSync(`${path}.new`, path)
}
