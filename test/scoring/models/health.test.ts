import t from 'tap'
import { systemClock } from '../../../src/core/clock.ts'
import { openModels } from '../../../src/scoring/models/models.ts'
import { fakeClock } from '../../support/clock.ts'
import { configOf, failsSoon, failureOf, judge, question, until } from '../../support/models.ts'
import { completion, json, type Script, scriptedServer } from '../../support/scripted-server.ts'

const yes: Script = (seen) => completion(seen, 'Yes')
const broken: Script = (_seen, response) => json(response, {}, 500)

t.test('an instance that keeps failing', async (t) => {
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
  const state = () => models.snapshot()[0]?.instances[0]?.state

  await t.test('is ejected after the configured number of failures in a row', async (t) => {
    for (let i = 0; i < 10; i += 1) await ask(`q${i}`)
    t.equal(server.seen.length, 3)
    t.match(models.snapshot()[0]?.instances, [{ state: 'ejected', errors: 3 }, { state: 'ready' }])
  })

  await t.test('is tried with one question after a pause', async (t) => {
    clock.advance(5000)
    t.equal(state(), 'trial')
    await Promise.all([ask('trial'), ask('beside it'), ask('and another')])
    t.equal(server.seen.length, 4)
  })

  await t.test('has twice the pause when its trial fails', async (t) => {
    clock.advance(5000)
    await ask('still out')
    t.equal(server.seen.length, 4)
  })

  await t.test('is ready again after a trial that succeeds', async (t) => {
    clock.advance(5000)
    server.script = yes
    await ask('well again')
    t.equal(server.seen.length, 5)
    t.equal(state(), 'ready')
    t.strictSame(told, ['its calls fail', 'back'])
  })

  await t.test('is not ejected for failures between good answers', async (t) => {
    for (let i = 0; i < 6; i += 1) {
      server.script = broken
      for (const at of [1, 2]) await ask(`failure ${at} of three in a row, ${i}`)
      server.script = yes
      await ask(`a good answer, ${i}`)
    }
    t.equal(state(), 'ready')
  })
})

const unavailable =
  (retryAfter = ''): Script =>
  (_seen, response) =>
    void response.writeHead(503, retryAfter === '' ? {} : { 'retry-after': retryAfter }).end()

t.test('a server that only answers 503', async (t) => {
  const clock = fakeClock()
  const { ask, models, server } = await judge(
    t,
    [unavailable(), yes],
    { breaker: { failures: 3, open_s: 5 }, retry: { budget: 1 } },
    { clock, random: () => 0 },
  )
  const state = () => models.snapshot()[0]?.instances[0]?.state

  await t.test('is not ejected within a second: so many questions at once may be too many', async (t) => {
    for (let i = 0; i < 20; i += 1) await ask(`at once ${i}`)
    t.equal(state(), 'ready')
    t.equal(server.seen.length, 20)
  })

  await t.test('is ejected after a second, and its questions go to others', async (t) => {
    clock.advance(1000)
    await ask('a second later')
    t.equal(state(), 'ejected')
    for (let i = 0; i < 20; i += 1) await ask(`elsewhere ${i}`)
    t.equal(server.seen.length, 21)
  })

  await t.test('stays out when its trial is answered with 503, with Retry-After or without', async (t) => {
    clock.advance(5000)
    await Promise.all([ask('trial'), ask('beside it')])
    t.equal(server.seen.length, 22)
    t.equal(state(), 'ejected')
    clock.advance(10_000)
    server.script = unavailable('1')
    await ask('second trial')
    t.equal(state(), 'ejected')
  })

  await t.test('is ready again after a trial that succeeds', async (t) => {
    clock.advance(20_000)
    server.script = yes
    await ask('well again')
    t.equal(state(), 'ready')
  })
})

t.test('questions wait for a server that only answers 503, and spend no retries on it', async (t) => {
  const clock = fakeClock()
  const { ask, models, server } = await judge(
    t,
    [unavailable()],
    { breaker: { failures: 2, open_s: 5 }, retry: { max: 0 } },
    { clock, random: () => 0 },
  )
  t.match(await failureOf(ask('first')), { kind: 'overloaded' })
  clock.advance(1000)
  const asked = [1, 2, 3].map((at) => ask(`parked ${at}`, { deadline: 1_000_000 }))
  await until(() => models.snapshot()[0]?.parked?.questions === 3)
  for (let i = 0; i < 5; i += 1) {
    const { length } = server.seen
    clock.advance(60_000)
    await until(() => server.seen.length > length && models.snapshot()[0]?.instances[0]?.state === 'ejected')
  }
  server.script = yes
  clock.advance(60_000)
  for (const { answer } of await Promise.all(asked)) t.equal(answer.text, 'Yes')
})

