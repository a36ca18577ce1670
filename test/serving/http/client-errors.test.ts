import { connect } from 'node:net'
import { setImmediate } from 'node:timers/promises'
import type { FastifyInstance } from 'fastify'
import t, { type Test } from 'tap'
import { createApp } from '../../../src/serving/http/app.ts'
import { openMetrics } from '../../../src/serving/telemetry/metrics/metrics.ts'
import { testGateway } from '../../support/gateway.ts'

const rule = { name: 'rule', function: 'exact-match' }

async function opened(t: Test, receiveMs?: number): Promise<{ app: FastifyInstance; port: number }> {
  const gateway = await testGateway(t, { one: { steps: [rule] } })
  const metrics = openMetrics({ version: 'test', inFlight: () => 0 })
  const app = await createApp({
    gateway,
    metrics,
    bodyLimit: 4096,
    ...(receiveMs !== undefined && { receiveMs }),
  })
  t.teardown(() => app.close())
  const { port } = new URL(await app.listen({ port: 0, host: '127.0.0.1' }))
  return { app, port: Number(port) }
}

/** Sends bytes and resolves with everything received until the connection was closed. */
async function sent(port: number, text: string): Promise<string> {
  const socket = connect(port, '127.0.0.1')
  socket.write(text)
  let received = ''
  for await (const chunk of socket) received += chunk
  return received
}

const bodyOf = (reply: string): unknown => JSON.parse(reply.slice(reply.indexOf('\r\n\r\n') + 4))
const head = 'POST /v1/score HTTP/1.1\r\nhost: a\r\nconnection: close\r\n'
const json = 'content-type: application/json\r\n'

const { port } = await opened(t)

t.test('every refusal has the format and codes of docs/errors.md, even before routing (M31)', async (t) => {
  const cases: [string, string, number, string][] = [
    ['no HTTP', 'HELLO\r\n\r\n', 400, 'RG_REQUEST_INVALID'],
    [
      'headers too long',
      `GET /livez HTTP/1.1\r\nhost: a\r\nx: ${'y'.repeat(20_000)}\r\n\r\n`,
      431,
      'RG_HEADERS_TOO_LARGE',
    ],
    ['two lengths', `${head}content-length: 1\r\ncontent-length: 2\r\n\r\n`, 400, 'RG_REQUEST_INVALID'],
    ['no host', 'GET /livez HTTP/1.1\r\nconnection: close\r\n\r\n', 400, 'RG_REQUEST_INVALID'],
    [
      'two hosts',
      'GET /livez HTTP/1.1\r\nHost: a\r\nhost: b\r\nconnection: close\r\n\r\n',
      400,
      'RG_REQUEST_INVALID',
    ],
    ['no such path', 'GET /nowhere HTTP/1.1\r\nhost: a\r\nconnection: close\r\n\r\n', 404, 'RG_NOT_FOUND'],
    [
      'another method',
      'DELETE /v1/score HTTP/1.1\r\nhost: a\r\nconnection: close\r\n\r\n',
      405,
      'RG_METHOD_NOT_ALLOWED',
    ],
    [
      'a method of files',
      'PROPFIND /v1/score HTTP/1.1\r\nhost: a\r\nconnection: close\r\n\r\n',
      405,
      'RG_METHOD_NOT_ALLOWED',
    ],
    ['a broken path', 'GET /%zz HTTP/1.1\r\nhost: a\r\nconnection: close\r\n\r\n', 400, 'RG_REQUEST_INVALID'],
    [
      'a long name',
      `GET /v1/rewards/${'a'.repeat(9000)} HTTP/1.1\r\nhost: a\r\nconnection: close\r\n\r\n`,
      400,
      'RG_REQUEST_INVALID',
    ],
    ['too long a body', `${head}${json}content-length: 9999\r\n\r\n`, 413, 'RG_REQUEST_TOO_LARGE'],
    [
      'a form',
      `${head}content-type: application/x-www-form-urlencoded\r\ncontent-length: 2\r\n\r\n{}`,
      415,
      'RG_MEDIA_TYPE',
    ],
    ['no type', `${head}content-length: 2\r\n\r\n{}`, 415, 'RG_MEDIA_TYPE'],
  ]
  for (const [name, bytes, status, code] of cases) {
    const reply = await sent(port, bytes)
    t.match(reply, new RegExp(`^HTTP/1\\.1 ${status} `), name)
    const [, id = ''] = /^x-request-id: (\S+)\r$/im.exec(reply) ?? []
    t.match(bodyOf(reply), { error: { code, message: /\w/, problems: { length: 0 }, request_id: id } }, name)
    t.match(reply, /^x-content-type-options: nosniff\r$/im, name)
    t.match(reply, /^content-type: application\/json/im, name)
    t.ok(reply.length < 1500, `${name}: what is refused is not sent back`)
  }
})

