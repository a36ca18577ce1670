import t from 'tap'
import { systemClock } from '../../../src/core/clock.ts'
import type { ModelEvents } from '../../../src/scoring/models/interface/events.ts'
import { openModels } from '../../../src/scoring/models/models.ts'
import { startSimulatedServer } from '../../../src/simulator/index.ts'
import { fakeClock } from '../../support/clock.ts'
import { configOf, failsSoon, failureOf, judge, question, until } from '../../support/models.ts'
import { completion, json, type Script } from '../../support/scripted-server.ts'
import { isOwn } from '../../support/sleeping.ts'

const yes: Script = (seen) => completion(seen, 'Yes')

/** A server that sleeps and wakes as told, and tells the order of what it was asked. */
const sleeper =
  (orders: string[]): Script =>
  (seen, response) => {
    if (!isOwn(seen)) orders.push(seen.path)
    if (seen.path.startsWith('/v1')) return completion(seen, 'Yes')
    return json(response, {})
  }

t.test('a model sleeps on demand, wakes for a question, and sleeps when idle', async (t) => {
  const clock = fakeClock()
  const orders: string[] = []
  const told: string[] = []
  const events: ModelEvents = { switched: ({ state }) => told.push(state) }
  const { ask, models } = await judge(
    t,
    [sleeper(orders)],
    { lifecycle: { sleep_after_idle_s: 60 } },
    { clock, events },
  )
  const memory = () => models.snapshot()[0]?.memory
  t.equal(memory(), 'unknown')
  await ask('q1')
  t.equal(memory(), 'awake')
  await models.wake('judge')
  await models.sleep('judge')
  await models.sleep('judge')
  t.equal(memory(), 'asleep')
  t.equal(models.snapshot()[0]?.instances[0]?.state, 'asleep')
  await ask('q2')
  clock.advance(59_000)
  await ask('q3')
  clock.advance(59_000)
  t.equal(memory(), 'awake')
  clock.advance(1000)
  await until(() => memory() === 'asleep')
  await models.wake('judge')
  t.strictSame(orders, [
    '/wake_up',
    '/v1/completions',
    '/sleep?level=1',
    '/wake_up',
    '/v1/completions',
    '/v1/completions',
    '/sleep?level=1',
    '/wake_up',
  ])
  t.strictSame(told, ['awake', 'asleep', 'awake', 'asleep', 'awake'])
})

t.test('level 2 reloads the weights before the model answers', async (t) => {
  const orders: string[] = []
  const { ask, models } = await judge(t, [sleeper(orders)], { lifecycle: { level: 2 } })
  await models.sleep('judge')
  await ask('q')
  t.strictSame(orders, [
    '/sleep?level=2',
    '/wake_up?tags=weights',
    '/collective_rpc',
    '/wake_up?tags=kv_cache',
    '/v1/completions',
  ])
})

t.test('a model that questions may not wake fails while asleep if questions do not wait', async (t) => {
  const { ask, models } = await judge(t, [sleeper([])], {
    lifecycle: { wake_on_demand: false },
    ...failsSoon,
  })
  await models.sleep('judge')
  t.match(await failureOf(ask('q')), { kind: 'judge_unreachable' })
  await models.wake('judge')
  t.equal((await ask('q')).answer.text, 'Yes')
})

t.test(
  'sleep waits for questions in flight, and those that come meanwhile wake the model again',
  async (t) => {
    const held: (() => void)[] = []
    const orders: string[] = []
    const { ask, models } = await judge(
      t,
      [
        (seen, response) => {
          if (isOwn(seen)) return seen.path.startsWith('/v1') ? completion(seen, 'Yes') : {}
          orders.push(seen.path)
          if (seen.path.startsWith('/v1')) held.push(() => json(response, completion(seen, 'Yes')))
          else json(response, {})
        },
      ],
      { lifecycle: {} },
    )
    const first = ask('q1')
    await until(() => held.length === 1)
    const asleep = models.sleep('judge')
    const second = ask('q2')
    await until(() => orders.length === 2)
    held.pop()?.()
    await Promise.all([first, asleep])
    await until(() => held.length === 1)
    held.pop()?.()
    await second
    t.strictSame(orders, ['/wake_up', '/v1/completions', '/sleep?level=1', '/wake_up', '/v1/completions'])
  },
)

t.test('a model that cannot be woken or put to sleep is a failure, not a hang', async (t) => {
  const refuse: Script = (seen, response) =>
    seen.path.startsWith('/v1') ? yes(seen, response) : json(response, {}, 500)
  const { ask, models, server } = await judge(t, [refuse], { lifecycle: {}, ...failsSoon })
  t.match(await failureOf(ask('q')), { kind: 'judge_unreachable', retryable: true })
  await t.rejects(models.sleep('judge'), { code: 'RG_MODEL_FAILED' })
  await t.rejects(models.wake('judge'), { code: 'RG_MODEL_FAILED' })
  server.script = sleeper([])
  t.equal((await ask('q')).answer.text, 'Yes')
  await server.kill()
  await models.sleep('judge')
  t.equal(models.snapshot()[0]?.memory, 'asleep', 'what is gone holds no memory')
  const plain = await judge(t, [yes])
  await t.rejects(plain.models.sleep('judge'), { code: 'RG_REQUEST_INVALID' })
  const openai = await judge(t, [yes], { backend: 'openai', lifecycle: {} })
  await t.rejects(openai.models.sleep('judge'), { code: 'RG_REQUEST_INVALID' })
})

