/**
 * 1,024 samples with two judgements each on four servers, one of them five times slower: the dispatcher's makespan beside
 * the least possible and beside static shards. Time is virtual; `--real SEED` runs one seed over sockets, with everything
 * four times slower so that this machine's own time does not count.
 */
import { performance } from 'node:perf_hooks'
import { parseArgs } from 'node:util'
import { cyrb53 } from '../src/core/hash.ts'
import { seeded } from '../src/core/statistics/random.ts'
import { answerCache } from '../src/scoring/models/dispatch/answer-cache.ts'
import type { AskRequest } from '../src/scoring/models/interface/ask.ts'
import { modelConfig } from '../src/scoring/models/interface/model-config.ts'
import { GpuTenants } from '../src/scoring/models/memory/gpu-tenants.ts'
import { openModels } from '../src/scoring/models/models.ts'
import { openModel } from '../src/scoring/models/open-model.ts'
import { QueueMemory } from '../src/scoring/models/pool/capacity.ts'
import { startSimulatedServer } from '../src/simulator/index.ts'
import { latencyMs } from '../src/simulator/model.ts'
import { Attempts } from '../src/simulator/options.ts'
import { VirtualTime } from '../test/support/virtual-time.ts'
import { median, quantile } from './quantile.ts'
import { VirtualServers } from './virtual-servers.ts'

const slowness = 4
const samples = 1024
const judges = 2
const places = 64
const speeds = [1, 1, 1, 0.2]
const latency = { medianMs: 300, sigma: 0.8 }
const slots = speeds.reduce((sum, speed) => sum + speed, 0) * places
const addresses = speeds.map((_, at) => `http://127.0.0.${at + 1}:1`)
const questions = Array.from({ length: samples * judges }, (_, at) => at)

/** As the simulated server draws it for this text. */
const drawn = (seed: number, question: number, attempt: number): number =>
  latencyMs({ ...latency, speed: 1, seed }, cyrb53(String(question)), attempt)

const configOf = (instances: readonly string[], hedging: number) =>
  modelConfig.parse({
    model: 'm',
    instances,
    max_in_flight: places,
    timeout_s: 600,
    health: { interval_s: 0 },
    hedge: { budget: hedging },
  })

const asked = (question: number, now: number): AskRequest<'generate'> => ({
  model: 'm',
  ask: 'generate',
  input: String(question),
  key: String(question),
  draw: 0,
  prefix: '',
  deadline: now + 3_600_000,
  signal,
})
const { signal } = new AbortController()

interface Run {
  readonly makespan: number
  /** Each question's time from its first call to its answer. */
  readonly latencies: readonly number[]
  readonly hedges: number
}

/** All questions at once: a sample's judges do not wait for each other, nor samples for samples. */
async function dispatched(seed: number, hedging: number): Promise<Run> {
  const clock = new VirtualTime()
  const began = new Map<string, number>()
  const attempts = new Attempts()
  const latencyOf = (question: string): number => {
    if (!began.has(question)) began.set(question, clock.now())
    return drawn(seed, Number(question), attempts.next(Number(question)))
  }
  let hedges = 0
  const { model } = openModel('m', configOf(addresses, hedging), {
    clock,
    events: { hedged: () => void hedges++ },
    random: seeded(seed),
    cache: answerCache(clock, { bytes: 1 << 20, ttlMs: 1000 }),
    queueMemory: new QueueMemory(Number.POSITIVE_INFINITY),
    registry: new VirtualServers(
      clock,
      latencyOf,
      new Map(addresses.map((address, at) => [address, speeds[at] ?? 1])),
    ),
    env: {},
    tenants: new GpuTenants(clock, {}),
  })
  const latencies = await clock.pass(
    Promise.all(
      questions.map(async (question) => {
        await model.ask(asked(question, clock.now()))
        return clock.now() - (began.get(String(question)) ?? 0)
      }),
    ),
  )
  return { makespan: clock.now(), latencies, hedges }
}

