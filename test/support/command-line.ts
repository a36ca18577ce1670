import { PassThrough, Readable } from 'node:stream'
import { main } from '../../src/cli/main.ts'

/** What a command left: its exit code and what it wrote. */
export interface Ran {
  readonly code: number
  readonly stdout: string
  readonly stderr: string
}

export interface RunOptions {
  readonly stdin?: string
  readonly signal?: AbortSignal
  readonly env?: Readonly<Record<string, string>>
  readonly onStdout?: (text: string) => unknown
  readonly onStderr?: (text: string) => unknown
  /** Standard output and standard error are a terminal. */
  readonly terminal?: boolean
  readonly onHangup?: (listener: () => void) => () => void
}

/** Runs `reward-gateway ...argv` in this process. */
export async function runCommand(argv: readonly string[], options: RunOptions = {}): Promise<Ran> {
  const { stdin = '', signal = new AbortController().signal, env = {} } = options
  const [stdout, stderr] = [sink(options.onStdout), sink(options.onStderr)]
  const code = await main(argv, {
    stdin: Readable.from([stdin]),
    stdout: Object.assign(stdout.stream, { isTTY: options.terminal ?? false }),
    stderr: Object.assign(stderr.stream, { isTTY: options.terminal ?? false }),
    env,
    signal,
    ...(options.onHangup && { onHangup: options.onHangup }),
  })
  return { code, stdout: stdout.text(), stderr: stderr.text() }
}

function sink(onText?: (text: string) => unknown) {
  const stream = new PassThrough()
  const chunks: Buffer[] = []
  stream.on('data', (chunk: Buffer) => {
    chunks.push(chunk)
    onText?.(chunk.toString())
  })
  return { stream, text: () => Buffer.concat(chunks).toString() }
}
