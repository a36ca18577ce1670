/**
 * How the gateway's CPU grows with samples per request, requests at once, instances, group size, length of a response and
 * steps of a config: one curve each, CPU per unit at each point. Linear growth keeps it constant; it ends with 1 where a point
 * costs half as much again as the first one.
 */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { applyLoad } from './load.ts'
import { startGateway, startScript } from './measured-process.ts'
import { prose } from './prose.ts'
import { median } from './quantile.ts'

const { values } = parseArgs({
  options: {
    /** Samples of a point, about; and how often it is measured. */
    samples: { type: 'string', default: '20000' },
    repeats: { type: 'string', default: '3' },
    only: { type: 'string', default: '' },
  },
})
const [samplesOfPoint, repeats] = [Number(values.samples), Number(values.repeats)]

interface Point {
  readonly at: number
  readonly reward: string
  /** Samples of a request, and requests at a time. */
  readonly batch: number
  readonly concurrency: number
  /** What the CPU is divided by, for a sample. */
  readonly units?: number
  readonly length?: number
  readonly group?: number
  /** Samples of this point, where not all. */
  readonly share?: number
}

const judges = [1, 4, 16, 64]
const point = (at: number, rest: Partial<Point>): Point => ({
  at,
  reward: 'rule',
  batch: 1,
  concurrency: 32,
  ...rest,
})
const curves: Readonly<Record<string, readonly Point[]>> = {
  'samples per request': [1, 10, 100, 1000, 10_000, 100_000].map((at) =>
    point(at, {
      batch: at,
      concurrency: Math.max(1, Math.min(32, Math.floor(1000 / at))),
      share: at === 100_000 ? 5 : 1,
    }),
  ),
  'requests at once': [1, 10, 100, 500, 1000, 2000].map((at) => point(at, { concurrency: at })),
  instances: judges.map((at) => point(at, { reward: `judges-${at}`, batch: 64, concurrency: 4, share: 0.3 })),
  'answers in a group': [2, 8, 32, 128, 512].map((at) =>
    point(at, { reward: 'group', batch: 512, concurrency: 2, group: at }),
  ),
  'KiB of a response': [1, 16, 128, 1000].map((at) =>
    point(at, {
      length: at * 1024,
      units: at,
      batch: at > 100 ? 1 : 8,
      concurrency: 4,
      share: 1 / Math.max(1, at / 8),
    }),
  ),
  'steps of a config': [1, 5, 20, 50].map((at) =>
    point(at, { reward: `steps-${at}`, batch: 64, concurrency: 4, units: at, share: 5 / (at + 4) }),
  ),
}

const puzzle = { header: ['House', 'Name'], rows: [['1', 'Ann']] }
const folder = mkdtempSync(join(tmpdir(), 'reward-gateway-growth-'))
process.once('exit', () => rmSync(folder, { recursive: true, force: true }))
const judgePort = 18_700
writeConfigs()
const gateway = await startGateway(folder, 18_699)
const judgeServer = await startScript('judge-server', judgePort, String(Math.max(...judges)))

for (const [name, points] of Object.entries(curves)) {
  if (values.only && name !== values.only) continue
  process.stdout.write(`${name}\n`)
  const costs: number[] = []
  for (const one of points) {
    const cost = await costOf(one)
    costs.push(cost)
    if (cost > 1.5 * (costs[0] ?? cost)) process.exitCode = 1
    const label = String(one.at).padStart(8)
    process.stdout.write(
      `${label}  ${cost.toFixed(4)} ms CPU  ${(cost / (costs[0] ?? cost)).toFixed(2)} of the first  ${Math.round(gateway.rssMib())} MiB\n`,
    )
  }
}
await gateway.stop()
await judgeServer.stop()

/** Milliseconds of the gateway's CPU for a unit of a sample; the median of the repeats. */
async function costOf({
  reward,
  batch,
  concurrency,
  units = 1,
  length = 200,
  group = 0,
  share = 1,
}: Point): Promise<number> {
  const requests = Math.max(concurrency, Math.ceil((samplesOfPoint * share) / batch))
  const bodies = Array.from({ length: Math.min(requests, 64) }, (_, request) =>
    bodyOf(reward, batch, length, group, request),
  )
  const load = { url: gateway.url, path: '/v1/score', bodies, concurrency }
  await applyLoad({ ...load, requests: Math.ceil(requests / 4) })
  const costs: number[] = []
  for (let turn = 0; turn < repeats; turn++) {
    const before = gateway.cpuSeconds()
    await applyLoad({ ...load, requests })
    costs.push(((gateway.cpuSeconds() - before) * 1000) / (requests * batch * units))
  }
  return median(costs)
}

function bodyOf(reward: string, batch: number, length: number, group: number, request: number): string {
  const text = prose(length)
  const samples = Array.from({ length: batch }, (_, index) => ({
    response: `${text}\n#### ${request}${index}`,
    ground_truth: group > 0 ? puzzle : '1',
    ...(group > 0 && { group_id: `${request}-${Math.floor(index / group)}` }),
  }))
  return JSON.stringify({ reward, samples })
}

function writeConfigs(): void {
  const write = (name: string, config: object) =>
    writeFileSync(join(folder, `${name}.yaml`), JSON.stringify(config))
  const rule = { name: 'rule', function: 'numeric-match' }
  const addresses = Array.from(
    { length: Math.max(...judges) },
    (_, index) => `http://127.0.0.1:${judgePort + index}`,
  )
  write('gateway', {
    limits: { max_samples: 1_000_000, max_body_bytes: 64 << 20 },
    models: Object.fromEntries(
      judges.map((count) => [
        `judge-${count}`,
        { model: 'judge', instances: addresses.slice(0, count), cache: 'never', health: { interval_s: 0 } },
      ]),
    ),
  })
  write('rule', { steps: [rule] })
  write('group', { on_invalid: 'group_mean', steps: [{ name: 'rank', function: 'zebralogic-of-n' }] })
  for (const count of [1, 5, 20, 50])
    write(`steps-${count}`, {
      steps: Array.from({ length: count }, (_, index) => ({
        ...rule,
        name: `rule${index}`,
        weight: 1 / count,
      })),
    })
  for (const count of judges)
    write(`judges-${count}`, {
      steps: [{ name: 'judge', function: 'yes-no-judge', model: `judge-${count}` }],
    })
}
