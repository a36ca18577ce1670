import t from 'tap'
import type { Models } from '../../../src/scoring/models/models.ts'
import { fakeClock } from '../../support/clock.ts'
import { failureOf, judge, until } from '../../support/models.ts'
import { completion, hang, json, type Script } from '../../support/scripted-server.ts'

const yes: Script = (seen) => completion(seen, 'Yes')
const broken: Script = (_seen, response) => json(response, {}, 500)

const errorsOf = (models: Models): number =>
  models.snapshot()[0]?.instances.reduce((sum, { errors }) => sum + errors, 0) ?? 0

t.test('a failed call is retried at another instance', async (t) => {
  const { ask, server, servers } = await judge(t, [broken, yes], { retry: { budget: 1 } })
  for (let i = 0; i < 20; i += 1) t.equal((await ask(`q${i}`)).instance, servers[1]?.url)
  t.ok(server.seen.length > 0)
  t.equal(servers[1]?.seen.length, 20)
})

t.test(
  'a broken connection is not an answer, and the only instance is tried again after a pause',
  async (t) => {
    const clock = fakeClock()
    let calls = 0
    const begun: number[] = []
    const { ask, models } = await judge(
      t,
      [
        (seen, response) => {
          calls += 1
          if (calls === 1) return void response.destroy()
          return completion(seen, 'Yes')
        },
      ],
      { retry: { pause_ms: 100 } },
      { clock, random: () => 0.5, events: { callStarted: () => begun.push(1) } },
    )
    const asked = ask('q')
    await until(() => errorsOf(models) === 1)
    clock.advance(99)
    await until(() => true)
    t.equal(begun.length, 1)
    clock.advance(1)
    t.equal((await asked).attempts, 2)
  },
)

t.test('a retry that must queue waits for another instance', async (t) => {
  const held: ((status?: number) => void)[][] = [[], []]
  const hold =
    (at: number): Script =>
    (seen, response) =>
      void held[at]?.push((status) => json(response, completion(seen, 'Yes'), status))
  const { ask, models, servers } = await judge(
    t,
    [hold(0), hold(1)],
    { max_in_flight: 1, retry: { budget: 1 } },
    { random: () => 0 },
  )
  const [first, second] = servers
  const asked = [ask('a')]
  await first?.saw(1)
  asked.push(ask('b'))
  await second?.saw(1)
  held[0]?.pop()?.(500)
  await until(() => models.snapshot()[0]?.waiting === 1)
  asked.push(ask('c'))
  await first?.saw(2)
  held[0]?.pop()?.()
  await asked[2]
  t.equal(models.snapshot()[0]?.waiting, 1, 'although the place where it failed is free')
  held[1]?.pop()?.()
  await second?.saw(2)
  held[1]?.pop()?.()
  t.match(await asked[0], { instance: second?.url, attempts: 2 })
})

t.test('a body shorter than its content-length is a broken connection', async (t) => {
  const { ask } = await judge(
    t,
    [
      (_seen, response) => {
        response.writeHead(200, { 'content-length': '500' }).write('{"model":"m",')
        setImmediate(() => response.destroy())
      },
      yes,
    ],
    { retry: { budget: 1 } },
  )
  for (let i = 0; i < 8; i += 1) t.equal((await ask(`q${i}`)).answer.text, 'Yes')
})

t.test('a call that takes too long is aborted and retried elsewhere', async (t) => {
  const clock = fakeClock()
  const { ask, models, server, servers } = await judge(
    t,
    [hang, hang],
    { timeout_s: 3 },
    { clock, random: () => 0 },
  )
  const asked = ask('q')
  await server.saw(1)
  clock.advance(3000)
  await server.seen[0]?.closed
  await servers[1]?.saw(1)
  clock.advance(3000)
  await until(() => errorsOf(models) === 2)
  clock.advance(1000)
  await server.saw(2)
  clock.advance(3000)
  const failure = await failureOf(asked)
  t.match(failure, { kind: 'judge_timeout', retryable: true })
  t.strictSame(
    failure.attempts?.map(({ ms, error }) => [ms, error]),
    [1, 2, 3].map(() => [3000, 'no answer within 3 s']),
  )
  t.strictSame(
    models.snapshot()[0]?.instances.map(({ inFlight }) => inFlight),
    [0, 0],
  )
})

t.test('the deadline ends the wait and the call, whatever the timeout', async (t) => {
  const clock = fakeClock(1000)
  const { ask, server } = await judge(t, [hang], {}, { clock })
  const asked = ask('q', { deadline: 1500 })
  await server.saw(1)
  clock.advance(500)
  t.match(await failureOf(asked), { kind: 'deadline', retryable: true })
  await server.seen[0]?.closed
  t.match(await failureOf(ask('late', { deadline: 1500 })), { kind: 'deadline' })
  t.equal(server.seen.length, 1)
})

