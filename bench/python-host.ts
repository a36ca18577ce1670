/** Throughput of a Python reward function through the gateway, in batches, against the same function in a plain Python loop. */
import { execFileSync } from 'node:child_process'
import { cpSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { cpus, tmpdir } from 'node:os'
import { join } from 'node:path'
import { applyLoad } from './load.ts'
import { startGateway } from './measured-process.ts'
import { prose } from './prose.ts'
import { median } from './quantile.ts'

const count = 16_384
const size = 512
const folder = join(import.meta.dirname, 'python-host')
const text = prose(1000)
const bodies = Array.from({ length: count / size }, (_, batch) => {
  const samples = Array.from({ length: size }, (_, at) => ({
    response: text,
    ground_truth: String(batch * size + at),
    extra_info: { index: batch * size + at },
  }))
  return JSON.stringify({ reward: 'counted', samples })
})

/** Calls a second, and CPU microseconds a call. */
const plain = () => {
  const said = execFileSync('python3', [join(folder, 'counted.py'), String(count)], { encoding: 'utf8' })
  const [seconds = 0, cpuSeconds = 0] = said.split(' ').map(Number)
  return { rate: count / seconds, cpu: (cpuSeconds / count) * 1e6 }
}

console.log(
  `${cpus()[0]?.model}, ${cpus().length} cores, node ${process.version}; medians of 5 interleaved pairs`,
)
for (const processes of [1, 2]) {
  const configs = mkdtempSync(join(tmpdir(), 'reward-gateway-python-'))
  cpSync(join(folder, 'counted.yaml'), join(configs, 'counted.yaml'))
  const functions = { folders: [folder], python: { processes } }
  writeFileSync(join(configs, 'gateway.json'), JSON.stringify({ functions }))
  const gateway = await startGateway(configs, 8495 + processes)
  const served = async () => {
    const before = [gateway.cpuSeconds(), gateway.childrenCpuSeconds()] as const
    const load = { url: gateway.url, path: '/v1/score', bodies, requests: bodies.length, concurrency: 4 }
    const { seconds } = await applyLoad(load)
    return {
      rate: count / seconds,
      node: ((gateway.cpuSeconds() - before[0]) / count) * 1e6,
      python: ((gateway.childrenCpuSeconds() - before[1]) / count) * 1e6,
    }
  }
  if ((await served()).python === 0) throw new Error('no process of a Python function was found')
  const pairs: { loop: ReturnType<typeof plain>; host: Awaited<ReturnType<typeof served>> }[] = []
  for (let pair = 0; pair < 5; pair += 1) pairs.push({ loop: plain(), host: await served() })
  const middle = (pick: (pair: (typeof pairs)[0]) => number) => median(pairs.map(pick))
  console.log(
    `${processes} process${processes === 1 ? '' : 'es'}: loop ${middle(({ loop }) => loop.rate).toFixed(0)} calls/s, ` +
      `gateway ${middle(({ host }) => host.rate).toFixed(0)}, ratio ${middle(({ loop, host }) => host.rate / loop.rate).toFixed(2)} ` +
      `(pairs ${pairs.map(({ loop, host }) => (host.rate / loop.rate).toFixed(2)).join(' ')}); CPU a call: ` +
      `loop ${middle(({ loop }) => loop.cpu).toFixed(0)} us, Python host ${middle(({ host }) => host.python).toFixed(0)} us, ` +
      `gateway ${middle(({ host }) => host.node).toFixed(0)} us`,
  )
  await gateway.stop()
  rmSync(configs, { recursive: true })
}
