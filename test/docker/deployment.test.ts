import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { parse } from 'yaml'
import { parse as parseOptions } from '../../src/cli/options.ts'
import { command as sandboxCommand } from '../../src/cli/serve/sandbox.ts'
import { simulateOptions } from '../../src/cli/serve/simulate.ts'
import { configTexts, readConfigs } from '../../src/scoring/plan/configs.ts'
import { openMetrics } from '../../src/serving/telemetry/metrics/metrics.ts'
import { shippedQueries } from './prometheus/queries.ts'

interface Service {
  readonly profiles: readonly string[]
  readonly command?: readonly string[]
  readonly volumes?: readonly string[]
  readonly depends_on?: readonly string[] | Readonly<Record<string, { readonly condition: string }>>
  readonly environment?: Readonly<Record<string, string>>
  readonly healthcheck?: object
  readonly read_only?: boolean
  readonly cap_drop?: readonly string[]
}

const read = (file: string) => readFileSync(join('docker', file), 'utf8')
const composeText = read('compose.yaml')
const compose = parse(composeText, { merge: true }) as {
  readonly services: Readonly<Record<string, Service>>
  readonly volumes: object
}
const services = Object.entries(compose.services)
const fill = (text: string) => text.replace(/\$\{\w+(?::-([^}]*))?\}/g, '$1')

t.test('every service of compose.yaml can start with what is there', async (t) => {
  for (const [name, { profiles, depends_on = [], volumes = [] }] of services) {
    for (const profile of profiles) t.ok(['demo', 'gpu'].includes(profile), `${name}: ${profile}`)
    const needed = Array.isArray(depends_on) ? depends_on : Object.keys(depends_on)
    for (const other of needed) {
      t.ok(
        profiles.every((profile) => compose.services[other]?.profiles.includes(profile)),
        `${other} starts with ${name}`,
      )
      if (!Array.isArray(depends_on)) t.ok(compose.services[other]?.healthcheck, `${other} tells its health`)
    }
    for (const volume of volumes.map(fill)) {
      const [source = ''] = volume.split(':')
      t.ok(
        source.startsWith('.') ? existsSync(join('docker', source)) : Object.hasOwn(compose.volumes, source),
        `${name}: ${source}`,
      )
    }
  }
})

t.test('our own containers can write nothing but /tmp', async (t) => {
  const own = services.filter(([name]) => /^(?:gateway|judge)-/.test(name))
  t.equal(own.length, 5)
  for (const [name, service] of own) t.match(service, { read_only: true, cap_drop: ['ALL'] }, name)
})

const dockerfile = read('Dockerfile')

t.test('a plain build makes the gateway without Python, which runs as nobody special', async (t) => {
  const stages = dockerfile.split(/^FROM /m).slice(1)
  t.match(stages.at(-1), /^gateway\s*$/)
  t.equal(dockerfile.match(/^USER .*$/gm)?.at(-1), 'USER 1000:1000')
  t.match(dockerfile, /^HEALTHCHECK/m)
  t.match(dockerfile, /node:24/)
})

t.test('all that the image copies reaches its build', async (t) => {
  const sent = read('Dockerfile.dockerignore').split('\n')
  const copied = [...dockerfile.matchAll(/^COPY (?!--from)(.+) \S+$/gm)].flatMap(([, from = '']) =>
    from.split(' '),
  )
  t.not(copied.length, 0)
  for (const path of copied) {
    t.ok(existsSync(path.replace(/\/\*\.\w+$/, '')), path)
    t.ok(sent.includes(`!${path.split('/')[0]}`), path)
  }
})

t.test('the image holds the Python files that the package runs', async (t) => {
  const { files } = JSON.parse(readFileSync('package.json', 'utf8')) as { files: string[] }
  const folders = files.filter((file) => file.endsWith('.py')).map((file) => file.replace(/\/\*\*.*$/, ''))
  t.ok(folders.length > 1)
  for (const path of folders) t.match(dockerfile, new RegExp(`^COPY ${path}[/ ]`, 'm'), path)
})

t.test('servers of programs start with options that exist, write nothing and reach nothing', async (t) => {
  const { options } = sandboxCommand
  const parsed = (words: readonly string[]) =>
    parseOptions(words, options, { command: 'sandbox', takesPositionals: false }).values
  const pods = parse(read('sandbox/deployment.yaml')).spec.template.spec
  const [container] = pods.containers
  const [name, ...rest] = container.args as string[]
  t.equal(name, 'sandbox')
  const values = parsed(rest) as Readonly<Record<string, unknown>>
  t.equal(values['key-env'], container.env[0].name)
  t.equal(values.port, container.ports[0].containerPort)
  t.ok(pods.terminationGracePeriodSeconds > Number(values['grace-s']))
  t.match(container.securityContext, { readOnlyRootFilesystem: true, capabilities: { drop: ['ALL'] } })
  t.match(pods, { automountServiceAccountToken: false, securityContext: { runAsNonRoot: true } })
  t.same(parse(read('sandbox/network-policy.yaml')).spec.egress, [])
  const unit = read('sandbox/reward-gateway-sandbox.service')
  const [, line = ''] = /^ExecStart=\/usr\/bin\/env reward-gateway sandbox (.*)$/m.exec(unit) ?? []
  const served = parsed(line.split(' ')) as Readonly<Record<string, unknown>>
  t.ok(Number(/^TimeoutStopSec=(\d+)$/m.exec(unit)?.[1]) > Number(served['grace-s']))
  t.match(unit, `${served['key-env']}=`)
})