t.test(
  'calls under way and questions in line are bounded; what does not fit is refused at once',
  async (t) => {
    const held: (() => void)[] = []
    const { ask, models, server } = await judge(
      t,
      [(seen, response) => void held.push(() => json(response, completion(seen, 'Yes')))],
      { max_in_flight: 2, max_queue: 3 },
    )
    const asked = [1, 2, 3, 4, 5].map((i) => ask(`q${i}`))
    await server.saw(2)
    t.match(models.snapshot(), [{ waiting: 3, instances: [{ inFlight: 2, state: 'ready' }] }])
    t.match(await failureOf(ask('q6')), { kind: 'overloaded', retryable: true })
    t.equal(server.seen.length, 2)
    for (let done = 0; done < 5; done += 1) {
      await until(() => held.length > 0)
      held.shift()?.()
    }
    t.equal((await Promise.all(asked)).length, 5)
    t.match(models.snapshot(), [{ waiting: 0, instances: [{ inFlight: 0, calls: 5, errors: 0 }] }])
  },
)

t.test('Retry-After is honoured', async (t) => {
  const clock = fakeClock()
  const { ask, models, server } = await judge(
    t,
    [(_seen, response) => void response.writeHead(503, { 'retry-after': '7' }).end()],
    { retry: { pause_ms: 0 } },
    { clock },
  )
  const asked = ask('q')
  await until(() => errorsOf(models) === 1)
  server.script = yes
  clock.advance(6999)
  await new Promise(setImmediate)
  t.equal(server.seen.length, 1)
  clock.advance(1)
  t.equal((await asked).attempts, 2)
})

t.test('a short Retry-After does not end a long rest', async (t) => {
  const clock = fakeClock()
  const waits = ['60', '1', '0']
  const { ask, models, server } = await judge(
    t,
    [
      (_seen, response) =>
        void setImmediate(() => response.writeHead(503, { 'retry-after': waits.shift() ?? '' }).end()),
    ],
    { retry: { max: 0 } },
    { clock },
  )
  const failed = [1, 2, 3].map((at) => failureOf(ask(`q${at}`)))
  for (const one of await Promise.all(failed)) t.match(one, { kind: 'overloaded' })
  server.script = yes
  const after = ask('after', { deadline: 100_000 })
  clock.advance(59_999)
  await until(() => models.snapshot()[0]?.waiting === 1)
  t.equal(server.seen.length, 3)
  clock.advance(1)
  t.equal((await after).answer.text, 'Yes')
})

t.test('a spent retry budget ends the storm', async (t) => {
  const denied: string[] = []
  const { ask, server, servers } = await judge(
    t,
    [broken, broken],
    { max_in_flight: 5, retry: { pause_ms: 0, budget: 0.2, max: 10 }, breaker: { failures: 10_000 } },
    { events: { retryDenied: ({ model }) => denied.push(model) } },
  )
  for (let i = 0; i < 100; i += 1) await failureOf(ask(`q${i}`))
  const calls = server.seen.length + (servers[1]?.seen.length ?? 0)
  t.ok(calls <= 100 + 10 + 20, `${calls} calls`)
  t.ok(denied.length > 0)
  const none = await judge(t, [broken, yes], { retry: { budget: 0, max: 10 } }, { random: () => 0 })
  const { kind, attempts } = await failureOf(none.ask('q'))
  t.strictSame([kind, attempts?.length], ['judge_unreachable', 1])
  t.equal(none.servers[1]?.seen.length, 0, 'a budget of 0 pays for no further call')
})

t.test('a slot that nobody waits for any more is released unused', async (t) => {
  const gone = new AbortController()
  const begun: string[] = []
  const { ask, models, server } = await judge(
    t,
    [yes],
    { max_in_flight: 1 },
    // The next in line has its place by now, and has not been told of it.
    { events: { callStarted: () => begun.push('call'), callEnded: () => gone.abort() } },
  )
  const first = ask('first')
  const lost = failureOf(ask('second', { signal: gone.signal }))
  await first
  t.match(await lost, { kind: 'cancelled' })
  t.equal(begun.length, 1)
  t.equal(server.seen.length, 1)
  t.match(models.snapshot(), [{ waiting: 0, instances: [{ inFlight: 0 }] }])
  t.match(await ask('third'), { attempts: 1 })
})

t.test('closing aborts calls in flight', async (t) => {
  const { ask, models, server } = await judge(t, [hang], { max_in_flight: 1 })
  const asked = [failureOf(ask('q1')), failureOf(ask('q2'))]
  await server.saw(1)
  await models.close()
  t.strictSame(
    (await Promise.all(asked)).map(({ kind }) => kind),
    ['cancelled', 'cancelled'],
  )
  await server.seen[0]?.closed
  t.match(await failureOf(models.ask({ model: 'x' } as never)), { kind: 'judge_rejected' })
})
