import { readFileSync } from 'node:fs'
import t from 'tap'
import { parse } from 'yaml'
import { openMetrics } from '../../src/telemetry/metrics.ts'

interface Dashboard {
  readonly panels: readonly {
    readonly title: string
    readonly targets?: readonly { readonly expr: string }[]
  }[]
  readonly templating: { readonly list: readonly { readonly query: { readonly query: string } }[] }
}
interface Alerts {
  readonly groups: readonly { readonly rules: readonly { readonly alert: string; readonly expr: string }[] }[]
}

/** What Prometheus adds: the bucket's bound, and the replica that its config names. */
const everywhere = ['le', 'replica']

/** Labels by name, as docs/operations.md tells them; another test compares its names with the exposition. */
const page = readFileSync('docs/operations.md', 'utf8')
const section = page.split(/^## /m).find((text) => text.startsWith('Metrics\n')) ?? ''
const labelsOf = new Map(
  [...section.matchAll(/^\| `(\w+)` \| ([\w, ]*) \|/gm)].map(([, name = '', labels = '']) => [
    name,
    labels.split(', ').filter(Boolean),
  ]),
)

async function exposed(): Promise<Set<string>> {
  const metrics = openMetrics({ version: 'test', inFlight: () => 0 })
  const { text } = await metrics.expose()
  metrics.close()
  const names = [...text.matchAll(/^# TYPE (\w+) (\w+)/gm)].flatMap(([, name = '', type]) =>
    type === 'histogram' ? ['_bucket', '_sum', '_count'].map((end) => `${name}${end}`) : [name],
  )
  return new Set(names)
}

const dashboard = JSON.parse(
  readFileSync('docker/grafana/dashboards/reward-gateway.json', 'utf8'),
) as Dashboard
const alerts = parse(readFileSync('docker/prometheus/alerts.yaml', 'utf8')) as Alerts

t.test('every query of a panel, a variable or an alert asks for a metric that is served', async (t) => {
  const served = await exposed()
  const queries = [
    ...dashboard.panels.flatMap(({ title, targets = [] }) => targets.map(({ expr }) => ({ title, expr }))),
    ...dashboard.templating.list.map(({ query: { query } }) => ({ title: 'variable', expr: query })),
    ...alerts.groups.flatMap(({ rules }) => rules.map(({ alert, expr }) => ({ title: alert, expr }))),
  ]
  t.ok(queries.length > 40)
  for (const { title, expr } of queries) {
    const names = [...expr.matchAll(/reward_gateway_\w+/g)].map(([name]) => name)
    t.ok(names.length > 0, `${title} asks for something`)
    for (const name of names) t.ok(served.has(name), `${title}: ${name}`)
  }
})

t.test('every label that a query names is one of its metric', async (t) => {
  const queries = [
    ...dashboard.panels.flatMap(({ targets = [] }) => targets.map(({ expr }) => expr)),
    ...alerts.groups.flatMap(({ rules }) => rules.map(({ expr }) => expr)),
  ]
  for (const expr of queries) {
    const grouped = [...expr.matchAll(/by \(([\w, ]+)\)/g)].flatMap(([, list = '']) => list.split(', '))
    for (const [, metric = '', selector = ''] of expr.matchAll(/reward_gateway_(\w+)(?:\{([^}]*)\})?/g)) {
      const name = metric.replace(/_(?:bucket|sum|count)$/, '')
      const known = name.startsWith('run_') ? ['reward', 'run', 'figure', 'step'] : (labelsOf.get(name) ?? [])
      const selected = [...selector.matchAll(/(\w+)=/g)].map(([, label = '']) => label)
      for (const label of [...selected, ...grouped])
        t.ok([...known, ...everywhere].includes(label), `${label} of ${name} in ${expr}`)
    }
  }
})

t.test('every metric of the table but two has a panel or an alert', async (t) => {
  const shown = JSON.stringify([dashboard, alerts])
  for (const name of labelsOf.keys()) {
    if (!['records_total', 'instances_refused_total'].includes(name))
      t.ok(shown.includes(`reward_gateway_${name}`), name)
  }
})

t.test('every alert of the service is on its page, and every alert has a test that fires it', async (t) => {
  const [, runs = '', service = ''] = readFileSync('docker/prometheus/alerts.yaml', 'utf8').split('- name: ')
  t.ok(runs.startsWith('reward-gateway-runs') && service.startsWith('reward-gateway-service'))
  const tests = readFileSync('docker/prometheus/alerts.test.yaml', 'utf8')
  for (const { alert } of alerts.groups.flatMap(({ rules }) => rules)) {
    if (service.includes(`alert: ${alert}\n`)) t.ok(page.includes(`| ${alert} |`), `${alert} is told of`)
    t.match(tests, new RegExp(`alertname: ${alert}\\n[^\\n]+\\n\\s+exp_alerts:\\n`), `${alert} fires`)
  }
})
