/**
 * A real Prometheus on a gateway under load: `npm run test:prometheus`. It runs every query of every panel and the
 * expression of every alert, and needs Debian's package `prometheus`. Not one of the tests that `npm test` runs: it takes a
 * minute or two.
 */
import { execFileSync } from 'node:child_process'
import { setTimeout } from 'node:timers/promises'
import t from 'tap'
import { keys, startObserved } from './prometheus/gateway.ts'
import { selectorsOf, shippedQueries } from './prometheus/queries.ts'
import { requirePrograms, startPrometheus } from './prometheus/server.ts'
import { causeEverything, keepGoing } from './prometheus/traffic.ts'

t.setTimeout(600_000)
requirePrograms()

t.test('promtool accepts config and rules, and every alert fires where it should', async (t) => {
  const cwd = 'docker/prometheus'
  for (const args of [
    ['check', 'config', 'prometheus.yaml'],
    ['check', 'rules', 'alerts.yaml'],
    ['test', 'rules', 'alerts.test.yaml'],
  ])
    t.doesNotThrow(() => execFileSync('promtool', args, { cwd, stdio: 'pipe' }), `promtool ${args.join(' ')}`)
})

/** Figures of failures that the traffic does not cause. */
const uncaused = ['memory_failures_total', 'listener_errors_total', 'queue_damaged_places']
const isCaused = (expr: string): boolean => !uncaused.some((name) => expr.includes(name))

t.test('every selector of every panel and alert finds series', async (t) => {
  const gateway = await startObserved()
  const prometheus = await startPrometheus(gateway.target, keys.scrape)
  let isOver = false
  const steady = keepGoing(gateway, () => isOver)
  t.teardown(async () => {
    isOver = true
    await steady
    await Promise.all([prometheus.close(), gateway.close()])
  })
  await causeEverything(gateway)

  const queries = shippedQueries()
  const selectors = new Set(queries.flatMap(({ expr }) => selectorsOf(expr)))
  const missing = async () => {
    const found = await Promise.all([...selectors].map((selector) => prometheus.query(selector)))
    return [...selectors].filter((selector, at) => isCaused(selector) && found[at]?.length === 0)
  }
  const until = Date.now() + 90_000
  // Counters must have been scraped twice before they have a rate.
  await setTimeout(5000)
  while ((await missing()).length > 0 && Date.now() < until) await setTimeout(2000)
  t.ok(queries.length > 60 && selectors.size > 50)
  t.strictSame(await missing(), [], 'selectors without a series')
  let told = 0
  for (const { from, title, expr } of queries) {
    const series = await prometheus.query(expr)
    if (from !== 'alert' && isCaused(expr)) t.ok(series.length > 0, `${title}: ${expr}`)
    told += Number(series.length > 0)
  }
  t.comment(
    `${queries.length} queries ran, ${told} have a result now; ${selectors.size} selectors, ${uncaused.length} of them of failures that were not caused`,
  )
  const firing = await prometheus.firing()
  for (const alert of ['RewardDrift', 'ReloadRefused', 'CanaryFailing', 'SandboxUnconfined'])
    t.ok(firing.has(alert), `${alert} fires`)
})