t.test('an overloaded server is not treated as down', async (t) => {
  const clock = fakeClock()
  let calls = 0
  const everyTenth: Script = (seen, response) => {
    calls += 1
    return calls % 10 === 0 ? completion(seen, 'Yes') : unavailable()(seen, response)
  }
  const { ask, models, server } = await judge(
    t,
    [everyTenth, yes],
    { breaker: { failures: 5, open_s: 5 }, retry: { budget: 1 } },
    { clock, random: () => 0 },
  )
  const state = () => models.snapshot()[0]?.instances[0]?.state
  for (let i = 0; i < 40; i += 1) {
    await ask(`some are answered ${i}`)
    clock.advance(100)
    t.equal(state(), 'ready')
  }
  server.script = unavailable('2')
  for (let i = 0; i < 10; i += 1) {
    await ask(`it says when ${i}`)
    clock.advance(2000)
    t.equal(state(), 'ready', 'it is left alone for as long as it says')
  }
})

t.test('a server may answer only 503 for twice its latency before it counts as down', async (t) => {
  const clock = fakeClock()
  const slow: Script = (seen) => {
    clock.advance(3000)
    return completion(seen, 'Yes')
  }
  const { ask, models, server } = await judge(
    t,
    [slow],
    { breaker: { failures: 2, open_s: 5 }, retry: { max: 0 }, timeout_s: 100, ...failsSoon },
    { clock, random: () => 0 },
  )
  const state = () => models.snapshot()[0]?.instances[0]?.state
  await ask('slow')
  server.script = unavailable()
  const refuse = async (name: string) => t.match(await failureOf(ask(name)), { kind: 'overloaded' })
  await refuse('first')
  clock.advance(5900)
  await refuse('while others may be at work')
  t.equal(state(), 'ready')
  clock.advance(100)
  await refuse('no more')
  t.equal(state(), 'ejected')
})

t.test('a refused connection makes the next probe come within a second', async (t) => {
  const clock = fakeClock()
  const { ask, models, server } = await judge(
    t,
    [yes],
    {
      health: { interval_s: 3600 },
      breaker: { open_s: 3600 },
      retry: { max: 0 },
      ...failsSoon,
    },
    { clock },
  )
  const state = () => models.snapshot()[0]?.instances[0]?.state
  await server.kill()
  t.match(await failureOf(ask('refused')), { kind: 'judge_unreachable' })
  t.equal(state(), 'ejected')
  await server.revive()
  clock.advance(1000)
  for (let turn = 0; turn < 2000 && state() !== 'ready'; turn += 1) await new Promise(setImmediate)
  t.equal(state(), 'ready')
})

t.test('refused questions do not eject a server, and show that it is alive', async (t) => {
  const clock = fakeClock()
  const refuse: Script = (_seen, response) => json(response, { error: { message: 'no such field' } }, 400)
  const { ask, models, server } = await judge(
    t,
    [refuse],
    { breaker: { failures: 2, open_s: 5 }, retry: { max: 0 } },
    { clock },
  )
  const state = () => models.snapshot()[0]?.instances[0]?.state
  for (let i = 0; i < 10; i += 1) t.match(await failureOf(ask(`q${i}`)), { kind: 'judge_rejected' })
  t.equal(state(), 'ready')
  server.script = broken
  for (let i = 0; i < 2; i += 1) await failureOf(ask(`r${i}`))
  t.equal(state(), 'ejected')
  clock.advance(5000)
  server.script = refuse
  t.match(await failureOf(ask('trial')), { kind: 'judge_rejected' })
  t.equal(state(), 'ready')
})