t.test('the demo has three judges whose names and addresses its config asks for', async (t) => {
  const judges = services.filter(([name]) => name.startsWith('judge-'))
  t.equal(judges.length, 3)
  const gateway = compose.services['gateway-demo']
  t.ok(gateway?.command?.includes('/app/rm-configs/demo.yaml'))
  const shipped = readFileSync(join('rm-configs', 'gateway.yaml'), 'utf8')
  for (const name of Object.keys(gateway?.environment ?? {})) t.ok(shipped.includes(`\${${name}:-`), name)
  const addresses = Object.values(gateway?.environment ?? {})
  for (const [name, { command = [] }] of judges) {
    const reading = { command: 'simulate', takesPositionals: false }
    const { values } = parseOptions(command.slice(1), simulateOptions, reading)
    t.match(values, { count: 1, host: '0.0.0.0', model: name.replace(/-\d$/, '') })
    t.ok(addresses.includes(`http://${name}:8000`), name)
  }
})

t.test(
  'the configs of the gpu profile and of Kubernetes hold, with the variables that compose sets',
  async (t) => {
    const env = Object.fromEntries(
      Object.entries(compose.services['gateway-gpu']?.environment ?? {}).map(([key, value]) => [
        key,
        fill(value),
      ]),
    )
    const rewards = readConfigs(configTexts(['docker/gpu']), env)
    t.match(rewards.gateway, { listen: { port: 8080 } })
    const text = read('gpu/gateway.yaml')
    for (const name of Object.keys(env)) t.ok(text.includes(`\${${name}:-`), `${name} is read`)
    const cluster = readConfigs(configTexts(['docker/kubernetes/config']), {}).gateway
    const deployment = parse(read('kubernetes/deployment.yaml'))
    const grace = deployment.spec.template.spec.terminationGracePeriodSeconds
    const { pre_stop_s: leaving, grace_s: draining } = cluster.shutdown
    t.ok(leaving >= 5 && grace > leaving + draining, 'a pod is not ended before it has left and is drained')
    const { stop_grace_period: patience } = compose.services['gateway-demo'] as { stop_grace_period?: string }
    t.ok(Number.parseInt(patience ?? '', 10) > rewards.gateway.shutdown.grace_s, 'nor a container')
  },
)

const folder = join('docker', 'kubernetes')
const [deployment, service, budget, scaler, monitor, network] = [
  'deployment',
  'service',
  'pod-disruption-budget',
  'horizontal-pod-autoscaler',
  'service-monitor',
  'network-policy',
].map((name) => parse(readFileSync(join(folder, `${name}.yaml`), 'utf8')))
const [container] = deployment.spec.template.spec.containers

t.test('kustomization.yaml builds every manifest and config file', async (t) => {
  const kustomization = parse(readFileSync(join(folder, 'kustomization.yaml'), 'utf8'))
  const manifests = readdirSync(folder).filter(
    (file) => file.endsWith('.yaml') && file !== 'kustomization.yaml',
  )
  t.strictSame([...kustomization.resources].sort(), manifests.sort())
  const [{ files }] = kustomization.configMapGenerator
  t.not(files.length, 0)
  for (const file of files) t.ok(existsSync(join(folder, file)), file)
})

t.test('every manifest selects the pods of the deployment', async (t) => {
  const selected = {
    deployment: deployment.spec.selector.matchLabels,
    service: service.spec.selector,
    budget: budget.spec.selector.matchLabels,
    monitor: monitor.spec.selector.matchLabels,
    network: network.spec.podSelector.matchLabels,
  }
  const pods = deployment.spec.template.metadata.labels
  for (const [name, labels] of Object.entries(selected)) t.strictSame(labels, pods, name)
  t.equal(scaler.spec.scaleTargetRef.name, deployment.metadata.name)
})

t.test('the container serves a changed ConfigMap, and can write and become nothing', async (t) => {
  t.ok(container.args.includes('--watch'))
  t.match(container.securityContext, { readOnlyRootFilesystem: true, allowPrivilegeEscalation: false })
  t.equal(deployment.spec.template.spec.securityContext.runAsNonRoot, true)
})

