import { text } from 'node:stream/consumers'
import t from 'tap'
import { systemClock } from '../../src/clock.ts'
import { failureOf, judge } from '../support/models.ts'
import { completion, hang, json, type Script } from '../support/scripted-server.ts'

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

t.test('a stream comes piece by piece, and ends upstream when the client goes', async (t) => {
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

t.test('a request that cannot be passed on fails as a question does', async (t) => {
  const { models, server } = await judge(t, [(_seen, response) => json(response, {}, 500)], { max_queue: 0 })
  t.match(await failureOf(models.forward('judge', request())), { kind: 'judge_unreachable' })
  server.script = hang
  const late = models.forward('judge', request({ deadline: systemClock.now() + 20 }))
  t.match(await failureOf(late), { kind: 'cancelled' })
  const gone = failureOf(models.forward('judge', request({ signal: AbortSignal.abort() })))
  t.match(await gone, { kind: 'cancelled' })
  await t.rejects(models.forward('none', request()), { code: 'RG_NOT_FOUND' })
  t.equal(models.snapshot()[0]?.instances[0]?.inFlight, 0)
})
