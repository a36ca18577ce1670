import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { readdirSync, readFileSync } from 'node:fs'
import { descendantsOf } from '../test/support/descendants.ts'

/** A server under measurement, in a process of its own. */
export interface MeasuredProcess {
  readonly url: string
  readonly pid: number
  /** User and system CPU time of all its threads so far. */
  cpuSeconds(): number
  /** The same of all processes below it that still run: one that confines a function stands between. */
  childrenCpuSeconds(): number
  /** Resident memory, MiB. */
  rssMib(): number
  stop(): Promise<void>
}

type Environment = Readonly<Record<string, string>>

const ticksPerSecond = 100
/** What the ticks of a running process may lack, user's and system's. */
const roundedTicks = 3

/** Starts a command that listens at a port of this machine, and waits until `path` answers there. */
export async function startMeasured(
  command: readonly string[],
  port: number,
  path: string,
  env: Environment = {},
): Promise<MeasuredProcess> {
  const [file = '', ...args] = command
  const url = `http://127.0.0.1:${port}`
  const child = spawn(file, args, { env: { ...process.env, ...env }, stdio: ['ignore', 'ignore', 'inherit'] })
  const end = (): void => void child.kill()
  process.once('exit', end)
  await answering(`${url}${path}`, child)
  const pid = child.pid ?? 0
  return {
    url,
    pid,
    cpuSeconds: () => cpuSecondsOf(String(pid)),
    childrenCpuSeconds: () => descendantsOf(pid).reduce((sum, below) => sum + cpuSecondsOf(String(below)), 0),
    rssMib: () => Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1]) / 1024,
    async stop() {
      child.kill('SIGTERM')
      if (child.exitCode === null) await once(child, 'exit')
      process.off('exit', end)
    },
  }
}

/** The built gateway with a file or folder of configs, as docs/performance.md advises to run it. */
export function startGateway(config: string, port: number, env: Environment = {}): Promise<MeasuredProcess> {
  const serve = ['serve', '--config', config, '--port', String(port), '--log-level', 'warn']
  const command = ['node', '--max-semi-space-size=64', 'dist/src/cli/main.js', ...serve]
  return startMeasured(command, port, '/livez', env)
}

/** A simulated judge that always says 1; `shape` are further arguments of `simulate`. */
export function startSimulatedJudge(port: number, shape: readonly string[]): Promise<MeasuredProcess> {
  const judge = [
    'simulate',
    '--port',
    String(port),
    '--model',
    'judge',
    '--policy',
    'constant',
    '--constant',
    '1',
  ]
  return startMeasured(['node', 'dist/src/cli/main.js', ...judge, ...shape], port, '/health')
}

/** A server of this folder, such as `proxy`: a script that takes its port and then these arguments. */
export function startScript(name: string, port: number, ...args: string[]): Promise<MeasuredProcess> {
  const command = ['node', 'node_modules/.bin/jiti', `bench/${name}.ts`, String(port), ...args]
  return startMeasured(command, port, '/livez')
}

/** By the scheduler's clock of nanoseconds, unless threads have ended: those are only in the clock of ticks. */
export function cpuSecondsOf(pid: string): number {
  const fields = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ')[1]?.split(' ') ?? []
  const ticks = Number(fields[11]) + Number(fields[12])
  const fine = threadsSecondsOf(pid)
  return Math.abs(fine * ticksPerSecond - ticks) <= roundedTicks ? fine : ticks / ticksPerSecond
}

/** NaN where the kernel keeps no such clock. */
function threadsSecondsOf(pid: string): number {
  try {
    return readdirSync(`/proc/${pid}/task`).reduce((sum, task) => {
      const text = readFileSync(`/proc/${pid}/task/${task}/schedstat`, 'utf8')
      return sum + Number(text.split(' ', 1)[0]) / 1e9
    }, 0)
  } catch {
    return Number.NaN
  }
}

async function answering(url: string, child: ChildProcess): Promise<void> {
  for (let tries = 0; tries < 1800; tries++) {
    if (child.exitCode !== null) throw new Error(`the server ended with ${child.exitCode}`)
    const answer = await fetch(url).catch(() => null)
    if (answer?.ok) return
    await new Promise((resolve) => setTimeout(resolve, 100))
  }
  child.kill()
  throw new Error(`${url} did not answer`)
}
