import { once } from 'node:events'
import { type AddressInfo, connect } from 'node:net'
import Fastify from 'fastify'
import t from 'tap'
import type { FailureKind } from '../../../src/core/sample/sample.ts'
import type { Scored } from '../../../src/scoring/gateway/gateway.ts'
import { createApp } from '../../../src/serving/http/app.ts'
import { Repeats } from '../../../src/serving/http/repeats.ts'
import { disconnectSignal } from '../../../src/serving/http/request-context.ts'
import { openMetrics } from '../../../src/serving/telemetry/metrics/metrics.ts'
import { fakeClock } from '../../support/clock.ts'
import { testGateway } from '../../support/gateway.ts'

const limits = { keepMs: 1000, maxEntries: 3, maxBytes: 10_000 }
const scored = (reward: number): Scored => ({
  version: 'v',
  outcomes: [{ id: '0', terms: [], flags: [], valid: true, reward }],
})
const failed = (kind: FailureKind, retryable: boolean): Scored => ({
  version: 'v',
  outcomes: [
    {
      id: '0',
      terms: [],
      flags: [],
      valid: false,
      failure: { kind, retryable, detail: '' },
      substitute: null,
    },
  ],
})

/** Work that ends on command and counts how often it was started. */
function work() {
  const begun: { signal: AbortSignal; end(scored: Scored): void; fail(error: Error): void }[] = []
  const run = (signal: AbortSignal) =>
    new Promise<Scored>((end, fail) => {
      begun.push({ signal, end, fail })
    })
  return { begun, run }
}

const stays = () => new AbortController().signal

t.test('an identical request joins the first, then gets the same outcome until it expires', async (t) => {
  const clock = fakeClock()
  const repeats = new Repeats(clock, limits)
  const { begun, run } = work()
  const both = [repeats.join('a', stays(), run), repeats.join('a', stays(), run)]
  t.equal(begun.length, 1)
  begun[0]?.end(scored(1))
  t.strictSame(await Promise.all(both), [scored(1), scored(1)])
  clock.advance(999)
  t.strictSame(await repeats.join('a', stays(), run), scored(1))
  clock.advance(2)
  void repeats.join('a', stays(), run)
  t.equal(begun.length, 2)
})

t.test('outcomes that a retry may improve are not kept, nor are errors', async (t) => {
  const repeats = new Repeats(fakeClock(), limits)
  const { begun, run } = work()
  const first = repeats.join('a', stays(), run)
  begun[0]?.end(failed('judge_timeout', true))
  t.match(await first, failed('judge_timeout', true))
  const second = repeats.join('a', stays(), run)
  begun[1]?.fail(new Error('overloaded'))
  await t.rejects(second, /overloaded/)
  const third = repeats.join('a', stays(), run)
  begun[2]?.end(failed('rule_error', false))
  await third
  t.match(await repeats.join('a', stays(), run), failed('rule_error', false))
  t.equal(begun.length, 3)
  void repeats.join('b', stays(), run)
  begun[3]?.end(failed('judge_rejected', false))
  void repeats.join('c', stays(), run)
  await Promise.resolve()
  void repeats.join('b', stays(), run)
  t.equal(begun.length, 6, 'another server may not refuse')
})

t.test('work is aborted once every waiting client has gone, and a retry starts again', async (t) => {
  const repeats = new Repeats(fakeClock(), limits)
  const { begun, run } = work()
  const clients = [new AbortController(), new AbortController()]
  const answers = clients.map(({ signal }) => repeats.join('a', signal, run))
  clients[0]?.abort()
  t.notOk(begun[0]?.signal.aborted)
  clients[1]?.abort()
  t.ok(begun[0]?.signal.aborted)
  const retry = repeats.join('a', stays(), run)
  t.equal(begun.length, 2)
  begun[1]?.end(scored(2))
  t.strictSame(await retry, scored(2))
  begun[0]?.end(failed('cancelled', false))
  await Promise.all(answers)
  t.strictSame(await repeats.join('a', stays(), run), scored(2), 'what was cancelled is not the answer')
})

t.test('kept outcomes are bounded in number and bytes', async (t) => {
  const repeats = new Repeats(fakeClock(), limits)
  const { begun, run } = work()
  const ask = async (key: string, answer: Scored) => {
    const before = begun.length
    const promise = repeats.join(key, stays(), run)
    begun[before]?.end(answer)
    await promise
    return begun.length > before
  }
  for (const key of ['a', 'b', 'c', 'd']) await ask(key, scored(1))
  t.equal(await ask('d', scored(1)), false)
  t.equal(await ask('a', scored(1)), true, 'the oldest went')
  const long = { version: 'v', outcomes: [{ ...(scored(1).outcomes[0] ?? never()), id: 'x'.repeat(20_000) }] }
  await ask('e', long)
  t.equal(await ask('e', long), true, 'too long to be kept')
})

const never = () => {
  throw new Error('unreachable')
}

t.test('a disconnect is noticed whether it comes before or after the check', async (t) => {
  const app = Fastify()
  let arrive = () => {}
  const arrived = new Promise<void>((resolve) => {
    arrive = resolve
  })
  let see = (_aborted: readonly boolean[]): void => {}
  const seen = new Promise<readonly boolean[]>((resolve) => {
    see = resolve
  })
  app.post('/', async (_request, reply) => {
    const before = disconnectSignal(reply)
    arrive()
    await once(reply.raw, 'close')
    see([before.aborted, disconnectSignal(reply).aborted])
    return {}
  })
  await app.listen({ port: 0, host: '127.0.0.1' })
  t.teardown(() => app.close())
  const client = connect((app.server.address() as AddressInfo).port, '127.0.0.1')
  client.write('POST / HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\ncontent-length: 2\r\n\r\n{}')
  await arrived
  client.destroy()
  t.strictSame(await seen, [true, true])
})

t.test('a gateway that leaves', async (t) => {
  const clock = fakeClock()
  const rewards = {
    gateway: { shutdown: { pre_stop_s: 2 } },
    ruled: { steps: [{ name: 'rule', function: 'echo-rule' }] },
  }
  const gateway = await testGateway(t, rewards, { clock })
  const metrics = openMetrics({ version: 'test', inFlight: () => 0 })
  const app = await createApp({ gateway, metrics, bodyLimit: 1 << 20 })
  t.teardown(() => app.close())
  const score = () =>
    app.inject({
      method: 'POST',
      url: '/v1/score',
      payload: { reward: 'ruled', samples: [{ response: '1' }] },
    })
  t.equal((await app.inject('/readyz')).statusCode, 200)
  t.not((await score()).headers.connection, 'close')
  let hasLeft = false
  const left = gateway.leave().then(() => {
    hasLeft = true
  })

  await t.test('is live but not ready, and says why', async (t) => {
    const ready = await app.inject('/readyz')
    t.equal(ready.statusCode, 503)
    t.match(ready.json(), { ready: false, missing: ['the gateway is closing'] })
    t.equal((await app.inject('/livez')).statusCode, 200)
  })

  await t.test('scores until its time is over, one request per connection', async (t) => {
    clock.advance(1999)
    const scored = await score()
    t.match(scored.json(), { results: [{ valid: true }] })
    t.equal(scored.headers.connection, 'close')
    t.notOk(hasLeft)
  })

  await t.test('closes then, and refuses what comes', async (t) => {
    clock.advance(1)
    await left
    await gateway.close()
    t.equal((await score()).statusCode, 503)
  })
})
