import { once } from 'node:events'
import { Agent, createServer, type IncomingMessage, request, type ServerResponse } from 'node:http'
import { fnv1a } from '../../src/core/hash.ts'
import type { Timeline } from './timeline.ts'

/** So many looks in a row at /readyz that said no take a replica out. */
const mostMisses = 2
const lookMs = 500

/**
 * A small load balancer before the replicas, as docs/cluster.md wants one: equal groups go to the same replica, one that is not
 * ready gets no requests, and a refused connection or a 503 goes to the next. A request whose connection breaks is lost, as with
 * HAProxy for what is longer than its buffer. Resolves to what closes it once it listens.
 */
export async function openBalancer(
  port: number,
  replicas: readonly number[],
  time: Timeline,
): Promise<() => void> {
  const agent = new Agent({ keepAlive: true, maxSockets: Number.POSITIVE_INFINITY })
  const misses = replicas.map(() => 0)
  let turn = 0
  let isClosed = false

  const server = createServer(
    { requestTimeout: 0, headersTimeout: 0, keepAliveTimeout: 600_000 },
    (incoming, response) => {
      const chunks: Buffer[] = []
      // A trainer that goes away half-way asks for nothing.
      incoming.on('error', () => {})
      incoming.on('data', (chunk: Buffer) => void chunks.push(chunk))
      incoming.once('end', () => {
        const group = incoming.headers['x-reward-gateway-group']
        const first = typeof group === 'string' ? fnv1a(group) : turn++
        pass(incoming, chunks, response, candidates(first))
      })
    },
  )
  await once(server.listen(port, '127.0.0.1'), 'listening')
  void watch()
  return () => {
    isClosed = true
    server.close()
    server.closeAllConnections()
    agent.destroy()
  }

  /** All replicas, those that are ready first, from a place on. */
  function candidates(first: number): number[] {
    const order = replicas.map((_, at) => (first + at) % replicas.length)
    const isReady = (at: number) => (misses[at] ?? 0) < mostMisses
    return [...order.filter(isReady), ...order.filter((at) => !isReady(at))]
  }

  function pass(
    incoming: IncomingMessage,
    body: readonly Buffer[],
    response: ServerResponse,
    [at, ...rest]: readonly number[],
  ): void {
    if (at === undefined) return void response.writeHead(502).end()
    const { method, url, headers } = incoming
    const upstream = request({ host: '127.0.0.1', port: replicas[at], agent, method, path: url, headers })
    const leave = () => void upstream.destroy()
    response.once('close', leave)
    let isAnswered = false
    upstream.once('response', (answer) => {
      isAnswered = true
      if (answer.statusCode === 503 && rest.length > 0) {
        response.off('close', leave)
        answer.resume()
        return pass(incoming, body, response, rest)
      }
      response.writeHead(answer.statusCode ?? 502, {
        ...answer.headers,
        'x-reward-gateway-replica': String(at),
      })
      answer.pipe(response)
      answer.once('error', () => response.destroy())
    })
    upstream.once('error', (error: NodeJS.ErrnoException) => {
      if (isAnswered || response.destroyed) return
      response.off('close', leave)
      // A kept connection that the replica had closed before it read anything carried no request.
      const wasUnread = upstream.reusedSocket && error.code === 'ECONNRESET' && isGone(at)
      if (error.code === 'ECONNREFUSED' || wasUnread) return pass(incoming, body, response, rest)
      response.destroy()
    })
    for (const chunk of body) upstream.write(chunk)
    upstream.end()
  }

  function isGone(at: number): boolean {
    return (misses[at] ?? 0) > 0
  }

  async function watch(): Promise<void> {
    for (; !isClosed; await time.pause(lookMs)) replicas.forEach(look)
  }

  function look(replica: number, at: number): void {
    const asked = request({ host: '127.0.0.1', port: replica, path: '/readyz', timeout: 2000 }, (answer) => {
      answer.resume()
      misses[at] = answer.statusCode === 200 ? 0 : (misses[at] ?? 0) + 1
    })
    asked.once('timeout', () => asked.destroy())
    asked.once('error', () => {
      misses[at] = (misses[at] ?? 0) + 1
    })
    asked.end()
  }
}