t.test('without a live instance, questions wait for the configured time and then fail', async (t) => {
  const clock = fakeClock()
  const { ask, server } = await judge(
    t,
    [yes],
    { retry: { max: 0 }, wait_for_instance: 2, breaker: { open_s: 30 } },
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

t.test('the wait for an instance starts over after one was alive', async (t) => {
  const clock = fakeClock()
  const held: (() => void)[] = []
  const { ask, models, server } = await judge(
    t,
    [broken],
    { retry: { max: 0 }, max_in_flight: 1, wait_for_instance: 2, breaker: { failures: 1, open_s: 1 } },
    { clock },
  )
  await failureOf(ask('q1'))
  clock.advance(1000)
  server.script = yes
  await ask('trial')
  server.script = (seen, response) => void held.push(() => json(response, completion(seen, 'Yes')))
  const asked = [ask('q2'), ask('q3')]
  await until(() => held.length === 1)
  clock.advance(1500)
  t.equal(models.snapshot()[0]?.waiting, 1, 'two seconds after it was lost')
  held.pop()?.()
  await until(() => held.length === 1)
  held.pop()?.()
  t.equal((await Promise.all(asked)).length, 2)
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

t.test(
  'one failed probe ejects nothing; one good probe takes back; who is removed is not probed',
  async (t) => {
    const clock = fakeClock()
    const told: string[] = []
    const { ask, models, server } = await judge(
      t,
      [broken],
      { health: { interval_s: 10, failures: 2 }, breaker: { failures: 1, open_s: 60 }, retry: { max: 0 } },
      { clock, events: { ejected: ({ reason }) => told.push(reason) } },
    )
    let probes = 0
    Object.defineProperty(server, 'healthy', { get: () => ++probes % 2 === 0 })
    const pass = async (ms: number) => {
      for (const until = clock.now() + ms; clock.now() < until; clock.advance(250))
        await new Promise(setImmediate)
    }
    while (probes < 10) await pass(1000)
    t.strictSame(told, [], 'every other probe fails')
    Object.defineProperty(server, 'healthy', { value: true })
    t.match(await failureOf(ask('q')), { kind: 'judge_unreachable' })
    t.strictSame(told, ['its calls fail'])
    await models.removeInstance('judge', server.url)
    await pass(10_000)
    t.equal(clock.pending, 0, 'no timer is left of it')
  },
)

t.test('successful probes do not close the breaker of a server that fails its questions (M27)', async (t) => {
  const clock = fakeClock()
  const { ask, models, server } = await judge(
    t,
    [broken],
    {
      health: { interval_s: 1 },
      breaker: { failures: 2, open_s: 4 },
      retry: { max: 0 },
      wait_for_instance: 0,
    },
    { clock },
  )
  const asked = async (seconds: number) => {
    for (let at = 0; at < seconds * 4; at += 1) {
      await failureOf(ask(`${clock.now()}`))
      clock.advance(250)
      for (let turn = 0; turn < 20; turn += 1) await new Promise(setImmediate)
    }
  }
  await asked(30)
  // Two to open it; one trial each after 4, 8 and 16 s.
  t.equal(server.seen.length, 5)
  t.equal(models.snapshot()[0]?.instances[0]?.state, 'ejected')
})

t.test("one model's bad key does not affect other models at the server (M23)", async (t) => {
  const server = await scriptedServer((seen, response) =>
    seen.headers.authorization === 'Bearer good' ? completion(seen, 'Yes') : json(response, {}, 401),
  )
  t.teardown(() => server.kill())
  server.key = 'Bearer good'
  const config = (key: string) => configOf([server.url], { api_key_env: key, health: { interval_s: 0.05 } })
  const models = openModels(
    { judge: config('GOOD'), other: config('EXPIRED') },
    { clock: systemClock, env: { GOOD: 'good', EXPIRED: 'expired' } },
  )
  t.teardown(() => models.close())
  const stateOf = (at: number) => models.snapshot()[at]?.instances[0]?.state
  await until(() => stateOf(0) === 'ready' && stateOf(1) === 'ejected')
  for (let i = 0; i < 50; i += 1) {
    t.match(await models.ask(question(`q${i}`, systemClock.now() + 10_000)), { answer: { text: 'Yes' } })
    await failureOf(models.ask({ ...question(`q${i}`, systemClock.now() + 20), model: 'other' }))
  }
  t.equal(stateOf(0), 'ready')
  t.equal(stateOf(1), 'ejected')
})
