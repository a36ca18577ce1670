import { once } from 'node:events'
import { createServer, type ServerResponse } from 'node:http'
import type { AddressInfo, Socket } from 'node:net'
import { knownTexts } from '../../src/scoring/models/backends/memory-backend.ts'
import type { Seen } from './scripted-server.ts'

const isKnownText = (value: unknown): boolean => [value].flat().some((text) => text === knownTexts[0])

/** Whether the gateway asks for itself: how a server is, or its known question. */
export const isOwn = ({ path, body }: Pick<Seen, 'path' | 'body'>): boolean =>
  path === '/is_sleeping' || isKnownText(body?.prompt) || isKnownText(body?.text) || isKnownText(body?.input)

/** A server that dies of what SGLang 0.5.14 dies of. */
export interface MortalServer {
  readonly url: string
  /** What it died of; '' while it lives. */
  death: string
  /** Paths of what it was sent, but for its own questions of the gateway. */
  readonly orders: string[]
  /** Paths of what was only looked at. */
  readonly looks: string[]
  /** Known questions that it answered. */
  known: number
  asleep: boolean
  paused: boolean
  hasWeights: boolean
  /** What a scalar model's numbers are multiplied with. */
  scale: number
  /** Texts that wait for `release`. */
  readonly held: (() => void)[]
  holds: boolean
  cpuBackup: boolean
  refuses: Set<string>
  /** Told of each order when it comes. */
  onOrder: (path: string) => void
  /** Runs a text that nobody waits for. */
  leftText(): void
  /** A new process: awake, with its weights. */
  restart(): Promise<void>
  close(): Promise<void>
}

/** Speaks as much of SGLang as sleeping needs. `kind`: what /model_info says it is. */
export async function mortalServer(
  options: {
    kind?: 'writer' | 'scalar'
    cpuBackup?: boolean
    asleep?: boolean
    /** As --random-seed sets it; else each process has its own. */
    seed?: number
  } = {},
): Promise<MortalServer> {
  const sockets = new Set<Socket>()
  let running = 0
  let processes = 1
  const waiting: (() => void)[] = []
  const die = (why: string) => {
    if (self.death === '') self.death = why
    for (const socket of sockets) socket.destroy()
    server.close()
  }
  const ended = () => {
    running -= 1
  }
  const answer = (path: string, body: { text?: string | string[] }, done: (value: unknown) => void) => {
    if (self.paused) {
      waiting.push(() => answer(path, body, done))
      return
    }
    if (self.asleep) {
      die('a question while asleep')
      return
    }
    const isKnown = isKnownText(body.text)
    if (isKnown) self.known += 1
    running += 1
    const reply = () => {
      ended()
      done(path === '/classify' ? scores(body.text ?? '') : written())
    }
    if (self.holds && !isKnown) self.held.push(reply)
    else reply()
  }
  const scores = (text: string | string[]) => {
    const all = [text].flat().map((one) => ({
      embedding: [self.hasWeights ? (one.length * self.scale) / 10 : 0],
      meta_info: { prompt_tokens: 3 },
    }))
    return Array.isArray(text) ? all : all[0]
  }
  const written = () => ({
    text: self.hasWeights ? 'Yes' : '!!!!',
    meta_info: {
      finish_reason: { type: 'stop' },
      prompt_tokens: 3,
      completion_tokens: 1,
      output_token_logprobs: [[-0.1, 9454, 'Yes']],
      output_top_logprobs: [
        self.hasWeights
          ? [
              [-0.1, 9454, 'Yes'],
              [-2.5, 2753, 'No'],
              [-5, 0, '!'],
            ]
          : [
              [-11.9, 0, '!'],
              [-11.9, 1, '"'],
              [-11.9, 2, '#'],
            ],
      ],
    },
  })
  const ok = { status: 'ok', message: 'done' }
  const handle = (path: string, method: string, body: Record<string, unknown>, response: ServerResponse) => {
    const reply = (value: unknown, status = 200) => {
      response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(value))
    }
    if (!isOwn({ path, body }) && method === 'POST') self.orders.push(path)
    if (method === 'GET') self.looks.push(path)
    if (method === 'POST') self.onOrder(path)
    if (self.refuses.has(path)) return reply({ error: 'no' }, 400)
    if (path === '/v1/models') return reply({ data: [{ id: 'm' }] })
    if (path === '/health') return answer(path, {}, () => reply({}))
    if (path === '/server_info')
      return reply({
        enable_memory_saver: true,
        enable_weights_cpu_backup: self.cpuBackup,
        random_seed: options.seed ?? processes,
      })
    if (path === '/model_info')
      return reply({ model_path: '/models/m', is_generation: options.kind !== 'scalar' })
    if (path === '/generate' || path === '/classify') return answer(path, body, reply)
    if (path === '/flush_cache') return reply({}, running > 0 ? 400 : 200)
    if (path === '/pause_generation') {
      self.paused = true
      running = 0
      self.held.length = 0
      return reply(ok)
    }
    if (path === '/continue_generation') {
      self.paused = false
      for (const again of waiting.splice(0)) again()
      return reply(ok)
    }
    if (path === '/release_memory_occupation') {
      if (running > 0) return die('a release while a text runs')
      if (self.asleep) return die('a second release')
      self.asleep = true
      if (!self.cpuBackup) self.hasWeights = false
      return reply(null)
    }
    if (path === '/resume_memory_occupation') {
      if (!self.asleep) return die('a resume while awake')
      self.asleep = false
      return reply(null)
    }
    if (path === '/update_weights_from_disk') {
      self.hasWeights = body.model_path === '/models/m'
      return reply({ success: self.hasWeights })
    }
    return reply({}, 404)
  }
  const server = createServer((request, response) => {
    const chunks: Buffer[] = []
    request.on('data', (chunk: Buffer) => chunks.push(chunk))
    request.on('end', () => {
      const text = Buffer.concat(chunks).toString()
      handle(request.url ?? '', request.method ?? '', text ? JSON.parse(text) : {}, response)
    })
  })
  server.keepAliveTimeout = 60_000
  server.on('connection', (socket) => {
    sockets.add(socket)
    socket.on('error', () => {})
    socket.on('close', () => sockets.delete(socket))
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  const self: MortalServer = {
    url: `http://127.0.0.1:${port}`,
    death: '',
    orders: [],
    looks: [],
    known: 0,
    asleep: options.asleep ?? false,
    paused: options.asleep ?? false,
    hasWeights: true,
    scale: 1,
    held: [],
    holds: false,
    cpuBackup: options.cpuBackup ?? true,
    refuses: new Set(),
    onOrder: () => {},
    leftText() {
      running += 1
    },
    async restart() {
      await self.close()
      processes += 1
      self.death = ''
      self.asleep = false
      self.paused = false
      self.hasWeights = true
      running = 0
      waiting.length = 0
      self.held.length = 0
      server.listen(port, '127.0.0.1')
      await once(server, 'listening')
    },
    async close() {
      for (const socket of sockets) socket.destroy()
      if (!server.listening) return
      server.close()
      await once(server, 'close')
    },
  }
  return self
}
