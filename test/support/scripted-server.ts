import { once } from 'node:events'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo, Socket } from 'node:net'

/** A request as it came. `closed` resolves when its connection has gone before the reply was whole. */
export interface Seen {
  readonly path: string
  readonly headers: IncomingMessage['headers']
  // biome-ignore lint/suspicious/noExplicitAny: bodies of every kind of request, read by tests
  readonly body: any
  /** The body as it came: an object would lose the order of its keys. */
  readonly text: string
  readonly closed: Promise<void>
}

/** What the server does with a request: a whole reply, or whatever the script does with the raw response. */
export type Script = (seen: Seen, response: ServerResponse) => unknown

/** A real loopback server that answers as its script says; /health and /v1/models work by themselves, below any path. */
export interface ScriptedServer {
  readonly url: string
  readonly seen: readonly Seen[]
  script: Script
  /** Names that /v1/models lists. */
  served: string[]
  healthy: boolean
  /** Connections that it took, and probes that came, so far. */
  connections: number
  probes: number
  /** What /metrics says; null: 404. */
  metrics: string | null
  /** What /v1/models wants in `authorization`; '': nothing. */
  key: string
  /** Resolves when it has seen so many requests in all. */
  saw(count: number): Promise<void>
  /** Drops every connection and listens no more. */
  kill(): Promise<void>
  /** Listens again at the same port. */
  revive(): Promise<void>
}

export async function scriptedServer(script: Script, served: string[] = ['m']): Promise<ScriptedServer> {
  const seen: Seen[] = []
  const sockets = new Set<Socket>()
  const watchers = new Set<() => void>()
  const server = createServer((request, response) => {
    if (request.method === 'GET') self.probes += 1
    if (request.url?.endsWith('/health')) return void response.writeHead(self.healthy ? 200 : 500).end()
    if (request.url?.endsWith('/metrics'))
      return void response.writeHead(self.metrics === null ? 404 : 200).end(self.metrics)
    if (request.url?.endsWith('/v1/models') && request.method === 'GET') {
      if (self.key !== '' && request.headers.authorization !== self.key) return json(response, {}, 401)
      return void json(response, { object: 'list', data: self.served.map((id) => ({ id, object: 'model' })) })
    }
    const chunks: Buffer[] = []
    request.on('data', (chunk: Buffer) => chunks.push(chunk))
    request.on('end', async () => {
      const text = Buffer.concat(chunks).toString()
      const closed = new Promise<void>((resolve) => {
        response.on('close', () => {
          if (!response.writableFinished) resolve()
        })
      })
      const entry = {
        path: request.url ?? '',
        headers: request.headers,
        body: text ? JSON.parse(text) : null,
        text,
        closed,
      }
      seen.push(entry)
      for (const watcher of watchers) watcher()
      const answer = await self.script(entry, response)
      if (answer !== undefined && !response.headersSent) json(response, answer)
    })
  })
  server.keepAliveTimeout = 60_000
  server.on('connection', (socket) => {
    sockets.add(socket)
    self.connections += 1
    socket.on('close', () => sockets.delete(socket))
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  const self: ScriptedServer = {
    url: `http://127.0.0.1:${port}`,
    seen,
    script,
    served,
    healthy: true,
    connections: 0,
    probes: 0,
    metrics: null,
    key: '',
    saw(count) {
      return new Promise((resolve) => {
        const check = () => {
          if (seen.length < count) return
          watchers.delete(check)
          resolve()
        }
        watchers.add(check)
        check()
      })
    },
    async kill() {
      for (const socket of sockets) socket.destroy()
      if (!server.listening) return
      server.close()
      await once(server, 'close')
    },
    async revive() {
      server.listen(port, '127.0.0.1')
      await once(server, 'listening')
    },
  }
  return self
}

/** Ends a response with a JSON body. */
export function json(response: ServerResponse, body: unknown, status = 200): void {
  response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body))
}

/** A chat completion with this text, or a completion for a plain prompt. */
export function completion(seen: Seen, text: string, more: object = {}): object {
  const content = seen.body.messages ? { message: { role: 'assistant', content: text } } : { text }
  return {
    id: 'x',
    object: 'completion',
    model: seen.body.model,
    choices: [{ index: 0, finish_reason: 'stop', logprobs: null, ...content, ...more }],
    usage: { prompt_tokens: 7, completion_tokens: 2, total_tokens: 9 },
  }
}

/** Never answers. */
export const hang: Script = () => undefined
