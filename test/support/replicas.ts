import { type ChildProcess, spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { createServer, type IncomingMessage, request, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { Test } from 'tap'
import { freePort } from './free-ports.ts'

/** Why tests with the real HAProxy are left out on this machine; false where it is there. */
export const withoutHaproxy: string | false =
  spawnSync('haproxy', ['-v']).status === 0 ? false : 'haproxy is not installed (apt-get install haproxy)'

/** A gateway in a process of its own, at one address over all its restarts. */
export class Replica {
  readonly port: number
  readonly #args: readonly string[]
  #child: ChildProcess | null = null

  /** `args`: of `serve`, without the port. */
  constructor(t: Test, port: number, args: readonly string[]) {
    this.port = port
    this.#args = [...args, '--port', String(port), '--log-level', 'error']
    t.teardown(() => this.#child?.kill('SIGKILL'))
  }

  /** Resolves once it serves. */
  async start(): Promise<void> {
    const child = spawn(process.execPath, ['dist/src/cli/main.js', 'serve', ...this.#args], {
      env: { ...process.env, NODE_V8_COVERAGE: undefined },
      stdio: ['ignore', 'pipe', 'inherit'],
    })
    this.#child = child
    await once(child.stdout, 'data')
  }

  /** SIGTERM; resolves with the exit code. */
  async stop(): Promise<number | null> {
    const { exitCode } = this.#child ?? {}
    if (!this.#child || typeof exitCode === 'number') return exitCode ?? null
    const exited = once(this.#child, 'exit')
    this.#child.kill('SIGTERM')
    return (await exited)[0]
  }

  /** SIGKILL. */
  async kill(): Promise<void> {
    if (!this.#child) return
    const exited = once(this.#child, 'exit')
    this.#child.kill('SIGKILL')
    await exited
    this.#child = null
  }
}

/** Sends each request to the next port, and again to another where none listens, none answers, or one is ending. */
export async function startBalancer(t: Test, ports: readonly number[]): Promise<string> {
  let turn = 0
  const server = createServer(async (incoming, response) => {
    const chunks: Buffer[] = []
    for await (const chunk of incoming) chunks.push(chunk)
    const first = turn++
    for (let tries = 0; tries < 2 * ports.length; tries++) {
      const port = ports[(first + tries) % ports.length] ?? 0
      const answer = await ask(port, incoming, Buffer.concat(chunks)).catch(() => null)
      if (answer && answer.statusCode !== 503) return pipe(answer, response)
      answer?.resume()
    }
    response.writeHead(502).end()
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.teardown(() => new Promise((resolve) => server.close(resolve).closeAllConnections()))
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
}

const ask = (
  port: number,
  { method, url, headers }: IncomingMessage,
  body: Buffer,
): Promise<IncomingMessage> =>
  new Promise((resolve, reject) => {
    const address = { host: '127.0.0.1', port, method, path: url, headers }
    request(address, resolve).on('error', reject).end(body)
  })

function pipe(answer: IncomingMessage, response: ServerResponse): void {
  response.writeHead(answer.statusCode ?? 502, answer.headers)
  answer.pipe(response)
}

/** The real HAProxy with the config of docker/, before two replicas. `folder`: a copy of docker/haproxy. */
export async function startHaproxy(
  t: Test,
  ports: readonly number[],
  folder = 'docker/haproxy',
): Promise<string> {
  const port = await freePort()
  const [first, second] = ports.map((replica) => `127.0.0.1:${replica}`)
  const env = { ...process.env, BIND: `127.0.0.1:${port}`, GATEWAY_0: first, GATEWAY_1: second }
  const child = spawn('haproxy', ['-db', '-f', `${folder}/haproxy.cfg`], { env, stdio: 'ignore' })
  t.teardown(() => child.kill('SIGKILL'))
  const url = `http://127.0.0.1:${port}`
  for (;;) {
    const answer = await fetch(`${url}/readyz`).catch(() => null)
    await answer?.text()
    if (answer?.ok) return url
    if (child.exitCode !== null) throw new Error(`haproxy ended with ${child.exitCode}`)
  }
}
