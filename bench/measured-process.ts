import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { readdirSync, readFileSync } from 'node:fs'

/** A server under measurement, in a process of its own. */
export interface MeasuredProcess {
  readonly url: string
  /** User and system CPU time of all its threads so far. */
  cpuSeconds(): number
  /** The same of the processes that it started and that still run. */
  childrenCpuSeconds(): number
  /** Resident memory, MiB. */
  rssMib(): number
  stop(): Promise<void>
}

const ticksPerSecond = 100

/** Starts a command and waits until `path` answers. */
export async function startMeasured(
  command: readonly string[],
  url: string,
  path: string,
  env: Readonly<Record<string, string>> = {},
): Promise<MeasuredProcess> {
  const [file = '', ...args] = command
  const child = spawn(file, args, { env: { ...process.env, ...env }, stdio: ['ignore', 'ignore', 'inherit'] })
  process.once('exit', () => child.kill())
  await answering(`${url}${path}`, child)
  return {
    url,
    cpuSeconds: () => cpuSecondsOf(String(child.pid)),
    childrenCpuSeconds: () =>
      readdirSync(`/proc/${child.pid}/task`)
        .flatMap((task) => readFileSync(`/proc/${child.pid}/task/${task}/children`, 'utf8').trim().split(' '))
        .reduce((sum, pid) => sum + (pid === '' ? 0 : cpuSecondsOf(pid)), 0),
    rssMib: () =>
      Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${child.pid}/status`, 'utf8'))?.[1]) / 1024,
    async stop() {
      child.kill('SIGTERM')
      if (child.exitCode === null) await once(child, 'exit')
    },
  }
}

function cpuSecondsOf(pid: string): number {
  const fields = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ')[1]?.split(' ') ?? []
  return (Number(fields[11]) + Number(fields[12])) / ticksPerSecond
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
