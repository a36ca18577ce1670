/**
 * CPU per sample of this build against another one's: rules and judged samples, singly and in batches, in interleaved rounds.
 * `--old FOLDER` is a built checkout. Prints the ratio of each shape with its 95 % interval (Student's t of the logarithms).
 */
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { applyLoad } from './load.ts'
import { type MeasuredProcess, startMeasured, startScript } from './measured-process.ts'
import { prose } from './prose.ts'

const { values } = parseArgs({
  options: {
    old: { type: 'string' },
    rounds: { type: 'string', default: '10' },
    /** How much is sent in a round; what comes before the rounds is as much again, so that little is still compiled in them. */
    times: { type: 'string', default: '1' },
  },
})
if (values.old === undefined) throw new Error('name a built checkout: --old FOLDER')
const rounds = Number(values.rounds)
const times = Number(values.times)
/** Student's t for 95 %, by degrees of freedom; beyond ten rounds nearly constant. */
const t95 = [12.71, 4.3, 3.18, 2.78, 2.57, 2.45, 2.36, 2.31, 2.26][rounds - 2] ?? 2.2

let serial = 0
const ruled = () => ({
  id: String(serial),
  prompt: 'How many apples are there?',
  response: `${prose(1000)}#### ${serial++}`,
  ground_truth: '7',
  data_source: 'bench',
})
const judged = () => ({
  id: String(serial),
  prompt: `How many apples are there on day ${serial++}?`,
  response: `${prose(2000)}#### ${serial}`,
})
const shapes = [
  { name: 'rules, single 1 KB', reward: 'rule', sample: ruled, size: 1, count: 6000, concurrency: 32 },
  { name: 'rules, batches of 256', reward: 'rule', sample: ruled, size: 256, count: 300, concurrency: 8 },
  { name: 'judged, single 2 KB', reward: 'judged', sample: judged, size: 1, count: 4000, concurrency: 32 },
  { name: 'judged, batches of 64', reward: 'judged', sample: judged, size: 64, count: 120, concurrency: 4 },
] as const
type Shape = (typeof shapes)[number]

const judge = await startScript('judge-server', 8474)
const start = (folder: string, config: string, port: number): Promise<MeasuredProcess> => {
  const serve = [
    'serve',
    '--config',
    `bench/configs/${config}.yaml`,
    '--port',
    String(port),
    '--log-level',
    'warn',
  ]
  const command = ['node', '--max-semi-space-size=64', join(folder, 'dist/src/cli/main.js'), ...serve]
  return startMeasured(command, port, '/livez', { BENCH_JUDGE: judge.url })
}
const servers = {
  rule: { old: await start(values.old, 'rule', 8475), new: await start('.', 'rule', 8476) },
  judged: { old: await start(values.old, 'judged', 8477), new: await start('.', 'judged', 8478) },
}

async function costOf(server: MeasuredProcess, shape: Shape, count: number): Promise<number> {
  const bodies = Array.from({ length: count }, () =>
    JSON.stringify({ reward: shape.reward, samples: Array.from({ length: shape.size }, shape.sample) }),
  )
  const before = server.cpuSeconds()
  await applyLoad({
    url: server.url,
    path: '/v1/score',
    bodies,
    requests: count,
    concurrency: shape.concurrency,
  })
  return ((server.cpuSeconds() - before) * 1000) / (count * shape.size)
}

for (const shape of shapes) {
  const pair = servers[shape.reward]
  for (const server of [pair.old, pair.new]) await costOf(server, shape, 2 * times * shape.count)
  const logs: number[] = []
  const costs = { old: 0, new: 0 }
  for (let round = 0; round < rounds; round++) {
    const order = round % 2 === 0 ? (['old', 'new'] as const) : (['new', 'old'] as const)
    const cost = { old: 0, new: 0 }
    for (const which of order) cost[which] = await costOf(pair[which], shape, times * shape.count)
    costs.old += cost.old / rounds
    costs.new += cost.new / rounds
    logs.push(Math.log(cost.new / cost.old))
  }
  const mean = logs.reduce((sum, one) => sum + one, 0) / rounds
  const deviation = Math.sqrt(logs.reduce((sum, one) => sum + (one - mean) ** 2, 0) / (rounds - 1))
  const [low, high] = [-1, 1].map((sign) => Math.exp(mean + (sign * t95 * deviation) / Math.sqrt(rounds)))
  process.stdout.write(
    `${shape.name}: ${costs.old.toFixed(4)} ms, now ${costs.new.toFixed(4)}; ratio ${Math.exp(mean).toFixed(3)} (95 %: ${low?.toFixed(3)} to ${high?.toFixed(3)})\n`,
  )
}
await Promise.all([
  ...Object.values(servers).flatMap((pair) => [pair.old.stop(), pair.new.stop()]),
  judge.stop(),
])
