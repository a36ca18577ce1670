import { type ChildProcess, spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Rollout } from './rollouts.ts'

/** Weights of the rule and of the two judges; sums of them are exact. */
const editions = [
  { rule: 1, careful: 0.5, quick: 0.25 },
  { rule: 1, careful: 0.25, quick: 0.125 },
] as const

/** The rewards that an edition of the config can give: for a right row, and 0 for a wrong one. */
export const fullMarks = editions.map(({ rule, careful, quick }) => rule + careful + quick)

export const deadlineMs = 3000

/** The gateway as a process of its own, with configs that change on cue. */
export interface GatewayProcess {
  readonly address: string
  /** The next edition of the config, or one with mistakes, which must leave the old one serving. */
  reload(edition: 'next' | 'broken'): void
  jumpClock(): void
  /** Has a hostile function do this; throws where it came to a number. */
  misbehave(reward: string, deed: string): Promise<void>
  /** Has what nobody refers to any more collected. */
  collect(): void
  /** Resident memory in MiB, file descriptors, and the sum of a metric's samples. */
  rssMib(): number
  descriptors(): number
  /** Milliseconds so far in which its loop stood in line for a core of a busy machine; 0 where the kernel does not tell. */
  waitedMs(): number
  metric(name: string): Promise<number>
  /** The exit code or signal it ended with, which only `close` may make it do; null while it runs. */
  ended(): string | null
  /** SIGTERM; the exit code. */
  close(): Promise<number | null>
}

interface Settings {
  readonly port: number
  /** Addresses of the models' instances by model. */
  readonly models: Readonly<Record<string, readonly string[]>>
  /** Those whose ground truth a trainer does not send. */
  readonly rollouts: readonly Rollout[]
  /** Models have the settings that ship, not those that make a run short. */
  readonly isAsShipped: boolean
}

/** Records go to a file system of 128 KiB, which is soon full, where the kernel lets a process have one of its own. */
export async function startGateway({
  port,
  models,
  rollouts,
  isAsShipped,
}: Settings): Promise<GatewayProcess> {
  const folder = mkdtempSync(join(tmpdir(), 'reward-gateway-chaos-'))
  const records = join(folder, 'records')
  mkdirSync(records)
  const truths = rollouts.map(({ question, truth }) =>
    JSON.stringify({ prompt: question, ground_truth: truth }),
  )
  writeFileSync(join(folder, 'truths.jsonl'), `${truths.join('\n')}\n`)
  write(join(folder, 'gateway.yaml'), gatewayConfig(port, models, isAsShipped))
  let edition = 0
  write(join(folder, 'judged.yaml'), rewardConfig(edition))
  write(join(folder, 'rule.yaml'), { steps: [{ name: 'rule', function: 'numeric-match' }] })
  write(join(folder, 'hostile.yaml'), { steps: [{ name: 'hostile', function: 'misbehave' }] })
  const options = { range: [0, 1] }
  write(join(folder, 'hostile-python.yaml'), {
    steps: [{ name: 'hostile', function: 'misbehave_py', options }],
  })
  const url = `http://127.0.0.1:${port}`
  if (await fetch(`${url}/livez`).catch(() => null)) throw new Error(`something answers at ${url} already`)
  const child = spawnGateway(folder, records)
  const pid = await nodePid(child, url)
  let mending: NodeJS.Timeout | undefined
  return {
    address: `127.0.0.1:${port}`,
    reload(kind) {
      if (kind === 'next') edition = 1 - edition
      write(join(folder, 'judged.yaml'), kind === 'next' ? rewardConfig(edition) : { steps: [{ name: 'x' }] })
      process.kill(pid, 'SIGHUP')
      // What is on the disk is right again by the time of the next signal.
      if (kind !== 'broken') return
      clearTimeout(mending)
      mending = setTimeout(() => write(join(folder, 'judged.yaml'), rewardConfig(edition)), 300)
    },
    async misbehave(reward, deed) {
      const body = JSON.stringify({ reward, samples: [{ response: deed, ground_truth: '1' }] })
      const headers = { 'content-type': 'application/json' }
      const reply = await fetch(`${url}/v1/score`, { method: 'POST', headers, body }).catch(() => null)
      // Refused, or the process has gone, which the run sees by itself.
      if (reply?.status !== 200) return
      const { results } = (await reply.json()) as { results: { reward: number | null }[] }
      if (results.some((result) => result.reward !== null)) throw new Error(`${reward} ${deed}: a number`)
    },
    jumpClock: () => void process.kill(pid, 'SIGUSR2'),
    collect: () => void process.kill(pid, 'SIGWINCH'),
    rssMib: () => Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1]) / 1024,
    descriptors: () => readdirSync(`/proc/${pid}/fd`).length,
    waitedMs: () => waitedMs(pid),
    async metric(name) {
      const text = await (await fetch(`${url}/metrics`)).text()
      const lines = text
        .split('\n')
        .filter((line) => line.startsWith(name) && /^[ {]/.test(line.slice(name.length)))
      return lines.reduce((sum, line) => sum + Number(line.slice(line.lastIndexOf(' '))), 0)
    },
    ended: () => child.signalCode ?? (child.exitCode === null ? null : String(child.exitCode)),
    async close() {
      clearTimeout(mending)
      child.kill('SIGTERM')
      if (child.exitCode === null && child.signalCode === null) await once(child, 'exit')
      rmSync(folder, { recursive: true, force: true })
      return child.exitCode
    },
  }
}

