/**
 * The queue with very many rollouts. First a store alone, in which rollouts are accepted and finished in turn, in simulated time. Then
 * the gateway: as many rollouts in one run as in many runs, rollouts that wait for the others of their groups, a start with them,
 * and what cancels half of them. Then single rows from Python that are awaited at once, in a run and as held requests.
 */
import { execFileSync } from 'node:child_process'
import { mkdtempSync, readdirSync, readlinkSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { systemClock } from '../src/core/clock.ts'
import { RunStore } from '../src/serving/queue/run-store.ts'
import { collectGarbage } from '../test/support/held-texts.ts'
import { type MeasuredProcess, startGateway } from './measured-process.ts'
import { pythonEnvironment } from './python-environment.ts'
import { median } from './quantile.ts'

const { values } = parseArgs({
  options: {
    rollouts: { type: 'string', default: '1000000' },
    runs: { type: 'string', default: '2000' },
    waiting: { type: 'string', default: '80000' },
    folder: { type: 'string', default: tmpdir() },
  },
})
const port = 8493
const newFolder = (): string => mkdtempSync(join(values.folder, 'bench-queue-many-'))

/** A millisecond passes with each rollout; finals are kept for 60 s of them. */
async function inTurn(count: number): Promise<void> {
  const folder = newFolder()
  const together = 250
  const piece = count / 10
  let now = 1_000_000
  const store = RunStore.create(folder, 'bench', {
    clock: systemClock,
    wallClock: () => now,
    commitMs: 0,
    segmentBytes: 64 * 2 ** 20,
    keepMs: 60_000,
  })
  console.log(`${count} rollouts in turn, the store alone\n rollouts  CPU, s  heap, MiB  log, MiB`)
  let [began, mostBytes] = [process.cpuUsage(), 0]
  for (let done = 0; done < count; done += together) {
    const uids = Array.from({ length: together }, (_, at) => String(done + at))
    const deadline = now + 1e6
    const sent = await Promise.all(
      uids.map((uid) =>
        store.submit({
          uid,
          digest: uid,
          deadline,
          reward: 'rule',
          priority: 0,
          body: Buffer.from(`{"a":${uid}}`),
        }),
      ),
    )
    const open = sent.flatMap(({ pending }) => pending ?? [])
    await Promise.all(
      open.map((pending) => store.finish([{ pending, state: 'scored', result: '{"reward":1}' }])),
    )
    now += together
    store.expire()
    // As often as a gateway does: every five seconds.
    if ((done / together) % 20 === 0) await store.compact()
    mostBytes = Math.max(mostBytes, store.bytes)
    if ((done + together) % piece !== 0) continue
    const { user, system } = process.cpuUsage(began)
    collectGarbage()
    const heap = process.memoryUsage().heapUsed
    console.log(row(done + together, (user + system) / 1e6, heap / 2 ** 20, mostBytes / 2 ** 20))
    ;[began, mostBytes] = [process.cpuUsage(), 0]
  }
  await store.close()
  rmSync(folder, { recursive: true })
}

const row = (...cells: readonly number[]): string =>
  cells.map((cell) => (Number.isInteger(cell) ? String(cell) : cell.toFixed(2)).padStart(9)).join(' ')

/** Serves a folder, whose configs it writes, with a queue that takes everything. */
async function serve(folder: string): Promise<MeasuredProcess> {
  const queue = { folder: './log', max_runs: 10_000, max_rollouts: 1_000_000 }
  const right = { name: 'right', function: 'exact-match' }
  const options = { kind: 'kimi', unit: 'characters' }
  const length = { name: 'length', function: 'group-length', after: ['right'], options }
  write(folder, 'gateway', { queue })
  write(folder, 'rule', { steps: [right] })
  write(folder, 'grouped', { steps: [right, length] })
  return startGateway(folder, port)
}

const write = (folder: string, name: string, config: object): void =>
  writeFileSync(join(folder, `${name}.json`), JSON.stringify(config))

async function send(path: string, body?: string, type = 'application/json') {
  const url = `http://127.0.0.1:${port}${path}`
  const headers = { 'content-type': type }
  const reply = await fetch(url, body === undefined ? {} : { method: 'POST', headers, body })
  const text = await reply.text()
  if (reply.status >= 300) throw new Error(`${path}: ${reply.status} ${text.slice(0, 300)}`)
  return text
}

const submit = (run: string, lines: readonly object[]): Promise<string> =>
  send(
    `/v1/runs/${run}/rollouts`,
    lines.map((line) => JSON.stringify(line)).join('\n'),
    'application/x-ndjson',
  )

async function metric(name: string): Promise<number> {
  const line = (await send('/metrics')).split('\n').find((one) => one.startsWith(`${name} `))
  return Number(line?.slice(name.length))
}

async function untilFinished(): Promise<void> {
  while ((JSON.parse(await send('/v1/queue')) as { unfinished: number }).unfinished > 0)
    await new Promise((resolve) => setTimeout(resolve, 100))
}

/** The CPU of the gateway for a rollout, with 16 rollouts for each of the runs, and then all of them in one. */
async function inRuns(runs: number): Promise<void> {
  const folder = newFolder()
  const gateway = await serve(folder)
  const each = 16
  const sample = { response: '42', ground_truth: '42' }
  const costs: string[] = []
  let mostFiles = 0
  for (const [name, runOf] of [
    ['', (at: number) => `warm-${at % 4}`],
    [`${runs} runs`, (at: number) => `many-${at % runs}`],
    ['one run', () => 'one'],
  ] as const) {
    const before = gateway.cpuSeconds()
    // A request brings four rollouts of one run.
    for (let at = 0; at < (runs * each) / 4; at += 32) {
      const requests = Array.from({ length: 32 }, (_, k) =>
        submit(
          runOf(at + k),
          Array.from({ length: 4 }, (_, part) => ({ uid: `${at + k}-${part}`, reward: 'rule', sample })),
        ),
      )
      await Promise.all(requests)
      mostFiles = Math.max(mostFiles, openLogs(gateway.pid, folder))
    }
    await untilFinished()
    const cost = ((gateway.cpuSeconds() - before) * 1000) / (runs * each)
    if (name) costs.push(`${name} ${cost.toFixed(3)}`)
  }
  console.log(
    `\n${runs * each} rollouts, CPU of the gateway in ms each: ${costs.join(', ')}; at most ${mostFiles} files of logs open`,
  )
  await gateway.stop()
  rmSync(folder, { recursive: true })
}

const openLogs = (pid: number, folder: string): number =>
  readdirSync(`/proc/${pid}/fd`).filter((name) => {
    try {
      return readlinkSync(`/proc/${pid}/fd/${name}`).startsWith(join(folder, 'log', 'run-'))
    } catch {
      return false
    }
  }).length

/** Half of each group never comes. */
async function inGroups(count: number): Promise<void> {
  const folder = newFolder()
  const starts: string[] = []
  const start = async (): Promise<MeasuredProcess> => {
    const began = performance.now()
    const gateway = await serve(folder)
    starts.push(((performance.now() - began) / 1000).toFixed(1))
    return gateway
  }
  let gateway = await start()
  const sample = (at: number) => ({
    ...{ response: '42', ground_truth: '42', group_id: String(at), group_size: 2 },
    policy_version: at % 2,
  })
  const rss = [gateway.rssMib()]
  for (let at = 0; at < count; at += 1000)
    await submit(
      'waiting',
      Array.from({ length: 1000 }, (_, k) => ({
        uid: String(at + k),
        reward: 'grouped',
        sample: sample(at + k),
      })),
    )
  rss.push(gateway.rssMib())
  await gateway.stop()
  gateway = await start()
  const heap = await metric('reward_gateway_nodejs_heap_size_used_bytes')
  rss.push(gateway.rssMib())
  // The longest lag is that since the last reading.
  await send('/metrics')
  const from = performance.now()
  const { cancelled } = JSON.parse(await send('/v1/runs/waiting/cancel', '{"policy_version_below":1}'))
  const seconds = (performance.now() - from) / 1000
  const blocked = await metric('reward_gateway_nodejs_eventloop_lag_max_seconds')
  console.log(
    `\n${count} rollouts wait: ${rss.map((mib) => mib.toFixed(0)).join(', ')} MiB resident before, with them, and after a start; heap ${(heap / 2 ** 20).toFixed(0)} MiB`,
    `\nthe start takes ${starts[1]} s instead of ${starts[0]} s; ${cancelled} are cancelled in ${seconds.toFixed(1)} s, the event loop was blocked for ${(blocked * 1000).toFixed(0)} ms at most`,
  )
  await gateway.stop()
  rmSync(folder, { recursive: true })
}

/** Medians of three rounds, in which the two take turns. */
async function fromPython(): Promise<void> {
  const folder = newFolder()
  const gateway = await serve(folder)
  const python = join(
    pythonEnvironment('.venv-queue', [join(import.meta.dirname, '../clients/python')]),
    'python',
  )
  const costs = new Map<string, { client: number[]; server: number[] }>()
  const rows = 2048
  for (let round = 0; round < 4; round++)
    for (const way of ['run', 'held']) {
      const before = gateway.cpuSeconds()
      const script = join(import.meta.dirname, 'queue_client.py')
      const args = [script, way, gateway.url, `${way}-${round}`, String(rows)]
      const client = Number(execFileSync(python, args, { encoding: 'utf8' }))
      const server = gateway.cpuSeconds() - before
      const known = costs.get(way) ?? { client: [], server: [] }
      costs.set(way, known)
      // The first round warms up.
      if (round === 0) continue
      known.client.push((client * 1000) / rows)
      known.server.push((server * 1000) / rows)
    }
  console.log(`\n${rows} rows of 4 KB from Python, CPU in ms each: of the trainer, of the gateway`)
  for (const [way, { client, server }] of costs)
    console.log(way.padEnd(6), row(median(client), median(server)))
  await gateway.stop()
  rmSync(folder, { recursive: true })
}

await inTurn(Number(values.rollouts))
await inRuns(Number(values.runs))
await inGroups(Number(values.waiting))
await fromPython()
