/**
 * Hours of mixed traffic with faults: every request form, weather every half minute. Memory, descriptors and handles of the gateway
 * must stay flat. Writes test/chaos/results/soak.jsonl and docs/images/soak.svg.
 */
import { appendFileSync, rmSync, writeFileSync } from 'node:fs'
import { parseArgs } from 'node:util'
import { Agent } from 'undici'
import { seeded } from '../support/seeded.ts'
import { requestForms } from './request-forms.ts'
import { rolloutsOf } from './rollouts.ts'
import { type Reading, soakPlot } from './soak-plot.ts'
import { clearWeather, endsChildren, openStage } from './stage.ts'
import { tryOnce } from './trainer.ts'
import { weatherOf } from './weather.ts'

const { values } = parseArgs({
  options: {
    minutes: { type: 'string', default: '60' },
    /** What comes before is not judged: caches fill, workers start. */
    warmup: { type: 'string', default: '15' },
    /** Between two requests of each of four trainers. */
    'pause-ms': { type: 'string', default: '100' },
    /** Of what is held at rest in the end over what was after the warm-up, and of memory's last quarter over its first. */
    limit: { type: 'string', default: '1.15' },
    seed: { type: 'string', default: '1' },
    toxiproxy: { type: 'string', default: '' },
    port: { type: 'string', default: '18300' },
    results: { type: 'string', default: 'test/chaos/results/soak.jsonl' },
    plot: { type: 'string', default: 'docs/images/soak.svg' },
  },
})
const endMs = Number(values.minutes) * 60_000
const warmupMs = Number(values.warmup) * 60_000
const random = seeded(Number(values.seed))
const known = rolloutsOf('known', 2000, random)
const stage = await openStage(Number(values.port), known, values.toxiproxy, false)
endsChildren()

const started = performance.now()
const elapsed = () => performance.now() - started
let isTroubled = false
const counts = { requests: 0, rows: 0, scored: 0, refused: 0, lost: 0 }
const violations: string[] = []

/** One trainer after the other's manner: a request form, some rows, sometimes gone before the answer. */
async function traffic(worker: number, untilMs: number): Promise<void> {
  const draw = seeded(Number(values.seed) * 1_000_000 + untilMs + worker)
  const names = Object.keys(requestForms)
  for (let turn = 0; elapsed() < untilMs; turn++) {
    const name = names[Math.floor(draw() * names.length)] ?? 'native'
    const form = requestForms[name]
    if (!form) continue
    const count = 1 + Math.floor(draw() * form.rows)
    const at = Math.floor(draw() * (known.length - count))
    // A trainer that sends no ground truth needs rows that the gateway knows; a part of the others come again, too.
    const isKnown = name === 'llama-factory' || draw() < 0.2
    const rows = isKnown
      ? known.slice(at, at + count)
      : rolloutsOf(`${untilMs}-${worker}-${turn}`, count, draw)
    const agent = new Agent({ headersTimeout: 30_000, bodyTimeout: 30_000 })
    const leaves = draw() < 0.05
    const wasTroubled = isTroubled
    const done = await tryOnce({
      origin: stage.origin,
      agent,
      form,
      rows,
      mayBeLost: () => leaves || isTroubled || wasTroubled,
      lateness: () => 1000,
      ...(leaves && { signal: AbortSignal.timeout(Math.floor(draw() * 200)) }),
    })
    await agent.destroy()
    await pause(Number(values['pause-ms']), untilMs)
    counts.requests++
    counts.rows += rows.length
    counts.scored += done.scored
    if (done.end === 'refused') counts.refused++
    if (done.end === 'lost') counts.lost++
    for (const violation of done.violations)
      violations.push(`minute ${Math.round(elapsed() / 60_000)}, ${name}: ${violation}`)
  }
}

/** A storm of six seconds every half minute; of a shorter run, in proportion. */
async function weather(untilMs: number): Promise<void> {
  const unit = Math.min(1, endMs / 300_000)
  while (elapsed() < untilMs) {
    await pause(20_000 * unit, untilMs)
    isTroubled = true
    for (const trouble of weatherOf(random, stage.servers.length)) await trouble.strike(stage)
    await pause(6000 * unit, untilMs)
    await clearWeather(stage)
    await pause(2000 * unit, untilMs)
    isTroubled = false
  }
}

