import t from 'tap'
import { systemClock } from '../../../src/core/clock.ts'
import { openModels } from '../../../src/scoring/models/models.ts'
import { type FakeClock, fakeClock } from '../../support/clock.ts'
import { configOf, failureOf, judge, probesOff, question, until } from '../../support/models.ts'
import { completion, json, type Script, scriptedServer } from '../../support/scripted-server.ts'

const yes: Script = (seen) => completion(seen, 'Yes')
const broken: Script = (_seen, response) => json(response, {}, 500)
const deadline = 600_000

/** Lets so much time go by in steps of a quarter of a second, and the sockets speak in between. */
async function pass(clock: FakeClock, ms: number): Promise<void> {
  for (const end = clock.now() + ms; clock.now() < end; clock.advance(Math.min(250, end - clock.now())))
    for (let turn = 0; turn < 5; turn += 1) await new Promise(setImmediate)
}

t.test(
  'questions of a judge that is away for five minutes are asked once when it is back (M54)',
  async (t) => {
    const clock = fakeClock()
    let [open, most, isSlow] = [0, 0, false]
    const counted: Script = (seen, response) => {
      open += 1
      most = Math.max(most, open)
      response.on('close', () => {
        open -= 1
      })
      if (isSlow) clock.after(100, () => json(response, completion(seen, 'Yes')))
      else json(response, completion(seen, 'Yes'))
    }
    const { ask, models, servers } = await judge(t, [counted, counted], { max_in_flight: 4 }, { clock })
    t.ok(await ask('before'))
    await Promise.all(servers.map((server) => server.kill()))
    const questions = Array.from({ length: 300 }, (_, i) => ask(`q${i}`, { deadline }))
    await pass(clock, 300_000)
    t.match(models.snapshot(), [{ parked: { questions: 300 }, waiting: 300 }])
    most = 0
    isSlow = true
    await Promise.all(servers.map((server) => server.revive()))
    // The pause of the breaker has grown to a minute by then; where there are probes, they are sooner.
    await pass(clock, 60_000)
    const answers = await Promise.all(questions)
    t.equal(answers.length, 300)
    t.equal(servers[0]?.seen.length ?? 0, 301 - (servers[1]?.seen.length ?? 0), 'nothing is asked twice')
    t.equal(most, 8, 'at two servers of four places')
    t.match(models.snapshot(), [{ parked: null, waiting: 0 }])
    t.equal(clock.pending, 0, 'no timer is left')
  },
)

t.test('calls lost with the last server are retried, whatever retries are left (M54)', async (t) => {
  const clock = fakeClock()
  for (const retry of [{ max: 0 }, { budget: 0 }, { max: 2, budget: 0.2 }]) {
    const { ask, models, server } = await judge(t, [() => undefined], { retry }, { clock })
    const asked = Array.from({ length: 20 }, (_, i) => ask(`q${i}`, { deadline: clock.now() + deadline }))
    await server.saw(20)
    await server.kill()
    await pass(clock, 100_000)
    t.match(models.snapshot(), [{ parked: { questions: 20 } }], JSON.stringify(retry))
    server.script = yes
    await server.revive()
    await pass(clock, 60_000)
    t.equal((await Promise.all(asked)).length, 20)
    t.equal(server.seen.length, 40)
  }
})

t.test(
  'a question that crashes servers is not retried forever, even if no other is alive (M54)',
  async (t) => {
    const clock = fakeClock()
    const { ask, server } = await judge(t, [broken], { breaker: { failures: 1, open_s: 1 } }, { clock })
    const failed = failureOf(ask('poison', { deadline }))
    await pass(clock, 10_000)
    t.match(await failed, { kind: 'judge_unreachable', attempts: { length: 3 } })
    t.equal(server.seen.length, 3)
  },
)

t.test('a question fails only at its deadline, and says how long it was parked (M54)', async (t) => {
  const clock = fakeClock()
  const { ask, server } = await judge(t, [yes], {}, { clock })
  await server.kill()
  const failed = failureOf(ask('q', { deadline: 400_000 }))
  let isOver = false
  void failed.then(() => {
    isOver = true
  })
  await pass(clock, 399_000)
  t.notOk(isOver)
  await pass(clock, 1000)
  t.match(await failed, {
    kind: 'judge_unreachable',
    retryable: true,
    detail: /no instance of the model 'judge' answers; the question was parked for (399\.\d|400) s/,
  })
})

t.test('a client that leaves while its question is parked leaves nothing behind (M54)', async (t) => {
  const clock = fakeClock()
  const { ask, models, server } = await judge(t, [yes], {}, { clock })
  await server.kill()
  const stays = ask('stays', { deadline })
  const gone = new AbortController()
  const left = Array.from({ length: 100 }, (_, i) =>
    failureOf(ask(`q${i}`, { deadline, signal: gone.signal })),
  )
  await until(() => models.snapshot()[0]?.waiting === 101)
  gone.abort()
  for (const one of await Promise.all(left)) t.match(one, { kind: 'cancelled' })
  await until(() => models.snapshot()[0]?.parked?.questions === 1)
  t.equal(models.snapshot()[0]?.waiting, 1)
  await server.revive()
  await pass(clock, 60_000)
  t.ok(await stays)
  t.equal(server.seen.length, 1, 'only the one that stayed is asked')
  t.equal(clock.pending, 0)
})

