import t from 'tap'
import type { Models } from '../../src/models/models.ts'
import { fakeClock } from '../support/clock.ts'
import { failureOf, judge } from '../support/models.ts'
import { completion, hang, json, type Script } from '../support/scripted-server.ts'

const yes: Script = (seen) => completion(seen, 'Yes')
const broken: Script = (_seen, response) => json(response, {}, 500)

/** Lets the sockets speak until `done`, and what follows from it happen. */
const until = async (done: () => boolean) => {
  while (!done()) await new Promise(setImmediate)
  await new Promise(setImmediate)
}

const errorsOf = (models: Models): number =>
  models.snapshot()[0]?.instances.reduce((sum, { errors }) => sum + errors, 0) ?? 0

t.test('a failed call is made again at another instance', async (t) => {
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
    const { ask, models, server } = await judge(
      t,
      [
        (seen, response) => {
          calls += 1
          if (calls === 1) return void response.destroy()
          return completion(seen, 'Yes')
        },
      ],
      { retry: { pause_ms: 100 } },
      { clock, random: () => 0.5 },
    )
    const asked = ask('q')
    await until(() => errorsOf(models) === 1)
    clock.advance(99)
    t.equal(server.seen.length, 1)
    clock.advance(1)
    t.equal((await asked).attempts, 2)
  },
)

t.test('half a body with its length promised is a broken connection', async (t) => {
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

t.test('a call that takes too long is ended upstream and made elsewhere', async (t) => {
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

t.test('a call is ended when the last of its callers has gone, not before', async (t) => {
  const { ask, server } = await judge(t, [hang])
  const [one, two, three] = [new AbortController(), new AbortController(), new AbortController()]
  const first = failureOf(ask('q', { signal: one.signal }))
  const second = failureOf(ask('q', { signal: two.signal }))
  await server.saw(1)
  one.abort()
  t.match(await first, { kind: 'cancelled' })
  const third = failureOf(ask('q', { signal: three.signal }))
  two.abort()
  await second
  let isClosed = false
  const closed = server.seen[0]?.closed.then(() => {
    isClosed = true
  })
  await new Promise(setImmediate)
  t.equal(isClosed, false)
  three.abort()
  await Promise.all([third, closed])
  t.equal(server.seen.length, 1)
  t.match(await failureOf(ask('q', { signal: one.signal })), { kind: 'cancelled' })
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

t.test('an instance that fails again and again is left alone, then tried with one question', async (t) => {
  const clock = fakeClock()
  const told: string[] = []
  const { ask, models, server } = await judge(
    t,
    [broken, yes],
    { breaker: { failures: 3, open_s: 5 }, retry: { budget: 1 } },
    {
      clock,
      random: () => 0,
      events: { ejected: ({ reason }) => told.push(reason), readmitted: () => told.push('back') },
    },
  )
  for (let i = 0; i < 10; i += 1) await ask(`q${i}`)
  t.equal(server.seen.length, 3)
  t.match(models.snapshot()[0]?.instances, [{ state: 'ejected', errors: 3 }, { state: 'ready' }])
  clock.advance(5000)
  t.equal(models.snapshot()[0]?.instances[0]?.state, 'trial')
  await ask('trial')
  t.equal(server.seen.length, 4)
  clock.advance(5000)
  await ask('still out: the pause has doubled')
  t.equal(server.seen.length, 4)
  clock.advance(5000)
  server.script = yes
  await ask('well again')
  t.equal(server.seen.length, 5)
  t.equal(models.snapshot()[0]?.instances[0]?.state, 'ready')
  t.strictSame(told, ['its calls fail', 'its calls fail', 'back'])
})

t.test('where no instance lives, questions wait a while for one and then fail', async (t) => {
  const clock = fakeClock()
  const { ask, server } = await judge(
    t,
    [yes],
    { retry: { max: 0 }, wait_for_instance_s: 2, breaker: { open_s: 30 } },
    { clock },
  )
  await server.kill()
  t.match(await failureOf(ask('q1')), { kind: 'judge_unreachable', attempts: [{ error: /ECONNREFUSED/ }] })
  const waiting = failureOf(ask('q2'))
  const short = failureOf(ask('q3', { deadline: 1000 }))
  await until(() => clock.pending >= 4)
  clock.advance(1000)
  t.match(await short, { kind: 'judge_unreachable' })
  clock.advance(1000)
  t.match(await waiting, { kind: 'judge_unreachable', retryable: true })
  t.match(await failureOf(ask('q4')), { kind: 'judge_unreachable' })
})

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
})

t.test('probes eject an instance that is ill or serves another model, and take it back', async (t) => {
  const clock = fakeClock()
  const told: string[] = []
  const events = {
    ejected: ({ reason }: { reason: string }) => told.push(reason),
    readmitted: () => told.push('back'),
  }
  const { models, server } = await judge(
    t,
    [yes],
    { health: { interval_s: 10, failures: 2 } },
    { clock, events },
  )
  const state = () => models.snapshot()[0]?.instances[0]?.state
  const probe = async (wanted: string | undefined) => {
    await until(() => clock.pending > 0)
    while (state() !== wanted) {
      clock.advance(250)
      await new Promise(setImmediate)
    }
  }
  server.healthy = false
  await probe('ejected')
  server.healthy = true
  await probe('ready')
  server.served = ['other']
  await probe('other-model')
  server.served = ['m', 'other']
  await probe('ready')
  t.strictSame(told, ['its health probe fails', 'back', 'it serves another model', 'back'])
})

t.test('closing ends what is under way', async (t) => {
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
