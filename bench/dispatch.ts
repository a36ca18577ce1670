/**
 * Judge dispatch as a trainer sees it: 1,024 samples through a router with a Python client that builds the questions and
 * reads the verdicts, against the gateway doing both. Four servers with 64 places each, log-normal latency (median 300 ms,
 * sigma 0.8), one five times slower. Makespan, p50 and p99 of a request, CPU of client and server, memory.
 */
import { execFile } from 'node:child_process'
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { cpus, tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { parseArgs, promisify } from 'node:util'
import { type MeasuredProcess, startGateway, startSimulatedJudge } from './measured-process.ts'
import { median } from './quantile.ts'
import { routerPrograms, startLiteLlm, startRouter } from './routers.ts'

const { values } = parseArgs({
  options: {
    samples: { type: 'string', default: '1024' },
    repeats: { type: 'string', default: '3' },
    out: { type: 'string' },
  },
})
const [samples, repeats] = [Number(values.samples), Number(values.repeats)]
const concurrency = 256
const firstJudge = 18_801
const judges = [0, 1, 2, 3].map((index) => `http://127.0.0.1:${firstJudge + index}`)
const folder = mkdtempSync(join(tmpdir(), 'reward-gateway-dispatch-'))
process.once('exit', () => rmSync(folder, { recursive: true, force: true }))
const python = join(routerPrograms(), 'python')

interface Way {
  readonly name: string
  start(): Promise<MeasuredProcess>
  readonly mode: 'judge' | 'gateway'
  readonly batch: number
}

const router = (program: 'vllm-router' | 'sglang-router', policy: string, port: number): Way => ({
  name: `client + ${program} ${policy}`,
  start: () => startRouter(program, policy, port, judges),
  mode: 'judge',
  batch: 1,
})
const gateway = (name: string, port: number, batch: number, hedge: number): Way => ({
  name: `client + reward-gateway${name}`,
  start: () => startGateway(gatewayConfig(hedge), port),
  mode: 'gateway',
  batch,
})
const ways: readonly Way[] = [
  router('vllm-router', 'round_robin', 18_811),
  router('vllm-router', 'power_of_two', 18_812),
  router('sglang-router', 'cache_aware', 18_813),
  router('sglang-router', 'power_of_two', 18_814),
  {
    name: 'client + LiteLLM least-busy',
    start: () => startLiteLlm(18_815, judges),
    mode: 'judge',
    batch: 1,
  },
  gateway(', samples one by one', 18_816, 1, 0),
  gateway(', batches of 64', 18_816, 64, 0),
  gateway(', batches of 64, hedged', 18_817, 64, 0.05),
]

const shape = ['--latency-median-ms', '300', '--latency-sigma', '0.8', '--max-num-seqs', '64', '--speed']
const servers = await Promise.all(
  judges.map((_, index) => startSimulatedJudge(firstJudge + index, [...shape, index === 3 ? '0.2' : '1'])),
)
const seen = new Map<string, Record<string, number>[]>()
try {
  for (let repeat = 0; repeat < repeats; repeat++)
    for (const way of ways) {
      process.stderr.write(`${new Date().toISOString()} ${way.name}\n`)
      seen.set(way.name, [...(seen.get(way.name) ?? []), await measured(way).catch(lost)])
    }
} finally {
  await Promise.all(servers.map((server) => server.stop()))
}
const rows = [...seen].map(([through, all]) => {
  const whole = all.filter((one) => 'makespanS' in one)
  const figures = Object.keys(whole[0] ?? {}).map((name): [string, number] => [
    name,
    Number(median(whole.map((one) => one[name] ?? 0)).toPrecision(3)),
  ])
  return { through, runsThatLostNothing: `${whole.length} of ${all.length}`, ...Object.fromEntries(figures) }
})
console.table(rows)
const machine = {
  cpu: cpus()[0]?.model,
  cores: cpus().length,
  node: process.version,
  repeats,
  samples,
  concurrency,
}
if (values.out)
  writeFileSync(values.out, [machine, ...rows].map((row) => `${JSON.stringify(row)}\n`).join(''))

/** A way on which a sample was lost has no figures. */
function lost(error: Error): Record<string, number> {
  const said = error.message.trim().split('\n').at(-1)
  process.stderr.write(`lost a sample: ${said}\n`)
  return {}
}

/** Each way runs alone, and anew for each repeat, so that nothing is left of the one before. */
async function measured({ start, mode, batch }: Way): Promise<Record<string, number>> {
  const server = await start()
  try {
    const before = server.cpuSeconds()
    const args = ['bench/scoring_client.py', mode, server.url, samples, 1024, concurrency, batch].map(String)
    // A way that hangs has lost its samples, too.
    const { stdout } = await promisify(execFile)(python, args, { timeout: 60_000 })
    const { seconds, cpu, p50, p99 } = JSON.parse(stdout) as Record<'seconds' | 'cpu' | 'p50' | 'p99', number>
    // The server's part of the warm-up, `concurrency` samples, is not the client's: leave its share out.
    const served = ((server.cpuSeconds() - before) * samples) / (samples + concurrency)
    const perThousand = 1000 / samples
    return {
      makespanS: seconds,
      p50Ms: p50,
      p99Ms: p99,
      clientCpuS: cpu * perThousand,
      serverCpuS: served * perThousand,
      cpuSPer1000: (cpu + served) * perThousand,
      rssMib: server.rssMib(),
    }
  } finally {
    await server.stop()
  }
}

function gatewayConfig(hedge: number): string {
  const file = join(folder, `judged-${hedge}`, 'judged.yaml')
  const judge = {
    model: 'judge',
    instances: judges,
    max_in_flight: 64,
    sampling: { temperature: 0 },
    cache: 'never',
    hedge: { budget: hedge },
  }
  const steps = [{ name: 'judge', function: 'yes-no-judge', model: 'judge' }]
  mkdirSync(dirname(file), { recursive: true })
  writeFileSync(file, JSON.stringify({ models: { judge }, steps }))
  return file
}