t.test('parked questions have a bound of bytes for all models together (M54)', async (t) => {
  const clock = fakeClock()
  const server = await scriptedServer(yes)
  const config = configOf([server.url], probesOff)
  const models = openModels(
    { judge: config, other: { ...config, max_queue: 10_000 } },
    { clock, maxParkedBytes: 1_000_000 },
  )
  t.teardown(async () => {
    await models.close()
    await server.kill()
  })
  await server.kill()
  const gone = new AbortController()
  const ask = (model: string, text: string) =>
    models.ask({ ...question(text, deadline), model, signal: gone.signal })
  const kinds = new Map<string, number>()
  const asked = ['judge', 'other'].flatMap((model) =>
    Array.from({ length: 50 }, (_, i) =>
      failureOf(ask(model, `${i} ${'x'.repeat(10_000)}`)).then(({ kind, retryable }) => {
        t.ok(retryable)
        kinds.set(kind, (kinds.get(kind) ?? 0) + 1)
      }),
    ),
  )
  const parked = () => models.snapshot().reduce((sum, { waiting }) => sum + waiting, 0)
  await until(() => parked() + (kinds.get('overloaded') ?? 0) === 100)
  // 10,000 characters, counted as two bytes each, with the body's frame and 12 KiB of what else a question holds.
  t.equal(parked(), 30)
  t.ok(models.queue('judge').isFull === false)
  gone.abort()
  await Promise.all(asked)
  t.strictSame(Object.fromEntries(kinds), { overloaded: 70, cancelled: 30 })
  await server.revive()
  await pass(clock, 60_000)
  t.ok(await models.ask(question('after', clock.now() + deadline)), 'their bytes are given back')
})

t.test(
  'a sleeping model that no question may wake keeps its questions until it is woken (M54)',
  async (t) => {
    const clock = fakeClock()
    const parked: boolean[] = []
    const { ask, models, server } = await judge(
      t,
      [(seen, response) => (seen.path.startsWith('/v1') ? yes(seen, response) : json(response, {}))],
      { lifecycle: { wake_on_demand: false } },
      { clock, events: { parked: ({ isParked }) => parked.push(isParked) } },
    )
    await models.sleep('judge')
    const gone = new AbortController()
    const left = failureOf(ask('left', { deadline, signal: gone.signal }))
    const asked = ask('q', { deadline })
    await pass(clock, 300_000)
    t.match(models.snapshot(), [{ memory: 'asleep', parked: { questions: 2 } }])
    gone.abort()
    t.match(await left, { kind: 'cancelled' })
    t.notOk(
      server.seen.some(({ path }) => path.startsWith('/wake') || path.startsWith('/v1')),
      'nothing wakes it',
    )
    await models.wake('judge')
    t.equal((await asked).answer.text, 'Yes')
    t.strictSame(parked, [true, false])
    await models.sleep('judge')
    const late = failureOf(ask('late', { deadline: clock.now() + 5000 }))
    await pass(clock, 5000)
    t.match(await late, { kind: 'judge_unreachable', detail: /parked for [45](\.\d)? s/ })
  },
)

t.test('time without a live judge does not count as response time (M54)', async (t) => {
  const clock = fakeClock()
  const { ask, models, server } = await judge(t, [yes], {}, { clock })
  for (let i = 0; i < 20; i += 1) await ask(`q${i}`)
  await server.kill()
  const asked = Array.from({ length: 40 }, (_, i) => ask(`p${i}`, { deadline }))
  await pass(clock, 300_000)
  await server.revive()
  await pass(clock, 60_000)
  await Promise.all(asked)
  const ms = models.queue('judge').answerMs(40)
  t.ok(ms < 5000, `the next 40 are expected within ${Math.round(ms)} ms`)
})

t.test('probes take a judge back within seconds, by the system clock (M54)', async (t) => {
  const server = await scriptedServer(yes)
  const models = openModels({ judge: configOf([server.url]) }, { clock: systemClock })
  t.teardown(async () => {
    await models.close()
    await server.kill()
  })
  t.ok(await models.ask(question('before', systemClock.now() + 60_000)))
  await server.kill()
  const asked = Array.from({ length: 20 }, (_, i) =>
    models.ask(question(`q${i}`, systemClock.now() + 60_000)),
  )
  await until(() => models.snapshot()[0]?.parked?.questions === 20)
  await server.revive()
  t.equal((await Promise.all(asked)).length, 20)
  t.equal(server.seen.length, 21)
})
