import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

/** What a gateway's process used since it was last asked (the block) or so far (the rest). */
export interface Figures {
  /** The longest time in which its loop took no event, milliseconds of processor time. */
  readonly longestBlockMs: number
  /** Bytes. */
  readonly heapUsed: number
  readonly rss: number
  /** Of all threads, milliseconds. */
  readonly cpuMs: number
}

/** `reward-gateway serve` in a process of its own, with the settings that ship. */
export interface Served {
  readonly url: string
  /** Rejects with the end of its log where the process has ended. */
  figures(): Promise<Figures>
  /** The most resident memory that the process had since it was last asked, bytes; NaN where the kernel does not tell. */
  peakRss(): number
  /** Blocks its loop for so many milliseconds of the machine of the bounds: what a bound must find. */
  block(ms: number): void
  log(): string
  /** Writes one of its configs anew. */
  write(name: string, config: object): void
  signal(name: NodeJS.Signals): void
  /** The code or signal that it ends with. */
  end(): Promise<string>
  /** SIGKILL, and its folder is gone. */
  stop(): Promise<void>
}

const readyWithinMs = 60_000

/**
 * Serves these configs (by file name, without `.yaml`) and nothing else: what they do not say has its default. `env` is added to
 * this process's own.
 */
export async function serveConfigs(
  configs: Readonly<Record<string, object>>,
  env: Readonly<Record<string, string>> = {},
): Promise<Served> {
  const folder = mkdtempSync(join(tmpdir(), 'reward-gateway-adversarial-'))
  const write = (name: string, config: object) =>
    writeFileSync(join(folder, `${name}.yaml`), JSON.stringify(config))
  for (const [name, config] of Object.entries(configs)) write(name, config)
  const probe = join(import.meta.dirname, 'loop-probe.js')
  const serve = ['dist/src/cli/main.js', 'serve', '--config', folder, '--port', '0']
  const child = spawn(process.execPath, ['--import', probe, ...serve], {
    // Counting blocks makes time mean nothing, and a process that is killed writes no counts.
    env: { ...process.env, ...env, NODE_V8_COVERAGE: undefined },
    stdio: ['ignore', 'pipe', 'pipe', 'ipc'],
  })
  const kill = () => void child.kill('SIGKILL')
  const stop = async (): Promise<void> => {
    child.kill('SIGKILL')
    if (child.exitCode === null && child.signalCode === null) await once(child, 'exit')
    process.off('exit', kill)
    rmSync(folder, { recursive: true, force: true })
  }
  process.once('exit', kill)
  const output = collect(child)
  const url = await listening(child, output).catch(async (error) => {
    await stop()
    throw error
  })
  return {
    url,
    figures: () =>
      new Promise((resolve, reject) => {
        const fail = () =>
          reject(new Error(`the gateway ended with ${ended(child)}:\n${output.text.slice(-2000)}`))
        if (ended(child) !== null) fail()
        child.once('exit', fail)
        child.once('message', (figures) => {
          child.off('exit', fail)
          resolve(figures as Figures)
        })
        // Where the process has just gone, its exit tells.
        child.send('figures', () => {})
      }),
    peakRss: () => peakRss(child.pid ?? 0),
    block: (ms) => void child.send(ms),
    log: () => output.text,
    write,
    signal: (name) => void child.kill(name),
    end: async () => {
      if (ended(child) === null) await once(child, 'exit')
      return ended(child) ?? ''
    },
    stop,
  }
}

/** The code or signal that a process ended with; null while it runs. */
const ended = ({ signalCode, exitCode }: ChildProcess): string | null =>
  signalCode ?? (exitCode === null ? null : String(exitCode))

interface Output {
  text: string
  onText: () => void
}

/** Both streams, as they come. */
function collect(child: ChildProcess): Output {
  const output: Output = { text: '', onText: () => {} }
  for (const stream of [child.stdout, child.stderr])
    stream?.on('data', (chunk: Buffer) => {
      output.text += chunk.toString()
      output.onText()
    })
  return output
}

/** The address that the server says it listens at. */
async function listening(child: ChildProcess, output: Output): Promise<string> {
  const signal = AbortSignal.timeout(readyWithinMs)
  return new Promise((resolve, reject) => {
    const fail = (why: string) => reject(new Error(`the gateway ${why}:\n${output.text}`))
    signal.addEventListener('abort', () => fail(`did not listen within ${readyWithinMs} ms`))
    child.once('exit', (code) => fail(`ended with ${code}`))
    output.onText = () => {
      const url = /http:\/\/127\.0\.0\.1:\d+/.exec(output.text)?.[0]
      if (url) resolve(url)
    }
    output.onText()
  })
}

function peakRss(pid: number): number {
  try {
    const peak = Number(/VmHWM:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1]) * 1024
    // 5: the peak begins anew.
    writeFileSync(`/proc/${pid}/clear_refs`, '5')
    return peak
  } catch {
    return Number.NaN
  }
}