t.test('of several instances, one that does not wake gets no questions', async (t) => {
  const refuse: Script = (seen, response) =>
    seen.path.startsWith('/v1') ? yes(seen, response) : json(response, {}, 500)
  const { ask, servers } = await judge(t, [refuse, sleeper([])], { lifecycle: {} })
  for (let i = 0; i < 10; i += 1) t.equal((await ask(`q${i}`)).instance, servers[1]?.url)
})

t.test('a question leaves the queue of a sleeping model when its client leaves', async (t) => {
  const { ask, server } = await judge(t, [() => undefined], { lifecycle: {} })
  const gone = new AbortController()
  const asked = failureOf(ask('q', { signal: gone.signal }))
  await server.saw(1)
  gone.abort()
  t.match(await asked, { kind: 'cancelled' })
})

t.test('counting tokens wakes the model and is aborted when its caller leaves', async (t) => {
  const orders: string[] = []
  const count: Script = (seen, response) => {
    if (isOwn(seen)) return json(response, {})
    orders.push(seen.path)
    return seen.path === '/tokenize' ? { count: 7 } : json(response, {})
  }
  const clock = fakeClock()
  const { models, server } = await judge(t, [count], { lifecycle: {}, count_tokens: 'tokenize' }, { clock })
  const client = new AbortController()
  const patience = (ms: number) => ({ deadline: clock.now() + ms, signal: client.signal })
  await models.sleep('judge')
  t.equal(await models.countTokens('judge', 'q', patience(60_000)), 7)
  t.strictSame(orders, ['/sleep?level=1', '/wake_up', '/tokenize'])
  server.script = () => undefined
  const seen = server.seen.length
  const late = failureOf(models.countTokens('judge', 'q', patience(20)))
  await server.saw(seen + 1)
  clock.advance(20)
  t.match(await late, { kind: 'deadline' })
  await server.seen[seen]?.closed
  const gone = failureOf(models.countTokens('judge', 'q', patience(60_000)))
  await server.saw(seen + 2)
  client.abort()
  t.match(await gone, { kind: 'cancelled' })
  await server.seen[seen + 1]?.closed
})

t.test('a model that sleeps and wakes survives a reload', async (t) => {
  const server = await startSimulatedServer({ model: 'm' })
  const make = (timeout: number) => ({
    judge: configOf([server.url], { lifecycle: {}, timeout_s: timeout, wait_for_instance: 1 }),
  })
  const old = openModels(make(10), { clock: systemClock })
  const ask = (models: typeof old, text: string) => models.ask(question(text, systemClock.now() + 10_000))
  t.ok((await ask(old, 'a')).answer)
  const next = old.next(make(20))
  t.teardown(async () => {
    await Promise.all([old.close(), next.close()])
    await server.close()
  })
  t.ok((await ask(next, 'b')).answer)
  t.ok((await ask(old, 'c')).answer, 'both take turns while the old one drains')
  await old.close()
  t.ok((await ask(next, 'd')).answer)
  await next.sleep('judge')
  t.equal(server.stats().isSleeping, true)
  t.ok((await ask(next, 'e')).answer)
  t.equal(server.stats().isSleeping, false)
})

t.test('the queue of a sleeping model has a limit', async (t) => {
  const { ask } = await judge(t, [() => undefined], { lifecycle: {}, max_queue: 2 })
  const gone = new AbortController()
  const asked = ['a', 'b', 'c'].map((text) => failureOf(ask(text, { signal: gone.signal })))
  t.match(await asked[2], { kind: 'overloaded' })
  gone.abort()
  t.match(await Promise.all(asked.slice(0, 2)), [{ kind: 'cancelled' }, { kind: 'cancelled' }])
})

t.test(
  'vLLM says itself whether it sleeps: an awake server is told nothing, a sleeping one wakes',
  async (t) => {
    for (const isAsleep of [false, true]) {
      const orders: string[] = []
      let sleeps = isAsleep
      const script: Script = (seen, response) => {
        if (seen.path === '/is_sleeping') return { is_sleeping: sleeps }
        if (!isOwn(seen)) orders.push(seen.path)
        if (seen.path === '/wake_up') sleeps = false
        return seen.path.startsWith('/v1') ? completion(seen, 'Yes') : json(response, {})
      }
      const { ask, models } = await judge(t, [script], { lifecycle: {} })
      await ask('q')
      t.strictSame(orders, isAsleep ? ['/wake_up', '/v1/completions'] : ['/v1/completions'])
      t.equal(models.snapshot()[0]?.memory, 'awake')
    }
  },
)

t.test('a vLLM judge that answers differently after sleep is not asked', async (t) => {
  let says = 'Paris'
  const script: Script = (seen, response) => {
    if (seen.path === '/is_sleeping') return { is_sleeping: false }
    return seen.path.startsWith('/v1') ? completion(seen, isOwn(seen) ? says : 'Yes') : json(response, {})
  }
  const { ask, models } = await judge(t, [script], { lifecycle: { level: 2 }, ...failsSoon })
  await ask('q')
  await models.sleep('judge')
  says = '!!!!'
  await t.rejects(models.wake('judge'), { code: 'RG_MODEL_FAILED', message: /without weights/ })
  t.match(await failureOf(ask('q2')), { kind: 'judge_unreachable' })
  t.equal(models.snapshot()[0]?.instances[0]?.state, 'fails-canary')
})
