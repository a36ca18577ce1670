/**
 * Server CPU per judged sample against a bare Fastify and undici proxy (bench/proxy.ts): with a call for each sample, and with
 * the samples of several in one.
 */
import { cpus } from 'node:os'
import { applyLoad } from './load.ts'
import { type MeasuredProcess, startGateway, startScript } from './measured-process.ts'
import { prose } from './prose.ts'
import { median } from './quantile.ts'

let serial = 0
const sample = () => ({
  id: String(serial),
  prompt: `How many apples are there on day ${serial++}?`,
  response: `${prose(2000)}#### ${serial}`,
})
const groups = (count: number, size: number) =>
  Array.from({ length: count }, () => Array.from({ length: size }, sample))

const judge = await startScript('judge-server', 8494)
const env = { BENCH_JUDGE: judge.url }
const proxy = await startScript('proxy', 8493, judge.url)
const contenders = {
  proxy: { server: proxy, path: '/score', reward: {} },
  'a call each': gatewayOf(await startGateway('bench/configs/judged.yaml', 8495, env)),
  'calls shared': gatewayOf(await startGateway('bench/configs/shared-calls/judged.yaml', 8496, env)),
}
type Name = keyof typeof contenders
const names = Object.keys(contenders) as Name[]

function gatewayOf(server: MeasuredProcess) {
  return { server, path: '/v1/score', reward: { reward: 'judged' } }
}

async function measure(name: Name, batches: ReturnType<typeof groups>, concurrency: number): Promise<number> {
  const { server, path, reward } = contenders[name]
  const bodies = batches.map((samples) => JSON.stringify({ ...reward, samples }))
  const before = server.cpuSeconds()
  const { first } = await applyLoad({ url: server.url, path, bodies, requests: bodies.length, concurrency })
  const { results } = first as { results: { reward: number }[] }
  if (!results.every(({ reward }) => reward === 1))
    throw new Error(`${path} did not answer 1 for each sample`)
  return ((server.cpuSeconds() - before) * 1000) / batches.flat().length
}

console.log(
  `${cpus()[0]?.model}, node ${process.version}; CPU ms of the server for each sample, medians of 5 interleaved rounds`,
)
for (const { shape, count, size, concurrency } of [
  { shape: 'single, 2 KB', count: 6000, size: 1, concurrency: 32 },
  { shape: 'batches of 64', count: 200, size: 64, concurrency: 4 },
]) {
  for (const name of names) await measure(name, groups(count / 2, size), concurrency)
  const rounds: Record<Name, number>[] = []
  for (let round = 0; round < 5; round++) {
    const costs = {} as Record<Name, number>
    for (const name of names) costs[name] = await measure(name, groups(count, size), concurrency)
    rounds.push(costs)
  }
  for (const name of names.filter((name) => name !== 'proxy')) {
    const ratios = rounds.map((costs) => costs[name] / costs.proxy)
    console.log(
      `${shape}, ${name}: gateway ${median(rounds.map((costs) => costs[name])).toFixed(3)}, ` +
        `proxy ${median(rounds.map((costs) => costs.proxy)).toFixed(3)}, gateway/proxy ${median(ratios).toFixed(2)} ` +
        `(rounds ${ratios.map((ratio) => ratio.toFixed(2)).join(' ')})`,
    )
  }
}
await Promise.all([...names.map((name) => contenders[name].server.stop()), judge.stop()])
