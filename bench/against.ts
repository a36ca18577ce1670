/**
 * CPU per sample of this build against another one's: rules and judged samples, singly and in batches, in interleaved rounds.
 * `--old FOLDER` is a built checkout. Prints the ratio of each shape with its 95 % interval (Student's t of the logarithms).
 *
 * Two processes of one build differ by up to a tenth, however long they are measured: by what was compiled when, and where it
 * lies in memory. So all servers are started anew several times, and the interval is that of the starts.
 */
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { applyLoad } from './load.ts'
import { type MeasuredProcess, startMeasured, startScript } from './measured-process.ts'
import { prose } from './prose.ts'

const { values } = parseArgs({
  options: {
    old: { type: 'string' },
    starts: { type: 'string', default: '6' },
    /** In each start. */
    rounds: { type: 'string', default: '4' },
    /** How much is sent in a round; what comes before the rounds is as much again, so that little is still compiled in them. */
    times: { type: 'string', default: '1' },
    /** Shapes whose name has this text. */
    only: { type: 'string', default: '' },
  },
})
if (values.old === undefined) throw new Error('name a built checkout: --old FOLDER')
const starts = Number(values.starts)
const rounds = Number(values.rounds)
const times = Number(values.times)
/** Student's t for 95 %, by degrees of freedom; beyond ten starts nearly constant. */
const t95 = [12.71, 4.3, 3.18, 2.78, 2.57, 2.45, 2.36, 2.31, 2.26][starts - 2] ?? 2.2

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
const allShapes = [
  { name: 'rules, single 1 KB', reward: 'rule', sample: ruled, size: 1, count: 6000, concurrency: 32 },
  { name: 'rules, batches of 256', reward: 'rule', sample: ruled, size: 256, count: 300, concurrency: 8 },
  { name: 'judged, single 2 KB', reward: 'judged', sample: judged, size: 1, count: 4000, concurrency: 32 },
  { name: 'judged, batches of 64', reward: 'judged', sample: judged, size: 64, count: 120, concurrency: 4 },
] as const
type Shape = (typeof allShapes)[number]
const shapes = allShapes.filter(({ name }) => name.includes(values.only))

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

interface Seen {
  /** Milliseconds of each round. */
  readonly costs: { readonly old: number[]; readonly new: number[] }
  /** The mean logarithm of the ratio in each start. */
  readonly logs: number[]
}
const seen = new Map<Shape, Seen>(shapes.map((shape) => [shape, { costs: { old: [], new: [] }, logs: [] }]))
const mean = (list: readonly number[]): number => list.reduce((sum, one) => sum + one, 0) / list.length

for (let begun = 0; begun < starts; begun++) {
  const servers = {
    rule: { old: await start(values.old, 'rule', 8475), new: await start('.', 'rule', 8476) },
    judged: { old: await start(values.old, 'judged', 8477), new: await start('.', 'judged', 8478) },
  }
  for (const [shape, { costs, logs }] of seen) {
    const pair = servers[shape.reward]
    for (const server of [pair.old, pair.new]) await costOf(server, shape, 2 * times * shape.count)
    const ratios: number[] = []
    for (let round = 0; round < rounds; round++) {
      const order = (begun + round) % 2 === 0 ? (['old', 'new'] as const) : (['new', 'old'] as const)
      const cost = { old: 0, new: 0 }
      for (const which of order) cost[which] = await costOf(pair[which], shape, times * shape.count)
      for (const which of order) costs[which].push(cost[which])
      ratios.push(Math.log(cost.new / cost.old))
    }
    logs.push(mean(ratios))
  }
  await Promise.all(Object.values(servers).flatMap((pair) => [pair.old.stop(), pair.new.stop()]))
}
await judge.stop()

for (const [{ name }, { costs, logs }] of seen) {
  const middle = mean(logs)
  const deviation = Math.sqrt(logs.reduce((sum, one) => sum + (one - middle) ** 2, 0) / (starts - 1))
  const [low, high] = [-1, 1].map((sign) => Math.exp(middle + (sign * t95 * deviation) / Math.sqrt(starts)))
  process.stdout.write(
    `${name}: ${mean(costs.old).toFixed(4)} ms, now ${mean(costs.new).toFixed(4)}; ratio ${Math.exp(middle).toFixed(3)} (95 %: ${low?.toFixed(3)} to ${high?.toFixed(3)})\n`,
  )
}