/** One judge after the other for all samples, sample i at server i modulo their number: no second call, no stealing. */
function staticShards(seed: number): number {
  let makespan = 0
  for (let judge = 0; judge < judges; judge++) {
    const ends = speeds.map((speed, server) => {
      const free = Array<number>(places).fill(0)
      for (let sample = server; sample < samples; sample += speeds.length) {
        const at = free.indexOf(Math.min(...free))
        free[at] = (free[at] ?? 0) + drawn(seed, sample * judges + judge, 0) / speed
      }
      return Math.max(...free)
    })
    makespan += Math.max(...ends)
  }
  return makespan
}

/** The same questions and servers over sockets, in real time, as if nothing were slower. */
async function real(seed: number, hedging: number): Promise<number> {
  const attempts = new Attempts()
  const servers = await Promise.all(
    speeds.map((speed) =>
      startSimulatedServer({
        model: 'm',
        policy: 'constant',
        seed,
        speed,
        attempts,
        latencyMedianMs: latency.medianMs * slowness,
        latencySigma: latency.sigma,
        maxNumSeqs: places,
      }),
    ),
  )
  const clock = { now: () => performance.now(), after: later }
  const config = configOf(
    servers.map(({ url }) => url),
    hedging,
  )
  const models = openModels({ m: config }, { clock, random: seeded(seed) })
  const started = clock.now()
  await Promise.all(questions.map((question) => models.ask(asked(question, clock.now()))))
  const makespan = (clock.now() - started) / slowness
  await models.close()
  await Promise.all(servers.map((server) => server.close()))
  return makespan
}

function later(ms: number, fn: () => void): () => void {
  const timer = setTimeout(fn, ms)
  return () => clearTimeout(timer)
}

const seconds = (ms: number): string => (ms / 1000).toFixed(2)

const { values } = parseArgs({ options: { seeds: { type: 'string' }, real: { type: 'string' } } })
if (values.real) {
  const seed = Number(values.real)
  const inTheory = await dispatched(seed, 0.05)
  console.log(
    `seed ${seed}: ${seconds(await real(seed, 0.05))} s in real time, ${seconds(inTheory.makespan)} s in virtual`,
  )
  process.exit()
}

const rows: { toIdeal: number; unhedgedToIdeal: number; gain: number; p99: number; unhedgedP99: number }[] =
  []
console.log(
  'seed  least possible  makespan  ratio  hedges  p99    | unhedged ratio  p99    | static shards  times slower',
)
for (let seed = 1; seed <= Number(values.seeds ?? 20); seed++) {
  const ideal = questions.reduce((sum, question) => sum + drawn(seed, question, 0), 0) / slots
  const with5 = await dispatched(seed, 0.05)
  const without = await dispatched(seed, 0)
  const shards = staticShards(seed)
  if (with5.hedges > 0.05 * questions.length)
    throw new Error(`${with5.hedges} second calls are over the budget`)
  const row = {
    toIdeal: with5.makespan / ideal,
    unhedgedToIdeal: without.makespan / ideal,
    gain: shards / with5.makespan,
    p99: quantile(with5.latencies, 0.99),
    unhedgedP99: quantile(without.latencies, 0.99),
  }
  rows.push(row)
  console.log(
    `${String(seed).padStart(4)}  ${seconds(ideal).padStart(12)} s  ${seconds(with5.makespan).padStart(6)} s  ${row.toIdeal.toFixed(2)}  ` +
      `${String(with5.hedges).padStart(5)}  ${seconds(row.p99)} s | ${row.unhedgedToIdeal.toFixed(2).padStart(13)}  ${seconds(row.unhedgedP99)} s | ` +
      `${seconds(shards).padStart(11)} s  ${row.gain.toFixed(1).padStart(6)}`,
  )
}
const of = (pick: (row: (typeof rows)[number]) => number) => rows.map(pick)
console.log(
  `makespan to the least possible: median ${median(of((row) => row.toIdeal)).toFixed(2)}, worst ${Math.max(...of((row) => row.toIdeal)).toFixed(2)} ` +
    `(without hedging ${median(of((row) => row.unhedgedToIdeal)).toFixed(2)}, ${Math.max(...of((row) => row.unhedgedToIdeal)).toFixed(2)}); ` +
    `static shards: at least ${Math.min(...of((row) => row.gain)).toFixed(1)} times slower; ` +
    `p99 of a question, median of seeds: ${seconds(median(of((row) => row.p99)))} s, without hedging ${seconds(median(of((row) => row.unhedgedP99)))} s`,
)
