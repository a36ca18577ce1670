/** Server CPU per judged sample against a bare Fastify and undici proxy (bench/proxy.ts), in interleaved pairs. */
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
const gateway = await startGateway('bench/configs/judged.yaml', 8495, { BENCH_JUDGE: judge.url })
const proxy = await startScript('proxy', 8493, judge.url)

async function measure(
  server: MeasuredProcess,
  batches: ReturnType<typeof groups>,
  concurrency: number,
): Promise<number> {
  const isGateway = server === gateway
  const bodies = batches.map((samples) =>
    JSON.stringify(isGateway ? { reward: 'judged', samples } : { samples }),
  )
  const path = isGateway ? '/v1/score' : '/score'
  const before = server.cpuSeconds()
  const { first } = await applyLoad({ url: server.url, path, bodies, requests: bodies.length, concurrency })
  const { results } = first as { results: { reward: number }[] }
  if (!results.every(({ reward }) => reward === 1))
    throw new Error(`${path} did not answer 1 for each sample`)
  return ((server.cpuSeconds() - before) * 1000) / batches.flat().length
}

console.log(
  `${cpus()[0]?.model}, node ${process.version}; CPU ms of the server for each sample, medians of 5 interleaved pairs`,
)
for (const { name, count, size, concurrency } of [
  { name: 'single, 2 KB', count: 2000, size: 1, concurrency: 32 },
  { name: 'batches of 64', count: 60, size: 64, concurrency: 4 },
]) {
  await measure(gateway, groups(count / 2, size), concurrency)
  await measure(proxy, groups(count / 2, size), concurrency)
  const pairs: { ours: number; theirs: number }[] = []
  for (let pair = 0; pair < 5; pair++) {
    const ours = await measure(gateway, groups(count, size), concurrency)
    pairs.push({ ours, theirs: await measure(proxy, groups(count, size), concurrency) })
  }
  const ratios = pairs.map(({ ours, theirs }) => ours / theirs)
  console.log(
    `${name}: gateway ${median(pairs.map(({ ours }) => ours)).toFixed(3)}, proxy ${median(pairs.map(({ theirs }) => theirs)).toFixed(3)}, ` +
      `gateway/proxy ${median(ratios).toFixed(2)} (pairs ${ratios.map((ratio) => ratio.toFixed(2)).join(' ')})`,
  )
}
await Promise.all([gateway.stop(), proxy.stop(), judge.stop()])
