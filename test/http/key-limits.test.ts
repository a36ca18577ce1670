import { connect } from 'node:net'
import { setImmediate } from 'node:timers/promises'
import t, { type Test } from 'tap'
import { createApp } from '../../src/http/app.ts'
import { openMetrics } from '../../src/telemetry/metrics/metrics.ts'
import { fakeClock } from '../support/clock.ts'
import { testGateway } from '../support/gateway.ts'
import { completion, json, scriptedServer } from '../support/scripted-server.ts'

const [burst, calm, viewer] = ['burst-key-0123456789', 'calm-key-0123456789', 'viewer-key-0123456789']
const env = { BURST: burst, CALM: calm, VIEWER: viewer }
const bearer = (key: string) => ({ authorization: `Bearer ${key}` })

/** A server whose judge answers when it is let; `burst` has the limits, `calm` has none. */
async function limited(t: Test, limits: object, places = 256) {
  const held: (() => void)[] = []
  const server = await scriptedServer((seen, response) => {
    held.push(() => json(response, completion(seen, '1')))
  })
  t.teardown(() => server.kill())
  const judge = { model: 'm', instances: [server.url], health: { interval_s: 0 }, max_in_flight: places }
  const keys = {
    burst: { env: 'BURST', scopes: ['score'], ...limits },
    calm: { env: 'CALM', scopes: ['score'] },
    viewer: { env: 'VIEWER', scopes: ['read'], max_in_flight: 1, rate_per_s: 0.001 },
  }
  const gateway = await testGateway(
    t,
    {
      gateway: { keys, models: { judge } },
      judged: { steps: [{ name: 'q', function: 'digit-judge', model: 'judge' }] },
      ruled: { steps: [{ name: 'rule', function: 'echo-rule' }] },
    },
    { env },
  )
  const clock = fakeClock()
  const metrics = openMetrics({ version: 'test', inFlight: () => 0 })
  const app = await createApp({ gateway, metrics, bodyLimit: 1 << 20, clock, receiveMs: 300 })
  t.teardown(() => app.close())
  const score = (key: string, reward: string, responses = ['1'], url = '/v1/score') =>
    app.inject({
      method: 'POST',
      url,
      headers: bearer(key),
      payload: { reward, samples: responses.map((response) => ({ response })) },
    })
  return { app, clock, held, score, server }
}

t.test('a key has as many requests in work as it may, and another key has its own', async (t) => {
  const { app, held, score, server } = await limited(t, { max_in_flight: 2 })
  const first = [score(burst, 'judged', ['a']), score(burst, 'judged', ['b'])]
  await server.saw(2)
  const refused = await Promise.all(Array.from({ length: 20 }, () => score(burst, 'ruled')))
  for (const response of refused) {
    t.equal(response.statusCode, 429)
    t.equal(response.headers['retry-after'], '1')
    t.match(response.json(), { error: { code: 'RG_OVERLOADED', message: /'burst' has 2 requests in work/ } })
  }
  t.equal((await score(calm, 'ruled')).statusCode, 200, 'the other key is served meanwhile')
  for (const reply of held.splice(0)) reply()
  for (const response of await Promise.all(first)) t.equal(response.statusCode, 200)
  t.equal((await score(burst, 'ruled')).statusCode, 200, 'places come back')
  t.equal((await score(burst, 'none')).statusCode, 404)
  t.equal((await score(burst, 'none')).statusCode, 404, 'of refused requests too')
  for (const _ of [1, 2, 3])
    t.equal(
      (await app.inject({ url: '/metrics', headers: bearer(viewer) })).statusCode,
      200,
      'reading has no limit',
    )
})

t.test('a key has as many samples in work as it may; one request may bring more', async (t) => {
  const { held, score, server } = await limited(t, { max_samples: 3 })
  const five = score(burst, 'judged', ['a', 'b', 'c', 'd', 'e'])
  await server.saw(5)
  const refused = await score(burst, 'ruled')
  t.equal(refused.statusCode, 429)
  t.match(refused.json(), { error: { message: /5 samples in work/ } })
  t.equal((await score(calm, 'ruled')).statusCode, 200)
  for (const reply of held.splice(0)) reply()
  t.equal((await five).statusCode, 200)
  t.equal((await score(burst, 'ruled', ['1', '1', '1'])).statusCode, 200)
})

