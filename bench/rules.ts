/**
 * Server CPU per rule-scored sample, against FastAPI and uvicorn with the same rule (bench/peer.py) and against the least
 * that Fastify and a worker thread cost (bench/floor.ts), in interleaved rounds; and the bare Python function in process.
 * `--kib 4` makes the responses longer.
 */
import { deepStrictEqual } from 'node:assert'
import { execFileSync } from 'node:child_process'
import { cpus } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { applyLoad } from './load.ts'
import { type MeasuredProcess, startGateway, startMeasured, startScript } from './measured-process.ts'
import { prose } from './prose.ts'
import { pythonEnvironment } from './python-environment.ts'
import { median } from './quantile.ts'

const { values } = parseArgs({ options: { kib: { type: 'string', default: '1' } } })
const kib = Number(values.kib)
const here = import.meta.dirname
const python = pythonEnvironment('.venv', ['fastapi', 'uvicorn[standard]'])

const samples = Array.from({ length: 512 }, (_, index) => {
  const truth = String(index * 7)
  const answer =
    index % 4 === 0
      ? `#### ${truth}`
      : index % 4 === 1
        ? `#### ${index}`
        : index % 4 === 2
          ? `so ${truth}`
          : 'none'
  return {
    id: String(index),
    prompt: 'How many apples are there?',
    response: `${prose(1000 * kib)}${answer}`,
    ground_truth: truth,
    data_source: 'bench',
  }
})
const singles = samples.map((sample) => [sample])
const batches = [samples.slice(0, 256), samples.slice(256)]

const gateway = await startGateway('bench/configs/rule.yaml', 8491)
const uvicorn = ['--app-dir', here, '--port', '8492', '--no-access-log', '--log-level', 'warning']
const peer = await startMeasured([join(python, 'uvicorn'), 'peer:app', ...uvicorn], 8492, '/openapi.json')
const floor = await startScript('floor', 8496)

/** Every result of an answer, whole; numbers are compared as JSON.parse reads them. */
const resultsOf = (answer: unknown) => (answer as { results: unknown[] }).results

const bodiesOf = (groups: typeof singles) =>
  groups.map((group) => JSON.stringify({ reward: 'rule', samples: group }))

/** Throws unless all answer every request of a shape with the same results, order and all. */
async function requireEqualResults(groups: typeof singles): Promise<void> {
  const ask = async ({ url }: MeasuredProcess, body: string) => {
    const headers = { 'content-type': 'application/json' }
    return resultsOf(await (await fetch(`${url}/v1/score`, { method: 'POST', headers, body })).json())
  }
  for (const body of bodiesOf(groups)) {
    const expected = await ask(peer, body)
    for (const server of [gateway, floor]) deepStrictEqual(await ask(server, body), expected)
  }
}

async function measure(
  server: MeasuredProcess,
  groups: typeof singles,
  requests: number,
  concurrency: number,
) {
  const before = server.cpuSeconds()
  const { seconds } = await applyLoad({
    url: server.url,
    path: '/v1/score',
    bodies: bodiesOf(groups),
    requests,
    concurrency,
  })
  const rows = requests * (groups[0]?.length ?? 1)
  return {
    cpuMs: ((server.cpuSeconds() - before) * 1000) / rows,
    perSecond: rows / seconds,
  }
}

const shapes = [
  { name: 'single', groups: singles, requests: 6000, concurrency: 32 },
  { name: 'batches of 256', groups: batches, requests: Math.ceil(400 / Math.sqrt(kib)), concurrency: 8 },
]
console.log(
  `${cpus()[0]?.model}, node ${process.version}; CPU ms of the server for each sample, medians of 5 interleaved rounds; ${kib} KB`,
)
const inProcess = execFileSync(join(python, 'python'), [join(here, 'peer.py')], {
  input: JSON.stringify(samples),
})
console.log(`the Python function in process, without a server: ${Number(inProcess).toFixed(4)}`)
for (const { name, groups, requests, concurrency } of shapes) {
  const run = (server: MeasuredProcess, share = 1) =>
    measure(server, groups, Math.ceil(requests * share), concurrency)
  await requireEqualResults(groups)
  for (const server of [gateway, peer, floor]) await run(server)
  const rounds: { ours: number; theirs: number; least: number; rates: number }[] = []
  for (let round = 0; round < 5; round++) {
    const a = await run(gateway)
    const b = await run(peer)
    const { cpuMs: least } = await run(floor)
    rounds.push({ ours: a.cpuMs, theirs: b.cpuMs, least, rates: a.perSecond / b.perSecond })
  }
  const ms = (of: 'ours' | 'theirs' | 'least') => median(rounds.map((round) => round[of])).toFixed(4)
  const ratios = rounds.map(({ ours, theirs }) => theirs / ours)
  console.log(
    `${name}: gateway ${ms('ours')}, peer ${ms('theirs')}, floor ${ms('least')}; ` +
      `peer/gateway ${median(ratios).toFixed(2)} (${ratios.map((ratio) => ratio.toFixed(2)).join(' ')}), ` +
      `peer/floor ${median(rounds.map(({ theirs, least }) => theirs / least)).toFixed(2)}; ` +
      `throughput ratio ${median(rounds.map(({ rates }) => rates)).toFixed(2)}`,
  )
}
await Promise.all([gateway.stop(), peer.stop(), floor.stop()])
