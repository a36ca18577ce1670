/**
 * How the gateway's CPU grows with samples per request, requests at once, instances, group size, length of a response and
 * steps of a config: one curve each, CPU per unit at each point. Linear growth keeps it constant; it ends with 1 where a point
 * costs half as much again as the first one, in each of three tries. The points of a curve are measured in turn, so that what
 * slows the machine for a while is in all of them.
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
    /** Milliseconds of the gateway's CPU for one measurement of a point, about; and how often it is measured. */
    ms: { type: 'string', default: '2000' },
    repeats: { type: 'string', default: '3' },
    only: { type: 'string', default: '' },
  },
})
const [measuredMs, repeats] = [Number(values.ms), Number(values.repeats)]
/** What the gateway's code needs until V8 has optimized it. */
const warmUpMs = 1500
const mostGrowth = 1.5
const tries = 3

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
    }),
  ),
  'requests at once': [1, 10, 100, 500, 1000, 2000].map((at) => point(at, { concurrency: at })),
  instances: judges.map((at) => point(at, { reward: `judges-${at}`, batch: 64, concurrency: 4 })),
  'answers in a group': [2, 8, 32, 128, 512].map((at) =>
    point(at, { reward: 'group', batch: 512, concurrency: 2, group: at }),
  ),
  'KiB of a response': [1, 16, 128, 1000].map((at) =>
    point(at, {
      length: at * 1024,
      units: at,
      batch: at > 100 ? 1 : 8,
      concurrency: 4,
    }),
  ),
  'steps of a config': [1, 5, 20, 50].map((at) =>
    point(at, { reward: `steps-${at}`, batch: 64, concurrency: 4, units: at }),
  ),
}

const puzzle = { header: ['House', 'Name'], rows: [['1', 'Ann']] }
const folder = mkdtempSync(join(tmpdir(), 'reward-gateway-growth-'))
process.once('exit', () => rmSync(folder, { recursive: true, force: true }))
const judgePort = 18_700
writeConfigs()
const gateway = await startGateway(folder, 18_699)
const judgeServer = await startScript('judge-server', judgePort, String(Math.max(...judges)))

/** A point's requests, as many as one measurement needs. */
interface Measured {
  readonly point: Point
  readonly bodies: readonly string[]
  readonly requests: number
  readonly costs: number[]
  /** Resident memory of the gateway after the first of them. */
  readonly mib: number
}

await prepared(point(1, {}), warmUpMs)
for (const [name, points] of Object.entries(curves)) {
  if (values.only && name !== values.only) continue
  process.stdout.write(`${name}\n`)
  const curve: Measured[] = []
  for (const one of points) curve.push(await prepared(one, measuredMs))
  await measureInTurn(curve)
  const [first] = curve as [Measured]
  for (const one of curve) {
    let growth = growthOf(first, one)
    for (let tried = 1; tried < tries && growth > mostGrowth; tried++) {
      process.stdout.write(`${' '.repeat(10)}${growth.toFixed(2)} of the first: measured again\n`)
      const again = [first, one].map((same): Measured => ({ ...same, costs: [] }))
      await measureInTurn(again)
      growth = Math.min(growth, growthOf(again[0] as Measured, again[1] as Measured))
    }
    if (growth > mostGrowth) process.exitCode = 1
    const label = String(one.point.at).padStart(8)
    process.stdout.write(
      `${label}  ${median(one.costs).toFixed(4)} ms CPU  ${growth.toFixed(2)} of the first  ${Math.round(one.mib)} MiB\n`,
    )
  }
}
await gateway.stop()
await judgeServer.stop()

function growthOf(first: Measured, one: Measured): number {
  return median(one.costs) / median(first.costs)
}

/** A point that takes many times as long as a measurement is measured once. */
async function measureInTurn(curve: readonly Measured[]): Promise<void> {
  for (let turn = 0; turn < repeats; turn++)
    for (const { point, bodies, requests, costs } of curve) {
      const { batch, units = 1 } = point
      const isLong = (costs[0] ?? 0) * requests * batch * units > repeats * measuredMs
      if (!isLong) costs.push((await cpuMsOf(point, bodies, requests)) / (requests * batch * units))
    }
}

/** Finds how many requests take so long, and sends them. */
async function prepared(point: Point, ms: number): Promise<Measured> {
  const { reward, batch, concurrency, length = 200, group = 0 } = point
  const body = (request: number) => bodyOf(reward, batch, length, group, request)
  const few = Array.from({ length: Math.min(concurrency, 64) }, (_, request) => body(request))
  const cost = (await cpuMsOf(point, few, concurrency)) / concurrency
  const requests = Math.max(concurrency, Math.ceil(ms / cost))
  const bodies = Array.from({ length: Math.min(requests, 64) }, (_, request) => few[request] ?? body(request))
  if (requests > concurrency) await cpuMsOf(point, bodies, requests)
  return { point, bodies, requests, costs: [], mib: gateway.rssMib() }
}

/** Milliseconds of the gateway's CPU. */
async function cpuMsOf({ concurrency }: Point, bodies: readonly string[], requests: number): Promise<number> {
  const before = gateway.cpuSeconds()
  await applyLoad({ url: gateway.url, path: '/v1/score', bodies, concurrency, requests })
  return (gateway.cpuSeconds() - before) * 1000
}

function bodyOf(reward: string, batch: number, length: number, group: number, request: number): string {
  const text = prose(length)
  const samples = Array.from({ length: batch }, (_, index) => ({
    prompt: 'How many apples are there?',
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
