import { readFileSync } from 'node:fs'
import t from 'tap'
import { ModelTime } from '../../src/gateway/gateway.ts'
import { createApp } from '../../src/http/app.ts'
import type { Instruments } from '../../src/telemetry/instruments.ts'
import { metricsBy, openMetrics } from '../../src/telemetry/metrics.ts'
import { fakeClock } from '../support/clock.ts'
import { testGateway } from '../support/gateway.ts'
import { completion, json, scriptedServer } from '../support/scripted-server.ts'

/** Instruments that count nothing and remember what they were asked for. */
function remembering(): { readonly make: Instruments; readonly families: Map<string, readonly string[]> } {
  const families = new Map<string, readonly string[]>()
  const remember = (name: string, labels: readonly string[]) => {
    families.set(name, labels)
    return () => {}
  }
  return {
    families,
    make: {
      counter: (name, _help, labels) => remember(name, labels),
      histogram: (name, _help, labels) => remember(name, labels),
      gauge: (name, _help, _read, labels = {}) => void remember(name, Object.keys(labels)),
      read: (_type, name, _help, labels) => void remember(name, labels),
    },
  }
}

t.test('every metric has its row with its labels on docs/operations.md, and no row is of none', async (t) => {
  const { make, families } = remembering()
  metricsBy(make, { version: 'test', inFlight: () => 0 })
  const page = readFileSync('docs/operations.md', 'utf8')
  const section = page.split(/^## /m).find((text) => text.startsWith('Metrics\n')) ?? ''
  const rows = [...section.matchAll(/^\| `(\w+)` \|([\w, ]*)\|/gm)]
  const told = Object.fromEntries(
    rows.map(([, name = '', labels = '']) => [name, labels.trim().split(', ').filter(Boolean)]),
  )
  const own = Object.fromEntries([...families].filter(([name]) => !name.startsWith('run_')))
  t.ok(Object.keys(own).length > 30)
  t.strictSame(told, own)

  const metrics = openMetrics({ version: 'test', inFlight: () => 0 })
  const { text } = await metrics.expose()
  metrics.close()
  const exposed = [...text.matchAll(/^# TYPE reward_gateway_(\w+)/gm)].map(([, name = '']) => name)
  const standard = exposed.filter((name) => /^(process|nodejs)_/.test(name))
  t.strictSame(new Set(exposed), new Set([...families.keys(), ...standard]), 'what is made is what is served')
  for (const name of [
    'nodejs_eventloop_lag_p99_seconds',
    'nodejs_heap_size_used_bytes',
    'process_cpu_seconds_total',
  ])
    t.ok(standard.includes(name), name)
})

t.test('a request is at its models from its first question until none is under way', async (t) => {
  const time = new ModelTime()
  t.equal(time.until(5), 0)
  time.begin(10)
  time.begin(15)
  time.end(20)
  t.equal(time.until(22), 12)
  time.end(30)
  t.equal(time.until(99), 20)
  time.begin(100)
  time.end(101)
  t.equal(time.until(200), 21)
})

const [trainer, reader] = ['trainer-key-0123456789', 'reader-key-01234567890']
const bearer = (key: string) => ({ authorization: `Bearer ${key}` })

t.test('what the gateway took itself is told apart, and no request makes series of its own', async (t) => {
  const held: (() => void)[] = []
  const server = await scriptedServer((seen, response) => {
    held.push(() => json(response, completion(seen, '1')))
  })
  t.teardown(() => server.kill())
  const clock = fakeClock()
  const judge = { model: 'm', instances: [server.url], health: { interval_s: 0 } }
  const metrics = openMetrics({
    version: 'test',
    inFlight: () => gateway.inFlight,
    models: () => gateway.models(),
    runs: () => gateway.runs(),
  })
  const gateway = await testGateway(
    t,
    {
      gateway: {
        models: { judge },
        keys: {
          trainer: { env: 'TRAINER', scopes: ['score'], rate_per_s: 100 },
          reader: { env: 'READER', scopes: ['read'] },
        },
      },
      judged: { steps: [{ name: 'q', function: 'digit-judge', model: 'judge' }] },
      ruled: { steps: [{ name: 'rule', function: 'echo-rule' }] },
    },
    { clock, events: metrics, env: { TRAINER: trainer, READER: reader } },
  )
  const app = await createApp({ gateway, metrics, bodyLimit: 1 << 20, clock })
  t.teardown(async () => {
    await app.close()
    metrics.close()
  })
  const post = (url: string, payload: object, key = trainer) =>
    app.inject({ method: 'POST', url, headers: bearer(key), payload })
  const exposition = async () => (await app.inject({ url: '/metrics', headers: bearer(reader) })).body
  const figure = async (line: string) => {
    const [, value] = new RegExp(`^reward_gateway_${line} (.*)$`, 'm').exec(await exposition()) ?? []
    return value === undefined ? null : Number(value)
  }

  const judged = post('/v1/score', { reward: 'judged', samples: [{ response: '1' }, { response: '2' }] })
  await server.saw(2)
  clock.advance(30_000)
  for (const reply of held.splice(0)) reply()
  t.equal((await judged).statusCode, 200)
  const [count, sum] = ['count', 'sum'].map((end) => `request_overhead_seconds_${end}{route="/v1/score"}`)
  t.equal(await figure(count ?? ''), 1)
  t.equal(await figure(sum ?? ''), 0, 'the half minute at the judge is none of its own')
  t.equal((await post('/v1/score', { reward: 'ruled', samples: [{ response: '1' }] })).statusCode, 200)
  t.equal(await figure(count ?? ''), 2)
  t.ok(((await figure(sum ?? '')) ?? 0) > 0)

  const body = { query: ['p1', 'p1'], prompts: ['p', 'p'] }
  for (const _ of [1, 2, 3]) t.equal((await post('/wire/openrlhf/ruled', body)).statusCode, 200)
  t.equal(await figure('repeats_total{wire="openrlhf"}'), 2)
  t.equal(await figure('samples_total{reward="ruled",valid="true"}'), 3, 'a repeat is scored once')

  for (let at = 0; at < 200; at++)
    await post('/v1/score', { reward: `no-${at}`, samples: [{ response: '1' }] })
  t.ok(((await figure('key_refusals_total{key="trainer",why="rate"}')) ?? 0) > 90)
  clock.advance(60_000)
  // Names that only requests know: each may make series for a bounded number of runs, and none else.
  const seriesOf = (text: string) => text.split('\n').filter((line) => line && !line.startsWith('#'))
  for (const name of Array.from({ length: 40 }, (_, at) => `a${at}`)) {
    await post('/v1/score', { reward: 'ruled', run: name, samples: [{ id: name, response: '1' }] })
    await post(`/wire/openrlhf/${name}`, body)
    await app.inject({ url: `/nowhere/${name}`, headers: bearer(reader) })
    await post('/v1/completions', { model: name, prompt: 'p' })
    await app.inject({ method: 'POST', url: `/v1/score?${name}`, headers: bearer(`${name}-0123456789abc`) })
  }
  await new Promise((resolve) => setImmediate(resolve))
  const lines = seriesOf(await exposition())
  const named = lines.filter((line) => /"a\d+"/.test(line))
  const runs = new Set(named.map((line) => /run="(\w+)"/.exec(line)?.[1]))
  t.ok(runs.size > 0 && runs.size <= 16, `${runs.size} runs`)
  t.strictSame(
    named.filter((line) => !line.startsWith('reward_gateway_run_')),
    [],
  )
})
