/**
 * What durable submission costs. First the store alone: 64 clients submit rollouts to a log on this disk, with several times that the
 * first record waits for others (`commit_ms`). Then the gateway: processor time, disk and latency of a row whose rule scores it,
 * submitted alone, in NDJSON batches of 256 and, for comparison, in held requests, in interleaved rounds.
 *
 * `--kib 4,52` sets the sizes of responses, `--rows` how many of each, `--folder` the disk.
 */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { Pool } from 'undici'
import { systemClock } from '../src/core/clock.ts'
import { RunStore } from '../src/serving/queue/run-store.ts'
import { type MeasuredProcess, startGateway } from './measured-process.ts'
import { prose } from './prose.ts'
import { median, quantile } from './quantile.ts'

const { values } = parseArgs({
  options: {
    kib: { type: 'string', default: '4,52' },
    rows: { type: 'string', default: '2048' },
    rounds: { type: 'string', default: '3' },
    folder: { type: 'string', default: tmpdir() },
  },
})
const rows = Number(values.rows)
const rounds = Number(values.rounds)
const clients = 64
const batch = 256

const bodyOf = (kib: number, index: number): object => ({
  reward: 'rule',
  sample: { prompt: 'How many?', response: `${prose(1000 * kib)}#### ${index}`, ground_truth: String(index) },
})

/** Runs `work` for each row, so many at a time. Returns the milliseconds of each and of all. */
async function timed(count: number, atOnce: number, work: (index: number) => Promise<unknown>) {
  const each: number[] = []
  let next = 0
  const began = performance.now()
  const worker = async () => {
    while (next < count) {
      const index = next++
      const from = performance.now()
      await work(index)
      each.push(performance.now() - from)
    }
  }
  await Promise.all(Array.from({ length: atOnce }, worker))
  return { each, seconds: (performance.now() - began) / 1000 }
}

const shown = (value: number, digits = 1): string => value.toFixed(digits).padStart(8)

async function storeAlone(kib: number, commitMs: number): Promise<void> {
  const folder = mkdtempSync(join(values.folder, 'bench-queue-'))
  let commits = 0
  const syncs: number[] = []
  const committed = (_error: unknown, _bytes: number, ms: number) => {
    commits += 1
    syncs.push(ms)
  }
  const limits = { segmentBytes: 64 * 1024 * 1024, keepMs: 3_600_000, committed }
  const store = RunStore.create(folder, 'bench', {
    clock: systemClock,
    wallClock: Date.now,
    commitMs,
    ...limits,
  })
  const { each, seconds } = await timed(rows, clients, (index) => {
    const body = Buffer.from(JSON.stringify(bodyOf(kib, index)))
    const facts = { digest: String(index), deadline: Date.now() + 1e6, reward: 'rule', priority: 0 }
    return store.submit({ uid: String(index), ...facts, body })
  })
  const ends = await timed(1, 1, () =>
    Promise.all(
      [...store.state.pending].map((pending) =>
        store.finish([{ pending, state: 'scored', result: '{"reward":1}' }]),
      ),
    ),
  )
  const bytes = store.bytes
  await store.close()
  const opened = await timed(1, 1, async () =>
    (await RunStore.open(folder, { clock: systemClock, wallClock: Date.now, commitMs, ...limits }))?.close(),
  )
  rmSync(folder, { recursive: true })
  console.log(
    `${String(kib).padStart(4)} ${String(commitMs).padStart(9)} ${shown(rows / seconds, 0)} ${shown(median(each))} ${shown(quantile(each, 0.99))} ${shown(rows / commits)} ${shown(median(syncs))} ${shown(bytes / rows, 0)} ${shown(ends.seconds * 1000, 0)} ${shown(opened.seconds * 1000, 0)}`,
  )
}

console.log(`store alone, ${rows} rollouts, ${clients} clients`)
console.log(' KiB commit_ms   rows/s  p50, ms  p99, ms  rows/fsync commit,ms bytes/row finals,ms  open,ms')
for (const kib of values.kib.split(',').map(Number))
  for (const commitMs of [0, 2, 10, 20]) await storeAlone(kib, commitMs)

const folder = mkdtempSync(join(values.folder, 'bench-queue-'))
writeFileSync(
  join(folder, 'gateway.yaml'),
  JSON.stringify({ queue: { folder: './log', max_bytes: 2 ** 40 } }),
)
writeFileSync(
  join(folder, 'rule.yaml'),
  JSON.stringify({
    steps: [{ name: 'rule', function: 'gsm8k-progressive', options: { mode: 'published' } }],
  }),
)
const gateway = await startGateway(folder, 8493)
const pool = new Pool(gateway.url, { connections: clients, headersTimeout: 0, bodyTimeout: 0 })

async function send(method: 'PUT' | 'POST' | 'GET', path: string, body?: string, type = 'application/json') {
  const reply = await pool.request({
    method,
    path,
    headers: { 'content-type': type },
    ...(body !== undefined && { body }),
  })
  const text = await reply.body.text()
  if (reply.statusCode >= 300) throw new Error(`${path}: ${reply.statusCode} ${text.slice(0, 300)}`)
  return JSON.parse(text)
}

let round = 0
/** Reads all finals of a run. */
async function readAll(run: string): Promise<void> {
  let cursor = ''
  for (let read = 0; read < rows; ) {
    const json = await send('GET', `/v1/runs/${run}/rewards?wait_s=20&after=${cursor}`)
    read += json.results.length
    cursor = json.cursor
  }
}

const ways = {
  held: async (kib: number) => {
    await timed(rows, clients, (index) => {
      const { reward, sample } = bodyOf(kib, index) as { reward: string; sample: object }
      return send('POST', '/v1/score', JSON.stringify({ reward, samples: [sample] }))
    })
  },
  put: async (kib: number) => {
    const run = `put-${round++}`
    const reading = readAll(run)
    await timed(rows, clients, (index) =>
      send('PUT', `/v1/runs/${run}/rollouts/${index}`, JSON.stringify(bodyOf(kib, index))),
    )
    await reading
  },
  ndjson: async (kib: number) => {
    const run = `ndjson-${round++}`
    const reading = readAll(run)
    await timed(Math.ceil(rows / batch), 4, (index) => {
      const lines = Array.from({ length: batch }, (_, k) =>
        JSON.stringify({ uid: String(index * batch + k), ...bodyOf(kib, index * batch + k) }),
      )
      return send('POST', `/v1/runs/${run}/rollouts`, lines.join('\n'), 'application/x-ndjson')
    })
    await reading
  },
}

console.log(
  `\ngateway, ${rows} rollouts, CPU of the gateway's process in ms a row, median of ${rounds} interleaved rounds`,
)
console.log(' KiB   held      put   ndjson')
for (const kib of values.kib.split(',').map(Number)) {
  const costs: Record<string, number[]> = { held: [], put: [], ndjson: [] }
  for (let k = -1; k < rounds; k += 1)
    for (const [name, way] of Object.entries(ways)) {
      const before = (gateway as MeasuredProcess).cpuSeconds()
      await way(kib)
      // The first round warms up.
      if (k >= 0) costs[name]?.push(((gateway.cpuSeconds() - before) * 1000) / rows)
    }
  console.log(
    `${String(kib).padStart(4)} ${Object.values(costs)
      .map((all) => shown(median(all), 3))
      .join(' ')}`,
  )
}
console.log(`resident memory of the gateway: ${gateway.rssMib().toFixed(0)} MiB`)
await pool.close()
await gateway.stop()
rmSync(folder, { recursive: true })
