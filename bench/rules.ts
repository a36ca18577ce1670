/** Server CPU per rule-scored sample, against FastAPI and uvicorn with the same rule (bench/peer.py), in interleaved pairs. */
import { deepStrictEqual } from 'node:assert'
import { execFileSync } from 'node:child_process'
import { existsSync } from 'node:fs'
import { cpus } from 'node:os'
import { join } from 'node:path'
import { applyLoad, median } from './load.ts'
import { type MeasuredProcess, startMeasured } from './measured-process.ts'

const here = import.meta.dirname
const venv = join(here, '.venv')
if (!existsSync(venv)) {
  execFileSync('python3', ['-m', 'venv', venv])
  execFileSync(join(venv, 'bin/pip'), ['install', '-q', 'fastapi', 'uvicorn[standard]'], {
    stdio: 'inherit',
  })
}

const filler = 'We add the apples of the first day to those of the second day, and then we count again. '
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
    response: `${filler.repeat(11).slice(0, 1000)}${answer}`,
    ground_truth: truth,
    data_source: 'bench',
  }
})
const singles = samples.map((sample) => [sample])
const batches = [samples.slice(0, 256), samples.slice(256)]

const gateway = await startMeasured(
  [
    'node',
    'dist/src/cli/main.js',
    'serve',
    '--config',
    'bench/configs',
    '--port',
    '8491',
    '--log-level',
    'warn',
  ],
  'http://127.0.0.1:8491',
  '/livez',
)
const peer = await startMeasured(
  [
    join(venv, 'bin/uvicorn'),
    'peer:app',
    '--app-dir',
    here,
    '--port',
    '8492',
    '--no-access-log',
    '--log-level',
    'warning',
  ],
  'http://127.0.0.1:8492',
  '/openapi.json',
)

/** Every result of an answer, whole; numbers are compared as JSON.parse reads them. */
const resultsOf = (answer: unknown) => (answer as { results: unknown[] }).results

const bodiesOf = (groups: typeof singles) =>
  groups.map((group) => JSON.stringify({ reward: 'rule', samples: group }))

/** Throws unless both answer every request of a shape with the same results, order and all. */
async function requireEqualResults(groups: typeof singles): Promise<void> {
  const ask = async ({ url }: MeasuredProcess, body: string) => {
    const headers = { 'content-type': 'application/json' }
    return resultsOf(await (await fetch(`${url}/v1/score`, { method: 'POST', headers, body })).json())
  }
  for (const body of bodiesOf(groups)) deepStrictEqual(await ask(gateway, body), await ask(peer, body))
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
  { name: 'single, 1 KB', groups: singles, requests: 6000, concurrency: 32 },
  { name: 'batches of 256', groups: batches, requests: 160, concurrency: 8 },
]
console.log(
  `${cpus()[0]?.model}, node ${process.version}; CPU ms of the server for each sample, medians of 5 interleaved pairs`,
)
for (const { name, groups, requests, concurrency } of shapes) {
  const run = (server: MeasuredProcess, share = 1) =>
    measure(server, groups, Math.ceil(requests * share), concurrency)
  await requireEqualResults(groups)
  await run(gateway, 0.3)
  await run(peer, 0.3)
  const pairs: { ours: number; theirs: number; rates: number }[] = []
  for (let pair = 0; pair < 5; pair++) {
    const a = await run(gateway)
    const b = await run(peer)
    pairs.push({ ours: a.cpuMs, theirs: b.cpuMs, rates: a.perSecond / b.perSecond })
  }
  const ratio = median(pairs.map((pair) => pair.theirs / pair.ours))
  console.log(
    `${name}: gateway ${median(pairs.map((pair) => pair.ours)).toFixed(4)}, peer ${median(pairs.map((pair) => pair.theirs)).toFixed(4)}, ` +
      `peer/gateway ${ratio.toFixed(2)} (pairs ${pairs.map((pair) => (pair.theirs / pair.ours).toFixed(2)).join(' ')}); ` +
      `throughput ratio ${median(pairs.map((pair) => pair.rates)).toFixed(2)}`,
  )
}
await Promise.all([gateway.stop(), peer.stop()])
