import { execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { setTimeout } from 'node:timers/promises'
import { parse, stringify } from 'yaml'
import { freePort } from '../../support/free-ports.ts'

/** A Prometheus with the shipped config, but for its target, a key and a shorter interval. */
export interface RealPrometheus {
  /** Series that a query gives; rejects where Prometheus refuses it. */
  query(expr: string): Promise<readonly { readonly metric: Readonly<Record<string, string>> }[]>
  /** Names of the alerts that fire. */
  firing(): Promise<ReadonlySet<string>>
  close(): Promise<void>
}

/** Debian's package `prometheus` brings both programs. Throws where one is missing. */
export function requirePrograms(): void {
  for (const program of ['prometheus', 'promtool']) {
    try {
      execFileSync(program, ['--version'], { stdio: 'ignore' })
    } catch {
      throw new Error(`${program} is not here; Debian's package is called prometheus`)
    }
  }
}

/** Scrapes `target`, a `host:port`, every second with a key. */
export async function startPrometheus(target: string, key: string): Promise<RealPrometheus> {
  const folder = mkdtempSync(join(tmpdir(), 'prometheus-'))
  const config = parse(readFileSync('docker/prometheus/prometheus.yaml', 'utf8'))
  config.global = { scrape_interval: '1s', evaluation_interval: '1s' }
  config.rule_files = [resolve('docker/prometheus/alerts.yaml')]
  const [job] = config.scrape_configs
  job.static_configs = [{ targets: [target] }]
  job.authorization = { credentials: key }
  const file = join(folder, 'prometheus.yaml')
  writeFileSync(file, stringify(config))
  const port = await freePort()
  const child = spawn(
    'prometheus',
    [
      `--config.file=${file}`,
      `--storage.tsdb.path=${join(folder, 'data')}`,
      `--web.listen-address=127.0.0.1:${port}`,
      '--log.level=error',
    ],
    { stdio: ['ignore', 'inherit', 'inherit'] },
  )
  const ended = once(child, 'exit')
  const api = async (path: string, body?: URLSearchParams) => {
    const response = await fetch(`http://127.0.0.1:${port}${path}`, body ? { method: 'POST', body } : {})
    const reply = (await response.json()) as { status: string; error?: string; data: unknown }
    if (reply.status !== 'success') throw new Error(reply.error)
    return reply.data
  }
  const isReady = () =>
    fetch(`http://127.0.0.1:${port}/-/ready`).then(
      ({ ok }) => ok,
      () => false,
    )
  while (!(await isReady())) {
    if (child.exitCode !== null) throw new Error(`prometheus ended with ${child.exitCode}`)
    await setTimeout(200)
  }
  return {
    async query(expr) {
      const { result } = (await api('/api/v1/query', new URLSearchParams({ query: expr }))) as {
        result: { metric: Readonly<Record<string, string>> }[]
      }
      return result
    },
    async firing() {
      const { alerts } = (await api('/api/v1/alerts')) as {
        alerts: { state: string; labels: { alertname: string } }[]
      }
      return new Set(alerts.filter(({ state }) => state === 'firing').map(({ labels }) => labels.alertname))
    },
    async close() {
      child.kill('SIGTERM')
      await ended
      rmSync(folder, { recursive: true, force: true })
    },
  }
}