function spawnGateway(folder: string, records: string): ChildProcess {
  const cues = join(import.meta.dirname, 'gateway-cues.js')
  const node = ['node', '--import', cues, '--expose-gc', '--max-semi-space-size=64']
  const serve = [...node, 'dist/src/cli/main.js', 'serve', '--config', folder, '--log-level', 'fatal']
  const mounted = `mount -t tmpfs -o size=128k none '${records}' && exec "$@"`
  const hasMounts = spawnSync('unshare', ['-rm', 'sh', '-c', mounted, 'sh', 'true']).status === 0
  if (!hasMounts)
    process.stderr.write('no file system of its own for the records: their disk is never full\n')
  const [file = '', ...args] = hasMounts ? ['unshare', '-rm', 'sh', '-c', mounted, 'sh', ...serve] : serve
  const child = spawn(file, args, { stdio: ['ignore', 'ignore', 'inherit'] })
  process.once('exit', () => child.kill('SIGKILL'))
  return child
}

function waitedMs(pid: number): number {
  try {
    return Number(readFileSync(`/proc/${pid}/schedstat`, 'utf8').split(' ')[1]) / 1e6
  } catch {
    return 0
  }
}

/** unshare and sh become node by exec, so the child's own id stays. */
async function nodePid(child: ChildProcess, url: string): Promise<number> {
  for (let tries = 0; tries < 600; tries++) {
    if (child.exitCode !== null) throw new Error(`the gateway ended with ${child.exitCode}`)
    const answer = await fetch(`${url}/readyz`).catch(() => null)
    if (answer?.ok && child.pid !== undefined) return child.pid
    await new Promise((resolve) => setTimeout(resolve, 100))
  }
  throw new Error('the gateway was not ready within a minute')
}

/** What makes a run short: faults are found, and forgotten, within its seconds. */
const hasty = {
  timeout_s: 0.8,
  connect_timeout_s: 0.4,
  retry: { pause_ms: 30 },
  hedge: { budget: 0.05 },
  breaker: { open_s: 0.5 },
  health: { interval_s: 0.5, timeout_s: 0.5 },
}

function gatewayConfig(port: number, models: Settings['models'], isAsShipped: boolean): object {
  return {
    listen: { port },
    limits: { deadline_s: deadlineMs / 1000 },
    shutdown: { grace_s: 5 },
    // Full within minutes, so that an hour's memory is not that of a cache that fills.
    cache: { max_bytes: 8 * 2 ** 20 },
    models: Object.fromEntries(
      Object.entries(models).map(([model, instances]) => [
        model,
        {
          model,
          instances,
          sampling: { temperature: 0, max_tokens: 16 },
          ...(!isAsShipped && hasty),
          // The questions of one judge wait for it as long as they may, those of the other fail soon.
          ...(!isAsShipped && { wait_for_instance: model === 'judge-a' ? 'deadline' : 0.5 }),
          batch: { generate: model === 'judge-b', max_size: 8 },
        },
      ]),
    ),
    functions: { folders: [join(process.cwd(), 'test/chaos/hostile')], timeout_s: 1 },
    record: { folder: 'records', text: 'hash' },
    trainers: {
      'llama-factory': { ground_truth_file: 'truths.jsonl' },
      ...Object.fromEntries(['slime', 'axolotl', 'azure'].map((form) => [form, { on_invalid: 'fail' }])),
    },
  }
}

function rewardConfig(edition: number): object {
  const weights = editions[edition] ?? editions[0]
  return {
    steps: [
      { name: 'rule', function: 'numeric-match', weight: weights.rule },
      { name: 'careful', function: 'yes-no-judge', model: 'judge-a', weight: weights.careful },
      { name: 'quick', function: 'yes-no-judge', model: 'judge-b', weight: weights.quick },
    ],
  }
}

/** JSON is YAML, too; renamed into its place, so that nobody reads half of it. */
function write(path: string, config: object): void {
  writeFileSync(`${path}.new`, JSON.stringify(config))
  renameSync(`${path}.new`, path)
}
