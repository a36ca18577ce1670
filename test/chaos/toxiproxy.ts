import { spawn } from 'node:child_process'
import { once } from 'node:events'

/** A fault on a connection, in toxiproxy's words (github.com/Shopify/toxiproxy, README). */
export interface Toxic {
  readonly type: 'latency' | 'bandwidth' | 'slow_close' | 'timeout' | 'reset_peer' | 'slicer' | 'limit_data'
  readonly stream: 'upstream' | 'downstream'
  readonly toxicity: number
  readonly attributes: Readonly<Record<string, number>>
}

/** Proxies in front of addresses, which spoil what passes through them on cue. */
export interface Links {
  /** The address to call in place of `upstream`. */
  open(name: string, upstream: string, port: number): Promise<string>
  spoil(name: string, toxic: Toxic): Promise<void>
  /** Nothing passes until `clear`. */
  cut(name: string): Promise<void>
  /** Takes all faults away. */
  clear(): Promise<void>
  close(): Promise<void>
}

/** Starts toxiproxy-server (`go install github.com/Shopify/toxiproxy/v2/cmd/server@latest`). */
export async function openToxiproxy(command: string, port: number): Promise<Links> {
  const child = spawn(command, ['-port', String(port)], { stdio: 'ignore' })
  const end = () => child.kill('SIGKILL')
  process.once('exit', end)
  const call = async (path: string, body: object = {}) => {
    const answer = await fetch(`http://127.0.0.1:${port}${path}`, {
      method: 'POST',
      body: JSON.stringify(body),
    })
    if (!answer.ok) throw new Error(`toxiproxy ${path}: ${answer.status} ${await answer.text()}`)
    await answer.arrayBuffer()
  }
  for (let tries = 0; ; tries++) {
    if (
      await call('/reset').then(
        () => true,
        () => false,
      )
    )
      break
    if (tries === 100) throw new Error(`${command} did not start`)
    await new Promise((resolve) => setTimeout(resolve, 50))
  }
  return {
    async open(name, upstream, listen) {
      await call('/proxies', { name, upstream, listen: `127.0.0.1:${listen}`, enabled: true })
      return `http://127.0.0.1:${listen}`
    },
    spoil: (name, toxic) => call(`/proxies/${name}/toxics`, toxic),
    cut: (name) => call(`/proxies/${name}`, { enabled: false }),
    clear: () => call('/reset'),
    async close() {
      process.removeListener('exit', end)
      end()
      if (child.exitCode === null && child.signalCode === null) await once(child, 'exit')
    },
  }
}

/** Where toxiproxy is not at hand: connections are direct and never spoilt. */
export const directLinks: Links = {
  open: async (_name, upstream) => `http://${upstream}`,
  spoil: async () => {},
  cut: async () => {},
  clear: async () => {},
  close: async () => {},
}
