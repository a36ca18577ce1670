/** Throughput of rule-scored samples with the record on, against the same server with it off, in interleaved pairs. */
import { cpSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { cpus, tmpdir } from 'node:os'
import { join } from 'node:path'
import { applyLoad, median } from './load.ts'
import { startMeasured } from './measured-process.ts'

const here = import.meta.dirname
const folder = mkdtempSync(join(tmpdir(), 'reward-gateway-record-'))
const filler = 'We add the apples of the first day to those of the second day, and then we count again. '
const samples = Array.from({ length: 512 }, (_, index) => ({
  id: String(index),
  prompt: 'How many apples are there?',
  response: `${filler.repeat(11).slice(0, 1000)}${index} #### ${index * 7}`,
  ground_truth: String(index * 7),
  group_id: String(index >> 3),
}))

const start = (name: string, port: number, record: object) => {
  const configs = join(folder, name)
  mkdirSync(configs)
  cpSync(join(here, 'configs/rule.yaml'), join(configs, 'rule.yaml'))
  writeFileSync(join(configs, 'gateway.json'), JSON.stringify(record))
  const command = ['dist/src/cli/main.js', 'serve', '--config', configs, '--port', String(port)]
  return startMeasured(['node', ...command, '--log-level', 'warn'], `http://127.0.0.1:${port}`, '/livez')
}

const off = await start('off', 8497, {})
const on = await start('on', 8498, { record: { folder: join(folder, 'records') } })

const shapes = [
  { name: 'single, 1 KB', size: 1, requests: 4000, concurrency: 32 },
  { name: 'batches of 256', size: 256, requests: 100, concurrency: 8 },
]

console.log(`${cpus()[0]?.model}, node ${process.version}; medians of 7 interleaved pairs`)
for (const { name, size, requests, concurrency } of shapes) {
  const bodies = Array.from({ length: 512 / size }, (_, at) =>
    JSON.stringify({ reward: 'rule', samples: samples.slice(at * size, (at + 1) * size) }),
  )
  // Other work on the machine slows one of a pair more than the other; processor time is steadier.
  const cpuSpent = new Map<typeof on, number>()
  const perSecond = async (server: typeof on, share = 1) => {
    const load = { url: server.url, path: '/v1/score', bodies, concurrency }
    const before = server.cpuSeconds()
    const { seconds } = await applyLoad({ ...load, requests: Math.ceil(requests * share) })
    const cpu = cpuSpent.get(server) ?? 0
    cpuSpent.set(server, cpu + server.cpuSeconds() - before)
    return (requests * share * size) / seconds
  }
  await perSecond(off, 0.3)
  await perSecond(on, 0.3)
  const pairs: { off: number; on: number }[] = []
  for (let pair = 0; pair < 7; pair += 1) {
    const first = pair % 2 === 0 ? [off, on] : [on, off]
    const rates = [await perSecond(first[0] ?? off), await perSecond(first[1] ?? on)]
    pairs.push(
      pair % 2 === 0 ? { off: rates[0] ?? 0, on: rates[1] ?? 0 } : { on: rates[0] ?? 0, off: rates[1] ?? 0 },
    )
  }
  const ratios = pairs.map((pair) => pair.on / pair.off)
  console.log(
    `${name}: ${median(pairs.map((pair) => pair.off)).toFixed(0)} samples/s without, ` +
      `${median(pairs.map((pair) => pair.on)).toFixed(0)} with, ratio ${median(ratios).toFixed(3)} ` +
      `(pairs ${ratios.map((ratio) => ratio.toFixed(2)).join(' ')}); ` +
      `processor time without / with ${((cpuSpent.get(off) ?? 0) / (cpuSpent.get(on) ?? 1)).toFixed(3)}`,
  )
}
const metrics = await (await fetch(`${on.url}/metrics`)).text()
for (const line of metrics.split('\n')) if (/^reward_gateway_record/.test(line)) console.log(line)
await Promise.all([off.stop(), on.stop()])
rmSync(folder, { recursive: true })