const readings: Reading[] = []
const readingMs = Math.min(10_000, endMs / 60)
async function read(untilMs: number): Promise<void> {
  while (elapsed() < untilMs) {
    await pause(readingMs, untilMs)
    const reading = {
      minute: Math.round(elapsed() / 600) / 100,
      rssMib: Math.round(stage.gateway.rssMib()),
      ...(await held()),
      rows: counts.rows,
    }
    readings.push(reading)
    appendFileSync(values.results, `${JSON.stringify(reading)}\n`)
  }
}

async function held() {
  const heap = await stage.gateway.metric('reward_gateway_nodejs_heap_size_used_bytes')
  return {
    heapMib: Math.round(heap / 2 ** 20),
    descriptors: stage.gateway.descriptors(),
    handles: await stage.gateway.metric('reward_gateway_nodejs_active_handles_total'),
  }
}

/**
 * What is held when nobody asks and no connection to a judge is kept: the least that three seconds of quiet bring. The outcomes that are
 * kept for repeated requests differ from minute to minute; a reload drops them.
 */
async function atRest() {
  for (const server of stage.servers) server.kill()
  await clearWeather(stage)
  stage.gateway.reload('next')
  let least = await held()
  for (let quiet = 0; quiet < 15; quiet++) {
    await new Promise((resolve) => setTimeout(resolve, 200))
    stage.gateway.collect()
    const now = await held()
    if (now.descriptors < least.descriptors || now.handles < least.handles) quiet = 0
    least = {
      heapMib: Math.min(least.heapMib, now.heapMib),
      descriptors: Math.min(least.descriptors, now.descriptors),
      handles: Math.min(least.handles, now.handles),
    }
  }
  return least
}

const pause = (ms: number, untilMs: number) =>
  new Promise((resolve) => setTimeout(resolve, Math.min(ms, Math.max(0, untilMs - elapsed()))))

/** Traffic, weather and readings until then, and what is held when all of it has ended. */
async function phase(untilMs: number) {
  const trainers = Array.from({ length: 4 }, (_, worker) => traffic(worker, untilMs))
  await Promise.all([weather(untilMs), read(untilMs), ...trainers])
  return atRest()
}

rmSync(values.results, { force: true })
const before = await phase(warmupMs)
const after = await phase(endMs)
const judged = readings.filter(({ minute }) => minute * 60_000 > warmupMs)
const quarter = Math.max(1, Math.floor(judged.length / 4))
const rssOf = (points: readonly Reading[]) => median(points.map(({ rssMib }) => rssMib))
const [first, last] = [rssOf(judged.slice(0, quarter)), rssOf(judged.slice(-quarter))]
const growth = {
  heap: after.heapMib / before.heapMib,
  descriptors: after.descriptors / before.descriptors,
  handles: after.handles / Math.max(4, before.handles),
  rss: last / first,
}
const code = await stage.close()
const result = {
  minutes: Number(values.minutes),
  ...counts,
  rssMib: { first, last, peak: Math.max(...readings.map(({ rssMib }) => rssMib)) },
  slopeMibPerHour: Math.round(slope(judged) * 60),
  atRest: { before, after },
  growth,
  violations: violations.length,
  exit: code,
}
process.stdout.write(`${JSON.stringify(result, null, 1)}\n${violations.slice(0, 50).join('\n')}\n`)
if (values.plot) writeFileSync(values.plot, soakPlot(readings))
const isFlat = Object.values(growth).every((ratio) => ratio < Number(values.limit))
if (violations.length > 0 || code !== 0 || !isFlat) process.exitCode = 1

function median(values: readonly number[]): number {
  return [...values].sort((a, b) => a - b)[values.length >> 1] ?? 0
}

/** Least squares, MiB a minute. */
function slope(points: readonly Reading[]): number {
  const x = points.reduce((sum, { minute }) => sum + minute, 0) / points.length
  const y = points.reduce((sum, { rssMib }) => sum + rssMib, 0) / points.length
  const over = points.reduce((sum, { minute, rssMib }) => sum + (minute - x) * (rssMib - y), 0)
  return over / points.reduce((sum, { minute }) => sum + (minute - x) ** 2, 0)
}
