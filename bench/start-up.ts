/**
 * What a start costs, from exec until /readyz answers 200: CPU time and memory of the whole process, the median of `--runs`
 * starts after one that warms the disk. `jiti bench/start-up.ts [--runs 9] [--config PATH] [--against FOLDER]`: without
 * `--config`, a rule alone (the shipped gsm8k) and all shipped configs with simulated judges in this process. `--against`
 * names another built checkout or an unpacked package; both are started in turn. `--out FILE` keeps each start as a JSON line.
 */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { appendFileSync, readFileSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:net'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { startSimulatedServers } from '../src/cli/serve/simulated-servers.ts'
import { cpuSecondsOf } from './measured-process.ts'
import { median } from './quantile.ts'

const { values } = parseArgs({
  options: {
    runs: { type: 'string', default: '9' },
    config: { type: 'string' },
    against: { type: 'string' },
    out: { type: 'string' },
  },
})
const runs = Number(values.runs)
const lookEveryMs = 15
const limitMs = 60_000

interface Start {
  readonly build: string
  readonly config: string
  /** User and system time of all threads of the process. */
  readonly cpuSeconds: number
  readonly wallSeconds: number
  /** Resident when /readyz answered, and the most until then. */
  readonly rssMib: number
  readonly peakMib: number
}

async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as { port: number }
  server.close()
  await once(server, 'close')
  return port
}

/** One start of the build in a folder. It is killed as soon as it was measured. */
async function start(folder: string, config: string | null): Promise<Omit<Start, 'build' | 'config'>> {
  const port = await freePort()
  const serve = ['serve', '--port', String(port), '--log-level', 'warn']
  const began = performance.now()
  const child = spawn(
    process.execPath,
    [join(folder, 'dist/src/cli/main.js'), ...serve, ...(config === null ? [] : ['--config', config])],
    { env: { ...process.env, ...judges?.env }, stdio: ['ignore', 'ignore', 'inherit'] },
  )
  const ended = once(child, 'exit')
  try {
    while (!(await isReady(port))) {
      if (child.exitCode !== null) throw new Error(`the server ended with ${child.exitCode}`)
      if (performance.now() - began > limitMs) throw new Error('the server did not become ready')
      await new Promise((resolve) => setTimeout(resolve, lookEveryMs))
    }
    const wallSeconds = (performance.now() - began) / 1000
    const status = readFileSync(`/proc/${child.pid}/status`, 'utf8')
    const mib = (name: string) => Number(new RegExp(`${name}:\\s+(\\d+)`).exec(status)?.[1]) / 1024
    return {
      cpuSeconds: cpuSecondsOf(String(child.pid)),
      wallSeconds,
      rssMib: mib('VmRSS'),
      peakMib: mib('VmHWM'),
    }
  } finally {
    child.kill('SIGKILL')
    await ended
  }
}

const isReady = async (port: number): Promise<boolean> =>
  (await fetch(`http://127.0.0.1:${port}/readyz`).catch(() => null))?.status === 200

const say = (line: string) => process.stdout.write(`${line}\n`)

const judges = values.config === undefined ? await startSimulatedServers({ all: true }) : null
const configs: Readonly<Record<string, string | null>> =
  values.config === undefined
    ? { 'one rule': 'rm-configs/gsm8k.yaml', 'all shipped configs': null }
    : { [values.config]: values.config }
const builds: Readonly<Record<string, string>> = {
  this: '.',
  ...(values.against !== undefined && { other: values.against }),
}
if (values.out !== undefined) writeFileSync(values.out, '')
try {
  for (const [config, path] of Object.entries(configs)) {
    const starts: Start[] = []
    for (let run = -1; run < runs; run++)
      for (const [build, folder] of Object.entries(builds)) {
        const one = { build, config, ...(await start(folder, path)) }
        if (run < 0) continue
        starts.push(one)
        if (values.out !== undefined) appendFileSync(values.out, `${JSON.stringify(one)}\n`)
      }
    for (const build of Object.keys(builds)) {
      const own = starts.filter((one) => one.build === build)
      const of = (figure: 'cpuSeconds' | 'wallSeconds' | 'rssMib' | 'peakMib', digits: number) => {
        const all = own.map((one) => one[figure])
        return `${median(all).toFixed(digits)} (${Math.min(...all).toFixed(digits)} to ${Math.max(...all).toFixed(digits)})`
      }
      say(
        `${config}, ${build} build: ${of('cpuSeconds', 2)} s of CPU, ${of('wallSeconds', 2)} s until /readyz, ` +
          `${of('rssMib', 0)} MiB resident, at most ${of('peakMib', 0)} MiB`,
      )
    }
  }
} finally {
  await judges?.close()
}
