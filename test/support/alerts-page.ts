import { readFileSync } from 'node:fs'
import { parse } from 'yaml'

interface Rule {
  readonly alert: string
  readonly expr: string
  readonly for?: string
  readonly labels: { readonly severity: string }
  readonly annotations: { readonly summary: string; readonly description: string }
}

const titles: Readonly<Record<string, string>> = {
  'reward-gateway-service': 'The service',
  'reward-gateway-runs': 'Training runs',
}

const rulesFile = 'docker/prometheus/alerts.yaml'

/** docs/alerts.md: every rule for Prometheus, with what to do when it fires. */
export function alertsPage(): string {
  const { groups } = parse(readFileSync(rulesFile, 'utf8')) as {
    groups: readonly { readonly name: string; readonly rules: readonly Rule[] }[]
  }
  const sections = groups
    .toSorted((a, b) => (a.name < b.name ? 1 : -1))
    .map(({ name, rules }) => `## ${titles[name] ?? name}\n\n${rules.map(sectionOf).join('\n')}`)
  const count = groups.flatMap(({ rules }) => rules).length
  return `# Alerts

The ${count} rules for Prometheus in [docker/prometheus/alerts.yaml](../${rulesFile}), and what to do when one fires. A notification carries the
same words, as \`summary\` and \`description\`. A test fires each rule:

    promtool test rules docker/prometheus/alerts.test.yaml

[Deploying](deploying.md) loads them. [Metrics](metrics.md) has what they ask for, and [monitoring](monitoring.md) the figures of training runs; the
inspector's Alerts view shows those without Prometheus.

${sections.join('\n')}`
}

function sectionOf({ alert, expr, for: lasting, labels, annotations }: Rule): string {
  const { summary, description } = annotations
  const long = lasting === undefined ? '' : `, after ${lasting}`
  const lead = `**${labels.severity[0]?.toUpperCase()}${labels.severity.slice(1)}**${long}. ${meantBy(summary)}.`
  return `### ${alert}\n\n${lead}\n\n${description}\n\n\`\`\`promql\n${expr.trim().replace(/\s+/g, ' ')}\n\`\`\`\n`
}

/** The summary with the names of its labels instead of Prometheus' placeholders. */
const meantBy = (summary: string): string =>
  summary
    .replace(/\{\{ or \$labels\.\w+ "([^"]*)" \}\}/g, '$1')
    .replace(/\{\{ \$labels\.(\w+) \}\}/g, '<$1>')
    .replace(/\{\{ \$value[^}]*\}\}/g, '<value>')
    .replace(/<(\w+)>/g, '*$1*')
