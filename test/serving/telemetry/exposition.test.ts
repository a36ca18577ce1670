import { execFileSync, spawnSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import t from 'tap'
import { parse } from 'yaml'
import { WaitTime } from '../../../src/scoring/gateway/gateway.ts'
import { createApp } from '../../../src/serving/http/app.ts'
import type { Instruments } from '../../../src/serving/telemetry/metrics/instruments.ts'
import { metricsBy, openMetrics } from '../../../src/serving/telemetry/metrics/metrics.ts'
import { figures } from '../../../src/serving/telemetry/monitors/run-figures.ts'
import { fakeClock } from '../../support/clock.ts'
import { testGateway } from '../../support/gateway.ts'
import { completion, json, scriptedServer } from '../../support/scripted-server.ts'

/** Instruments that count nothing and record what was created. */
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

const [trainer, reader] = ['trainer-key-0123456789', 'reader-key-01234567890']
const bearer = (key: string) => ({ authorization: `Bearer ${key}` })

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
  stalls: () => gateway.stalls(),
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
    one: { steps: [{ name: 'rule', function: 'echo-rule' }] },
    grouped: { group: { wait_s: 60, min: 1 }, steps: [{ name: 'rank', function: 'rank-rule' }] },
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
const get = (url: string) => app.inject({ url, headers: bearer(reader) })
const exposition = async () => (await get('/metrics')).body
/** The value of a line of /metrics; null if there is no such line. */
const figure = async (line: string) => {
  const [, value] = new RegExp(`^reward_gateway_${line} (.*)$`, 'm').exec(await exposition()) ?? []
  return value === undefined ? null : Number(value)
}

t.test("the gateway's own time is measured separately", async (t) => {
  const lines = ['count', 'sum'].map((end) => `request_overhead_seconds_${end}{route="/v1/score"}`)
  const overhead = async () => (await Promise.all(lines.map(figure))).map(Number)

  await t.test('time at a judge is none of it', async (t) => {
    const [count = 0, sum = 0] = await overhead()
    const judged = post('/v1/score', { reward: 'judged', samples: [{ response: '1' }, { response: '2' }] })
    await server.saw(2)
    clock.advance(30_000)
    for (const reply of held.splice(0)) reply()
    t.equal((await judged).statusCode, 200)
    t.strictSame(await overhead(), [count + 1, sum])
  })

  await t.test('time in a rule is', async (t) => {
    const [count = 0, sum = 0] = await overhead()
    t.equal((await post('/v1/score', { reward: 'ruled', samples: [{ response: '1' }] })).statusCode, 200)
    const [later = 0, more = 0] = await overhead()
    t.equal(later, count + 1)
    t.ok(more > sum)
  })

  await t.test('time in which a row waits for its siblings is none of it', async (t) => {
    const [count = 0, sum = 0] = await overhead()
    const sample = { prompt: 'p', response: '1', group_id: 'g', group_size: 2, group_index: 0 }
    const early = post('/v1/score', { reward: 'grouped', samples: [sample] })
    for (let turn = 0; turn < 100; turn++) await new Promise(setImmediate)
    clock.advance(60_000)
    t.equal((await early).json().results[0].valid, true)
    t.strictSame(await overhead(), [count + 1, sum])
  })
})

const repeated = { query: ['p1', 'p1'], prompts: ['p', 'p'] }

t.test('a repeated request is counted, and scored once', async (t) => {
  const before = (await figure('samples_total{reward="ruled",valid="true"}')) ?? 0
  for (const _ of [1, 2, 3]) t.equal((await post('/wire/openrlhf/ruled', repeated)).statusCode, 200)
  t.equal(await figure('repeats_total{wire="openrlhf"}'), 2)
  t.equal(await figure('samples_total{reward="ruled",valid="true"}'), before + 2)
})

t.test('what a key is refused is counted by its name and the reason', async (t) => {
  for (let at = 0; at < 200; at++)
    await post('/v1/score', { reward: `no-${at}`, samples: [{ response: '1' }] })
  t.ok(((await figure('key_refusals_total{key="trainer",why="rate"}')) ?? 0) > 90)
  clock.advance(60_000)
})

t.test(
  'a name that only a request says makes series for a bounded number of runs, and none else',
  async (t) => {
    const seriesOf = (text: string) => text.split('\n').filter((line) => line && !line.startsWith('#'))
    for (const name of Array.from({ length: 40 }, (_, at) => `a${at}`)) {
      await post('/v1/score', { reward: 'ruled', run: name, samples: [{ id: name, response: '1' }] })
      await post(`/wire/openrlhf/${name}`, repeated)
      await get(`/nowhere/${name}`)
      await post('/v1/completions', { model: name, prompt: 'p' })
      await app.inject({ method: 'POST', url: `/v1/score?${name}`, headers: bearer(`${name}-0123456789abc`) })
    }
    await new Promise((resolve) => setImmediate(resolve))
    const named = seriesOf(await exposition()).filter((line) => /"a\d+"/.test(line))
    const runs = new Set(named.map((line) => /run="(\w+)"/.exec(line)?.[1]))
    t.ok(runs.size > 0 && runs.size <= 16, `${runs.size} runs`)
    t.strictSame(
      named.filter((line) => !line.startsWith('reward_gateway_run_')),
      [],
    )
  },
)

const alertsFile = 'docker/prometheus/alerts.yaml'
interface Rule {
  readonly alert: string
  readonly expr: string
  readonly annotations: { readonly summary: string }
}
const rules = (parse(readFileSync(alertsFile, 'utf8')) as { groups: { rules: Rule[] }[] }).groups.flatMap(
  ({ rules }) => rules,
)

t.test('the figures of a run', async (t) => {
  clock.advance(600_000) // the runs of other tests are forgotten, and what their key used up is given back
  const samples = Array.from({ length: 8 }, (_, at) => ({ response: at % 2 ? '1' : '0', group_id: at >> 2 }))
  for (const training_step of [1, 2, 3]) {
    await post('/v1/score', { reward: 'one', samples, run: 'r"1', training_step })
  }
  await new Promise((resolve) => setImmediate(resolve))
  const body = await exposition()

  await t.test('include every metric that an alert rule uses', async (t) => {
    const served = new Set([...body.matchAll(/^# TYPE (\w+)/gm)].map(([, name]) => name))
    t.not(rules.length, 0)
    for (const { alert, expr, annotations } of rules) {
      const names = [...expr.matchAll(/reward_gateway_\w+/g)].map(([name]) =>
        name.replace(/_seconds_count$/, '_seconds'),
      )
      t.ok(names.length > 0 && annotations.summary.length > 0, alert)
      for (const name of names) t.ok(served.has(name), `${alert}: ${name}`)
    }
  })

  await t.test('are at /metrics, by run', async (t) => {
    // The rule's scores are in -1 to 2.
    t.ok(body.includes('reward_gateway_run_group_variance{reward="one",run="r\\"1"} 0.02777'))
    t.ok(
      body.includes('reward_gateway_run_alarms_total{reward="one",run="r\\"1",figure="drift",step="rule"} 0'),
    )
  })

  await t.test('are at /stats, each with its value, bounds and standing', async (t) => {
    const stats = (await get('/v1/rewards/one/stats')).json()
    t.match(stats, {
      reward: 'one',
      version: /^[0-9a-f]{16}$/,
      runs: [
        { run: 'r"1', training_step: 3, rows: 24, groups: 6, terms: { rule: { mean: 0.5, scored: 24 } } },
      ],
    })
    t.strictSame(
      Object.keys(stats.runs[0].figures),
      figures.map(({ name }) => name),
    )
    t.match(stats.runs[0].figures.group_variance, {
      value: 0.25 / 9,
      standing: 'unknown',
      low: 0.01,
      high: null,
    })
    t.equal((await get('/v1/rewards/two/stats')).statusCode, 404)
  })

  await t.test('are in the description of the API', async (t) => {
    const openapi = (await get('/openapi.json')).json()
    const schema =
      openapi.paths['/v1/rewards/{name}/stats'].get.responses['200'].content['application/json'].schema
    t.match(schema.properties.runs.items.properties.figures, { type: 'object' })
  })
})

t.test('every figure is in docs/monitoring.md and has an alert with its bounds', async (t) => {
  const page = readFileSync('docs/monitoring.md', 'utf8')
  for (const { name, low, high } of figures) {
    t.ok(page.includes(`| \`${name}\` |`), name)
    const exprs = rules
      .map(({ expr }) => expr)
      .filter((expr) => expr.includes(`reward_gateway_run_${name} `) || expr.includes(`${name})`))
    t.ok(exprs.length > 0, `${name} has an alert`)
    for (const bound of [low, high]) {
      if (bound !== undefined)
        t.ok(
          exprs.some((expr) => expr.includes(String(Math.abs(bound)))),
          `${name}: ${bound}`,
        )
    }
  }
})

t.test('each alert has a test that fires it and one that does not', async (t) => {
  const { tests } = parse(readFileSync('docker/prometheus/alerts.test.yaml', 'utf8')) as {
    tests: { alert_rule_test: { alertname: string; exp_alerts: unknown[] }[] }[]
  }
  const cases = tests.flatMap(({ alert_rule_test }) => alert_rule_test)
  const names = rules.map(({ alert }) => alert)
  t.ok(names.length >= 20)
  for (const name of names) {
    const own = cases.filter(({ alertname }) => alertname === name)
    t.ok(
      own.some(({ exp_alerts }) => exp_alerts.length > 0),
      `${name} fires`,
    )
    t.ok(
      own.some(({ exp_alerts }) => exp_alerts.length === 0),
      `${name} does not`,
    )
  }
  for (const { alertname } of cases) t.ok(names.includes(alertname), `${alertname} is an alert`)
})

const withoutPromtool = spawnSync('promtool', ['--version']).status !== 0 && 'no promtool here'

t.test('promtool accepts the rules', { skip: withoutPromtool }, async () => {
  execFileSync('promtool', ['check', 'rules', alertsFile], { stdio: 'pipe' })
  execFileSync('promtool', ['test', 'rules', 'alerts.test.yaml'], { cwd: 'docker/prometheus', stdio: 'pipe' })
})

t.test('docs/metrics.md lists every metric with its labels, and nothing else', async (t) => {
  const { make, families } = remembering()
  metricsBy(make, { version: 'test', inFlight: () => 0 })
  const page = readFileSync('docs/metrics.md', 'utf8')
  const rows = [...page.matchAll(/^\| `(\w+)` \|([\w, ]*)\|/gm)]
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

t.test('waiting time is measured from the first wait to the end of the last', async (t) => {
  const time = new WaitTime()
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