t.test('a body without a type is told which type to send (M41)', async (t) => {
  const refused = bodyOf(await sent(port, `${head}content-length: 2\r\n\r\n{}`))
  t.match(refused, { error: { message: /content-type: application\/json/ } })
})

t.test('what HTTP allows is not refused', async (t) => {
  const old = await sent(port, 'GET /livez HTTP/1.0\r\n\r\n')
  t.match(old, /^HTTP\/1\.1 200 /, 'HTTP/1.0 needs no host')
  const expecting = await sent(
    port,
    'GET /livez HTTP/1.1\r\nhost: a\r\nexpect: wonders\r\nconnection: close\r\n\r\n',
  )
  t.match(expecting, /^HTTP\/1\.1 200 /, 'an expectation that nobody knows is ignored')
})

t.test('a client that sends too slowly gets 408 within a second of the limit (M31)', async (t) => {
  for (const receiveMs of [80, 1000]) {
    const { port } = await opened(t, receiveMs)
    const slow = ['', 'GET /livez HTTP/1.1\r\nhost: a\r\n', `${head}${json}content-length: 100\r\n\r\n{`]
    const took = await Promise.all(
      slow.map(async (text) => {
        const began = performance.now()
        const reply = await sent(port, text)
        t.match(reply, /^HTTP\/1\.1 408 /)
        t.match(bodyOf(reply), { error: { code: 'RG_REQUEST_TIMEOUT' } })
        return performance.now() - began
      }),
    )
    for (const ms of took)
      t.ok(ms >= receiveMs - 50 && ms < receiveMs + 1000, `${receiveMs} ms: after ${Math.round(ms)}`)
  }
})

t.test('a request that arrives while the server closes is RG_CLOSING (M31)', async (t) => {
  const { app, port } = await opened(t)
  const socket = connect(port, '127.0.0.1')
  let received = ''
  socket.on('data', (chunk: Buffer) => {
    received += chunk.toString()
  })
  const closed = new Promise((resolve) => socket.on('close', resolve))
  // With half of its headers sent, the connection is not idle.
  socket.write('GET /v1/rewards HTTP/1.1\r\nhost: a\r\n')
  t.match(await sent(port, 'GET /livez HTTP/1.1\r\nhost: a\r\nconnection: close\r\n\r\n'), /200 OK/)
  const closing = app.close()
  await setImmediate()
  socket.write('\r\n')
  await closed
  await closing
  t.match(received, /^HTTP\/1\.1 503 /)
  t.match(received, /^retry-after: 1\r$/im)
  t.match(bodyOf(received), {
    error: { code: 'RG_CLOSING', message: /\w/, problems: { length: 0 }, request_id: /\w/ },
  })
})

t.test('a connection on which nothing was ever sent does not delay the end of the server', async (t) => {
  const { app, port } = await opened(t)
  const used = connect(port, '127.0.0.1')
  const unused = connect(port, '127.0.0.1')
  const closed = Promise.all(
    [used, unused].map((socket) => new Promise((resolve) => socket.on('close', resolve))),
  )
  used.write('GET /livez HTTP/1.1\r\nhost: a\r\n\r\n')
  await new Promise((resolve) => used.once('data', resolve))
  const began = performance.now()
  await app.close()
  await closed
  t.ok(performance.now() - began < 5000, 'and not after the time for headers')
})
