import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { createWriteStream } from 'node:fs'
import { resolve } from 'node:path'
import { freePort } from '../support/free-ports.ts'

const startMs = 900_000

/** A running `vllm serve`, with the processes that it starts itself in one group. */
export interface VllmServer {
  readonly url: string
  /** Sum of a metric's samples whose labels contain `label`; 0 where there are none. */
  metric(name: string, label?: string): Promise<number>
  /** Resolves when `done` holds of that metric. */
  until(name: string, done: (value: number) => boolean, label?: string): Promise<void>
  /** SIGSTOP to the whole group: its sockets stay open and nothing answers. */
  stop(): void
  /** SIGCONT to the whole group. */
  goOn(): void
  /** SIGKILL to the whole group; resolves when it has gone. */
  kill(): Promise<void>
}

const running = new Set<ChildProcess>()

/** Nothing survives this process, however it ends. */
function endAll(): void {
  for (const child of running) signalGroup(child, 'SIGKILL')
}
process.on('exit', endAll)
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const)
  process.on(signal, () => {
    endAll()
    process.exit(1)
  })

/** Starts a server and waits until it is healthy; its log is `.venv-vllm/NAME.log`. */
export async function startVllm(
  program: string,
  name: string,
  model: string,
  args: readonly string[] = [],
): Promise<VllmServer> {
  const port = await freePort()
  const settings = `--host 127.0.0.1 --port ${port} --max-model-len 2048 --max-num-seqs 64 --dtype float32 --enforce-eager`
  const child = spawn(
    program,
    ['serve', model, '--served-model-name', name, ...settings.split(' '), ...args],
    {
      detached: true,
      stdio: ['ignore', 'pipe', 'pipe'],
      env: {
        ...process.env,
        HF_HUB_OFFLINE: '1',
        VLLM_NO_USAGE_STATS: '1',
        DO_NOT_TRACK: '1',
        VLLM_CPU_KVCACHE_SPACE: '1',
        // Several servers share few cores: bound to them, each would wait for the others.
        VLLM_CPU_OMP_THREADS_BIND: 'nobind',
        OMP_NUM_THREADS: '1',
      },
    },
  )
  running.add(child)
  const log = createWriteStream(resolve('.venv-vllm', `${name}-${port}.log`))
  child.stdout.pipe(log, { end: false })
  child.stderr.pipe(log, { end: false })
  const gone = once(child, 'exit').then(() => {
    running.delete(child)
    log.end()
  })
  const server: VllmServer = {
    url: `http://127.0.0.1:${port}`,
    async metric(metric, label = '') {
      const text = await (await fetch(`${server.url}/metrics`)).text()
      return text
        .split('\n')
        .filter((line) => line.startsWith(`${metric}{`) && line.includes(label))
        .reduce((sum, line) => sum + Number(line.slice(line.lastIndexOf(' '))), 0)
    },
    async until(metric, done, label) {
      while (!done(await server.metric(metric, label))) await pause(50)
    },
    stop: () => signalGroup(child, 'SIGSTOP'),
    goOn: () => signalGroup(child, 'SIGCONT'),
    async kill() {
      signalGroup(child, 'SIGKILL')
      await gone
    },
  }
  const deadline = performance.now() + startMs
  while (!(await isHealthy(server.url))) {
    if (!running.has(child)) throw new Error(`${name} ended before it was healthy: ${log.path}`)
    if (performance.now() > deadline) throw new Error(`${name} is not healthy after ${startMs / 1000} s`)
    await pause(500)
  }
  return server
}

const pause = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms))

const isHealthy = (url: string): Promise<boolean> =>
  fetch(`${url}/health`).then(
    ({ ok }) => ok,
    () => false,
  )

function signalGroup(child: ChildProcess, signal: NodeJS.Signals): void {
  try {
    if (child.pid) process.kill(-child.pid, signal)
  } catch {
    // It has gone already.
  }
}