t.test('the container mounts the volumes of its pod, and has the ports that others name', async (t) => {
  t.strictSame(
    container.volumeMounts.map(({ name }: { name: string }) => name).sort(),
    deployment.spec.template.spec.volumes.map(({ name }: { name: string }) => name).sort(),
  )
  const named = container.ports.map(({ name }: { name: string }) => name)
  const ports = {
    service: service.spec.ports[0].targetPort,
    monitor: monitor.spec.endpoints[0].port,
    probe: container.livenessProbe.httpGet.port,
  }
  for (const [name, port] of Object.entries(ports)) t.ok(named.includes(port), name)
})

t.test('the adapter serves the metrics that the autoscaler asks for, as metrics.md has them', async (t) => {
  const adapted = (parse(read('prometheus/adapter.yaml')).rules.custom as { seriesQuery: string }[]).map(
    ({ seriesQuery }) => seriesQuery.split('{')[0] ?? '',
  )
  t.strictSame(
    scaler.spec.metrics.map(({ pods }: { pods: { metric: { name: string } } }) => pods.metric.name),
    adapted,
  )
  const page = readFileSync(join('docs', 'metrics.md'), 'utf8')
  for (const name of adapted) t.ok(page.includes(`\`${name.replace('reward_gateway_', '')}\``), name)
})

t.test('deploying.md has every secret', async (t) => {
  const page = readFileSync(join('docs', 'deploying.md'), 'utf8')
  for (const name of ['TRAINER_KEYS', 'METRICS_KEY', 'ADMIN_KEY', 'GUARD_SECRET'])
    t.ok(page.includes(name), name)
})

t.test('every variable of compose.yaml is on its page', async (t) => {
  const page = readFileSync(join('docs', 'deploying.md'), 'utf8')
  for (const [, name = ''] of composeText.matchAll(/\$\{(\w+)/g)) t.ok(page.includes(`\`${name}\``), name)
})

/** What Prometheus adds: the bucket's bound, and the replica that its config names. */
const everywhere = ['le', 'replica']

/** Labels by name, as docs/metrics.md tells them; another test compares its names with the exposition. */
const metricsPage = readFileSync('docs/metrics.md', 'utf8')
const labelsOf = new Map(
  [...metricsPage.matchAll(/^\| `(\w+)` \| ([\w, ]*) \|/gm)].map(([, name = '', labels = '']) => [
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

const queries = shippedQueries()

t.test('every query of a panel, a variable or an alert asks for a metric that is served', async (t) => {
  const served = await exposed()
  t.ok(queries.length > 40)
  for (const { title, expr } of queries) {
    const names = [...expr.matchAll(/reward_gateway_\w+/g)].map(([name]) => name)
    t.ok(names.length > 0, `${title} asks for something`)
    for (const name of names) t.ok(served.has(name), `${title}: ${name}`)
  }
})

t.test('every label that a query names is one of its metric', async (t) => {
  for (const { expr } of queries) {
    const grouped = [...expr.matchAll(/by \(([\w, ]+)\)/g)].flatMap(([, list = '']) => list.split(', '))
    for (const [, metric = '', selector = ''] of expr.matchAll(/reward_gateway_(\w+)(?:\{([^}]*)\})?/g)) {
      const name = metric.replace(/_(?:bucket|sum|count)$/, '')
      const known = name.startsWith('run_')
        ? ['reward', 'run', 'figure', 'step', 'cause', 'model']
        : (labelsOf.get(name) ?? [])
      const selected = [...selector.matchAll(/(\w+)=/g)].map(([, label = '']) => label)
      for (const label of [...selected, ...grouped])
        t.ok([...known, ...everywhere].includes(label), `${label} of ${name} in ${expr}`)
    }
  }
})

t.test('every metric of the table but two has a panel or an alert', async (t) => {
  const shown = queries.map(({ expr }) => expr).join('\n')
  t.ok(labelsOf.size > 20)
  for (const name of labelsOf.keys()) {
    if (!['records_total', 'instances_refused_total'].includes(name))
      t.ok(shown.includes(`reward_gateway_${name}`), name)
  }
})

t.test('every alert is on its page, says what to do, and has a test that fires it', async (t) => {
  const page = readFileSync('docs/alerts.md', 'utf8')
  const alerts = queries.filter(({ from }) => from === 'alert')
  const rows = [...page.matchAll(/^### \w+\n\n\*\*\w+\*\*.*\. .{10,}\n\n.{20,}\n\n```promql$/gm)]
  t.equal(rows.length, new Set(alerts.map(({ title }) => title)).size)
  const tests = read('prometheus/alerts.test.yaml')
  for (const { title } of alerts) {
    t.ok(page.includes(`### ${title}\n`), `${title} is told of`)
    t.match(tests, new RegExp(`alertname: ${title}\\n[^\\n]+\\n\\s+exp_alerts:\\n`), `${title} fires`)
  }
})