t.test(
  "one key's burst keeps another key's question waiting no longer than its own share of the line",
  async (t) => {
    const { held, score, server } = await limited(t, { max_samples: 4 }, 1)
    const statuses: number[] = []
    const all = Array.from({ length: 50 }, async (_, at) => {
      const { statusCode } = await score(burst, 'judged', [`b${at}`])
      statuses.push(statusCode)
    })
    while (statuses.length < 46) await setImmediate()
    t.strictSame(new Set(statuses), new Set([429]))
    const other = score(calm, 'judged', ['calm'])
    for (let asked = 1; asked <= 5; asked++) {
      await server.saw(asked)
      for (const reply of held.splice(0)) reply()
    }
    t.equal((await other).statusCode, 200)
    t.match(JSON.stringify(server.seen[4]?.body), /calm/, 'four questions of the burst are before it')
    await Promise.all(all)
    t.strictSame(statuses.slice(46), [200, 200, 200, 200])
  },
)

t.test(
  'a key sends a second of its rate at once, then as time passes, and is told how long to wait',
  async (t) => {
    const { clock, score } = await limited(t, { rate_per_s: 2 })
    const status = async () => (await score(burst, 'ruled')).statusCode
    t.strictSame([await status(), await status(), await status()], [200, 200, 429])
    t.equal((await score(calm, 'ruled')).statusCode, 200)
    clock.advance(400)
    t.equal(await status(), 429)
    clock.advance(100)
    t.strictSame([await status(), await status()], [200, 429])
    clock.advance(3_600_000)
    t.strictSame(
      [await status(), await status(), await status()],
      [200, 200, 429],
      'an idle hour is no credit',
    )
    const slow = await limited(t, { rate_per_s: 0.1 })
    t.equal((await slow.score(burst, 'ruled')).statusCode, 200)
    const refused = await slow.score(burst, 'ruled')
    t.equal(refused.headers['retry-after'], '10')
    const openai = await slow.app.inject({
      method: 'POST',
      url: '/v1/completions',
      headers: bearer(burst),
      payload: { model: 'judge', prompt: 'p' },
    })
    t.equal(openai.statusCode, 429)
    t.equal(openai.headers['retry-after'], '10')
    t.match(openai.json(), { error: { type: 'rate_limit_error' } })
  },
)

t.test('replies tell browsers to run nothing, and who sends too slowly is let go', async (t) => {
  const { app } = await limited(t, {})
  const reply = await app.inject('/livez')
  t.match(reply.headers, {
    'x-content-type-options': 'nosniff',
    'x-frame-options': 'DENY',
    'content-security-policy': /default-src 'none'/,
  })
  const docs = await app.inject('/docs/')
  t.equal(docs.statusCode, 200)
  t.match(docs.headers, { 'x-content-type-options': 'nosniff', 'content-security-policy': /'self'/ })
  t.match((await app.inject('/nowhere')).headers, { 'x-content-type-options': 'nosniff' })

  await app.listen({ port: 0 })
  const { port } = new URL(app.listeningOrigin)
  const sent = async (text: string) => {
    const socket = connect(Number(port), '127.0.0.1')
    socket.write(text)
    let received = ''
    for await (const chunk of socket) received += chunk
    return received
  }
  t.match(await sent('GET /livez HTTP/1.1\r\nhost: a\r\n'), /^HTTP\/1\.1 408 /, 'headers that never end')
  const head = `POST /v1/score HTTP/1.1\r\nhost: a\r\nauthorization: Bearer ${calm}\r\n`
  const body = 'content-type: application/json\r\ncontent-length: 100\r\n\r\n{'
  t.match(await sent(head + body), /^HTTP\/1\.1 408 /, 'a body that never ends')
})
