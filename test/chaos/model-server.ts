import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import type { InjectedFault } from '../../src/simulator/faults.ts'

/** A simulated model server in a process of its own, which can be killed, stopped and started again. */
export interface ModelServer {
  readonly address: string
  faults(faults: readonly InjectedFault[]): Promise<void>
  kill(): void
  pause(): void
  /** Has its process end and another one begin, which listens after so many milliseconds; resolves when it answers. */
  restart(downMs: number): Promise<void>
  /** Makes it well again, whatever became of it. */
  recover(): Promise<void>
  close(): Promise<void>
}

export async function startModelServer(model: string, port: number, policy: string): Promise<ModelServer> {
  const url = `http://127.0.0.1:${port}`
  let child: ChildProcess | null = null
  let isKilled = false
  let isPaused = false
  let isFaulty = false
  const end = () => child?.kill('SIGKILL')
  process.once('exit', end)
  const faults = async (list: readonly InjectedFault[]) => {
    // Who is dead or stopped has trouble enough.
    if (isKilled || isPaused) return
    isFaulty = list.length > 0
    const body = JSON.stringify({ faults: list })
    // It may be stopped or killed while it reads this.
    const signal = AbortSignal.timeout(3000)
    await fetch(`${url}/simulate/faults`, { method: 'POST', body, signal }).catch(() => {})
  }
  const start = async () => {
    const args = ['simulate', '--port', String(port), '--model', model, '--policy', policy, '--control']
    child = spawn(
      'node',
      ['dist/src/cli/main.js', ...args, '--latency-median-ms', '15', '--latency-sigma', '0.5'],
      { stdio: ['ignore', 'pipe', 'inherit'] },
    )
    // Its first line says that it listens.
    const listens = child.stdout ? once(child.stdout, 'data').then(() => true) : true
    if (!(await Promise.race([listens, once(child, 'exit').then(() => false)])))
      throw new Error(`no model server at ${url}`)
    child.stdout?.resume()
  }
  await start()
  return {
    address: `127.0.0.1:${port}`,
    faults,
    kill() {
      isKilled = true
      child?.kill('SIGKILL')
    },
    pause() {
      isPaused = true
      child?.kill('SIGSTOP')
    },
    async restart(downMs) {
      if (isKilled || isPaused) return
      const signal = AbortSignal.timeout(3000)
      const body = JSON.stringify({ downMs })
      await fetch(`${url}/simulate/restart`, { method: 'POST', body, signal }).catch(() => {})
      const isBack = () =>
        fetch(`${url}/v1/models`, { signal: AbortSignal.timeout(500) }).then(
          ({ ok }) => ok,
          () => false,
        )
      // What strikes it meanwhile may keep it away for longer.
      for (let tries = 0; tries < 40 && !isKilled && !isPaused; tries++) {
        await new Promise((resolve) => setTimeout(resolve, 50))
        if (await isBack()) return
      }
    },
    async recover() {
      if (isPaused) child?.kill('SIGCONT')
      if (isKilled) {
        if (child && child.signalCode === null) await once(child, 'exit')
        await start()
      }
      const wasFaulty = isFaulty && !isKilled
      isKilled = isPaused = isFaulty = false
      if (wasFaulty) await faults([])
    },
    async close() {
      process.removeListener('exit', end)
      end()
      if (child && child.exitCode === null && child.signalCode === null) await once(child, 'exit')
    },
  }
}
