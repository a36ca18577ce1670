import { readFileSync } from 'node:fs'
import { parse } from 'yaml'

/** A query of a panel, a variable or an alert. */
export interface Query {
  readonly from: 'panel' | 'variable' | 'alert'
  readonly title: string
  readonly expr: string
}

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

/** What Grafana puts in place of its variables when everything is chosen, with an interval that a short run fills. */
const filled = (expr: string): string =>
  expr.replaceAll('$__rate_interval', '1m').replace(/\$(?:reward|model)\b/g, '.+')

/** Every query of the shipped dashboard and alerts, as Prometheus can run it. */
export function shippedQueries(): readonly Query[] {
  const dashboard = JSON.parse(
    readFileSync('docker/grafana/dashboards/reward-gateway.json', 'utf8'),
  ) as Dashboard
  const alerts = parse(readFileSync('docker/prometheus/alerts.yaml', 'utf8')) as Alerts
  return [
    ...dashboard.panels.flatMap(({ title, targets = [] }) =>
      targets.map(({ expr }) => ({ from: 'panel' as const, title, expr: filled(expr) })),
    ),
    ...dashboard.templating.list.map(({ query: { query } }) => ({
      from: 'variable' as const,
      title: query,
      expr: query.replace(/^label_values\((\w+), (\w+)\)$/, 'count by ($2) ($1)'),
    })),
    ...alerts.groups.flatMap(({ rules }) =>
      rules.map(({ alert, expr }) => ({ from: 'alert' as const, title: alert, expr })),
    ),
  ]
}

/** The series that a query asks for, each as a query of its own. */
export const selectorsOf = (expr: string): readonly string[] => [
  ...new Set([...expr.matchAll(/reward_gateway_\w+(?:\{[^}]*\})?/g)].map(([selector]) => selector)),
]
