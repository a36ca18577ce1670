/**
 * What judging costs through this gateway, through a bare Fastify and undici proxy, vllm-router and LiteLLM, and with nothing
 * between: `jiti bench/overhead.ts [--repeats 3] [--kib 1,16,128] [--out FILE]`. First single samples under load from here; then
 * whole samples per second and processor time of a Python client that scores, together with what it asks.
 */
import { execFile } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { cpus } from 'node:os'
import { join } from 'node:path'
import { parseArgs, promisify } from 'node:util'
import { type BenchSample, type Contender, startContenders } from './contenders.ts'
import { applyLoad } from './load.ts'
import { prose } from './prose.ts'
import { median, quantile } from './quantile.ts'
import { routerPrograms } from './routers.ts'

const { values } = parseArgs({
  options: {
    repeats: { type: 'string', default: '3' },
    kib: { type: 'string', default: '1,16,128' },
    out: { type: 'string' },
  },
})
const repeats = Number(values.repeats)
const concurrencies = [1, 64, 512]
const sizes = values.kib.split(',').map(Number)

let serial = 0
const sampleOf = (kib: number): BenchSample => ({
  id: String(serial),
  prompt: `How many apples are there on day ${serial++}?`,
  response: prose(kib * 1024),
})

/** Requests of one measurement: enough for the 10 ms in which the kernel counts, few enough for all cells. */
const requestsOf = (kib: number, concurrency: number): number =>
  Math.round((concurrency === 1 ? 1200 : concurrency === 64 ? 1600 : 2400) / (kib === 128 ? 6 : 1))

interface Row {
  readonly kib: number
  readonly concurrency: number
  readonly through: string
  readonly [figure: string]: number | string
}

/** Server CPU of 1,000 calls with one sample each, and their latencies. */
async function loaded({ server, path, body }: Contender, kib: number, concurrency: number, requests: number) {
  const bodies = Array.from({ length: requests }, () => body(sampleOf(kib)))
  const before = server.cpuSeconds()
  const { latencies, seconds } = await applyLoad({ url: server.url, path, bodies, requests, concurrency })
  return {
    cpuSecondsPer1000: ((server.cpuSeconds() - before) * 1000) / requests,
    p50Ms: median(latencies),
    p99Ms: quantile(latencies, 0.99),
    perSecond: requests / seconds,
  }
}

/** Samples per second of the Python client, and the CPU of 1,000 samples: the client's and the server's. */
async function scoring(mode: 'judge' | 'gateway', { server }: Contender, kib: number, concurrency: number) {
  const count = requestsOf(kib, concurrency)
  const before = server.cpuSeconds()
  const args = ['bench/scoring_client.py', mode, server.url, count, kib * 1024, concurrency].map(String)
  const { stdout } = await promisify(execFile)(join(routerPrograms(), 'python'), args)
  const { seconds, cpu } = JSON.parse(stdout) as { seconds: number; cpu: number }
  // The server's part of the warm-up, `concurrency` samples, is not the client's: leave its share out.
  const served = ((server.cpuSeconds() - before) * count) / (count + concurrency)
  return {
    clientCpuSecondsPer1000: (cpu * 1000) / count,
    serverCpuSecondsPer1000: (served * 1000) / count,
    cpuSecondsPer1000: ((cpu + served) * 1000) / count,
    perSecond: count / seconds,
  }
}

type Figures = Readonly<Record<string, number>>

/** Medians by figure of all repeats, the contenders in turn within each; a round before them warms up for this size. */
async function inTurn(
  runs: readonly { through: string; run: () => Promise<Figures> }[],
): Promise<Map<string, Figures>> {
  const seen = new Map<string, Figures[]>()
  for (let repeat = 0; repeat <= repeats; repeat++)
    for (const { through, run } of runs) {
      const figures = await run()
      if (repeat > 0) seen.set(through, [...(seen.get(through) ?? []), figures])
    }
  const medians = new Map<string, Figures>()
  for (const [through, all] of seen) {
    const names = Object.keys(all[0] ?? {})
    medians.set(
      through,
      Object.fromEntries(names.map((name) => [name, median(all.map((one) => one[name] ?? 0))])),
    )
  }
  return medians
}

const round = (value: number): number => Number(value.toPrecision(4))

function report({ kib, concurrency, through, ...figures }: Row): void {
  const told = Object.entries(figures).map(([name, value]) => `${name} ${value}`)
  console.log(
    `${String(kib).padStart(4)} KiB x ${String(concurrency).padEnd(3)} ${through.padEnd(38)} ${told.join('  ')}`,
  )
}

async function cells(
  title: string,
  measured: (kib: number, concurrency: number) => readonly { through: string; run: () => Promise<Figures> }[],
): Promise<Row[]> {
  console.log(`\n${title}`)
  const rows: Row[] = []
  for (const kib of sizes)
    for (const concurrency of concurrencies)
      for (const [through, figures] of await inTurn(measured(kib, concurrency))) {
        const rounded = Object.entries(figures).map(([name, value]) => [name, round(value)])
        const row = { kib, concurrency, through, ...Object.fromEntries(rounded) }
        report(row)
        rows.push(row)
      }
  return rows
}

/** Calls before the first measured one: a trainer's gateway runs for days. */
const warmUp = 3000

const started = await startContenders()
const { direct, gateway, shared, router, litellm } = started
try {
  for (const contender of Object.values(started))
    await loaded(contender, 1, 64, contender === litellm ? 64 : warmUp)
  // A call through LiteLLM takes some fifty times longer than through the others: fewer of them measure it as well.
  const requestsTo = (contender: Contender, kib: number, concurrency: number): number => {
    const requests = requestsOf(kib, concurrency)
    return contender === litellm ? Math.max(concurrency, Math.ceil(requests / 10)) : requests
  }
  const calls = await cells('single calls: CPU of what is between, latency', (kib, concurrency) =>
    Object.values(started).map((contender) => ({
      through: contender.name,
      run: () => loaded(contender, kib, concurrency, requestsTo(contender, kib, concurrency)),
    })),
  )
  const whole = await cells('judged samples: CPU of client and server together', (kib, concurrency) => [
    { through: 'client alone', run: () => scoring('judge', direct, kib, concurrency) },
    { through: 'client + vllm-router', run: () => scoring('judge', router, kib, concurrency) },
    { through: 'client + reward-gateway', run: () => scoring('gateway', gateway, kib, concurrency) },
    {
      through: 'client + reward-gateway, calls shared',
      run: () => scoring('gateway', shared, kib, concurrency),
    },
  ])
  const machine = { cpu: cpus()[0]?.model, cores: cpus().length, node: process.version, repeats }
  if (values.out)
    writeFileSync(values.out, [machine, ...calls, ...whole].map((row) => `${JSON.stringify(row)}\n`).join(''))
} finally {
  await Promise.all(Object.values(started).map(({ server }) => server.stop()))
}
