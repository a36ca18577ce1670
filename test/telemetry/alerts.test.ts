import { execFileSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import t from 'tap'
import { parse } from 'yaml'
import { figures } from '../../src/telemetry/monitors/figures.ts'
import { testApp } from '../support/app.ts'

const file = 'docker/prometheus/alerts.yaml'
interface Rule {
  readonly alert: string
  readonly expr: string
  readonly annotations: { readonly summary: string }
}
const rules = (parse(readFileSync(file, 'utf8')) as { groups: { rules: Rule[] }[] }).groups.flatMap(
  ({ rules }) => rules,
)

t.test('what the alert rules ask for is what /metrics and /stats serve', async (t) => {
  const app = await testApp(t, { one: { steps: [{ name: 'rule', function: 'echo-rule' }] } })
  const samples = Array.from({ length: 8 }, (_, at) => ({ response: at % 2 ? '1' : '0', group_id: at >> 2 }))
  for (const training_step of [1, 2, 3]) {
    const payload = { reward: 'one', samples, run: 'r"1', training_step }
    await app.inject({ method: 'POST', url: '/v1/score', payload })
  }
  await new Promise((resolve) => setImmediate(resolve))
  const { body } = await app.inject('/metrics')
  const served = new Set([...body.matchAll(/^# TYPE (\w+)/gm)].map(([, name]) => name))
  for (const { alert, expr, annotations } of rules) {
    const names = [...expr.matchAll(/reward_gateway_\w+/g)].map(([name]) =>
      name.replace(/_seconds_count$/, '_seconds'),
    )
    t.ok(names.length > 0 && annotations.summary.length > 0, alert)
    for (const name of names) t.ok(served.has(name), `${alert}: ${name}`)
  }
  // The rule's scores lie within -1 and 2.
  t.ok(body.includes('reward_gateway_run_group_variance{reward="one",run="r\\"1"} 0.02777'))
  t.ok(
    body.includes('reward_gateway_run_alarms_total{reward="one",run="r\\"1",figure="drift",step="rule"} 0'),
  )

  const stats = (await app.inject('/v1/rewards/one/stats')).json()
  t.match(stats, {
    reward: 'one',
    version: /^[0-9a-f]{16}$/,
    runs: [{ run: 'r"1', training_step: 3, rows: 24, groups: 6, terms: { rule: { mean: 0.5, scored: 24 } } }],
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
  t.equal((await app.inject('/v1/rewards/two/stats')).statusCode, 404)
  const openapi = (await app.inject('/openapi.json')).json()
  const schema =
    openapi.paths['/v1/rewards/{name}/stats'].get.responses['200'].content['application/json'].schema
  t.match(schema.properties.runs.items.properties.figures, { type: 'object' })
})

t.test('every figure has its row in docs/monitoring.md and its bounds in an alert', async (t) => {
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

t.test('promtool accepts the rules, where there is one', async (t) => {
  try {
    execFileSync('promtool', ['--version'], { stdio: 'ignore' })
  } catch {
    t.pass('no promtool here')
    return
  }
  execFileSync('promtool', ['check', 'rules', file], { stdio: 'pipe' })
  execFileSync('promtool', ['test', 'rules', 'alerts.test.yaml'], { cwd: 'docker/prometheus', stdio: 'pipe' })
})
