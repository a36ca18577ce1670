import { text } from 'node:stream/consumers'
import t from 'tap'
import { systemClock } from '../../../src/core/clock.ts'
import { failureOf, judge } from '../../support/models.ts'
import { completion, hang, json, type Script } from '../../support/scripted-server.ts'

const yes: Script = (seen) => completion(seen, 'Yes')

const request = (more: object = {}) => ({
  path: '/v1/completions',
  body: { model: 'judge', prompt: 'q', n: 2 },
  deadline: systemClock.now() + 60_000,
  signal: new AbortController().signal,
  ...more,
})

t.test("a client's request goes to an instance under the served model's name", async (t) => {
  const { models, server } = await judge(t, [yes])
  const { status, contentType, body, instance } = await models.forward('judge', request())
  t.equal(models.snapshot()[0]?.instances[0]?.inFlight, 1)
  t.match(JSON.parse(await text(body)), { choices: [{ text: 'Yes' }] })
  t.strictSame([status, contentType, instance], [200, 'application/json', server.url])
  t.strictSame(server.seen[0]?.body, { model: 'm', prompt: 'q', n: 2 })
  await new Promise(setImmediate)
  t.equal(models.snapshot()[0]?.instances[0]?.inFlight, 0)
})

t.test('a stream is forwarded chunk by chunk, and aborted when the client leaves', async (t) => {
  const { models, server } = await judge(t, [
    (_seen, response) => {
      response.writeHead(200, { 'content-type': 'text/event-stream' })
      response.write('data: one\n\n')
    },
  ])
  const gone = new AbortController()
  const { contentType, body } = await models.forward('judge', request({ signal: gone.signal }))
  t.equal(contentType, 'text/event-stream')
  const [piece] = await body.take(1).toArray()
  t.equal(String(piece), 'data: one\n\n')
  gone.abort()
  await server.seen[0]?.closed
  while (models.snapshot()[0]?.instances[0]?.inFlight !== 0) await new Promise(setImmediate)
})

t.test(
  'what fails before the reply began is tried elsewhere; what the server says of the request is passed on',
  async (t) => {
    const { models, servers } = await judge(
      t,
      [(_seen, response) => json(response, {}, 503), (_seen, response) => void response.destroy(), yes],
      { retry: { max: 2, budget: 1 } },
    )
    for (let i = 0; i < 5; i += 1) {
      const { status, body, instance } = await models.forward('judge', request())
      await text(body)
      t.strictSame([status, instance], [200, servers[2]?.url])
    }
    const { models: refusing } = await judge(t, [(_seen, response) => json(response, { error: 'no' }, 400)])
    const { status, body } = await refusing.forward('judge', request())
    t.strictSame([status, await text(body)], [400, '{"error":"no"}'])
  },
)

t.test("the last server's error is forwarded with its status", async (t) => {
  const ends: string[] = []
  const { models, server } = await judge(
    t,
    [(_seen, response) => json(response, { error: 'full' }, 429)],
    { retry: { max: 1, budget: 1, pause_ms: 1 }, breaker: { failures: 1000 } },
    { events: { callEnded: ({ ask, outcome }) => ends.push(`${ask} ${outcome}`) } },
  )
  const full = await models.forward('judge', request())
  t.strictSame([full.status, await text(full.body)], [429, '{"error":"full"}'])
  t.equal(server.seen.length, 2, 'the only server is asked again after a pause')
  server.script = (_seen, response) => void response.writeHead(503, { 'retry-after': '0.01' }).end('down')
  const down = await models.forward('judge', request())
  t.strictSame([down.status, down.retryAfter, await text(down.body)], [503, '0.01', 'down'])
  t.strictSame(ends, Array(4).fill('forward overloaded'))
  const [{ instances } = { instances: [] }] = models.snapshot()
  t.match(instances, [{ inFlight: 0, calls: 4, errors: 4 }])
})

t.test('a forwarded request that no server replies to fails like a question', async (t) => {
  const once = { retry: { max: 0 } }
  const { models, server } = await judge(t, [(_seen, response) => void response.destroy()], once)
  t.match(await failureOf(models.forward('judge', request())), { kind: 'judge_unreachable' })
  server.script = hang
  const late = models.forward('judge', request({ deadline: systemClock.now() + 20 }))
  t.match(await failureOf(late), { kind: 'deadline' })
  const gone = failureOf(models.forward('judge', request({ signal: AbortSignal.abort() })))
  t.match(await gone, { kind: 'cancelled' })
  await t.rejects(models.forward('none', request()), { code: 'RG_NOT_FOUND' })
  t.equal(models.snapshot()[0]?.instances[0]?.inFlight, 0)
  const { models: slow } = await judge(t, [hang], { ...once, timeout_s: 0.02 })
  t.match(await failureOf(slow.forward('judge', request())), { kind: 'judge_timeout' })
  let nested: unknown = 1
  for (let depth = 0; depth < 20_000; depth += 1) nested = [nested]
  const deep = models.forward('judge', request({ body: { nested } }))
  t.match(await failureOf(deep), { kind: 'judge_rejected', detail: /nested too deeply/ })
})

t.test('a reply that breaks off also breaks off for the client', async (t) => {
  const ends: string[] = []
  const { models } = await judge(
    t,
    [
      (_seen, response) => {
        response.writeHead(200, { 'content-type': 'text/event-stream' })
        response.write('data: one\n\n')
        setImmediate(() => response.destroy())
      },
    ],
    {},
    { events: { callEnded: ({ outcome }) => ends.push(outcome) } },
  )
  const { body } = await models.forward('judge', request())
  await t.rejects(text(body))
  t.strictSame(ends, ['judge_unreachable'])
  t.equal(models.snapshot()[0]?.instances[0]?.inFlight, 0)
})

t.test('a forwarded reply longer than max_reply_bytes breaks off and frees its slot', async (t) => {
  for (const status of [200, 500]) {
    const { models } = await judge(
      t,
      [(_seen, response) => void response.writeHead(status).end('x'.repeat(100_000))],
      { max_reply_bytes: 2048, retry: { max: 0 } },
    )
    const passed = async () => text((await models.forward('judge', request())).body)
    await t.rejects(passed(), `status ${status}`)
    while (models.snapshot()[0]?.instances[0]?.inFlight !== 0) await new Promise(setImmediate)
  }
})
