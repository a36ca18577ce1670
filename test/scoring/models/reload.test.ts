import t from 'tap'
import { systemClock } from '../../../src/core/clock.ts'
import type { ModelConfig } from '../../../src/scoring/models/interface/model-config.ts'
import type { Models } from '../../../src/scoring/models/models.ts'
import { openModels } from '../../../src/scoring/models/models.ts'
import { configOf, failureOf, judge, question, until } from '../../support/models.ts'
import { completion, json, type Script, scriptedServer } from '../../support/scripted-server.ts'

const yes: Script = (seen) => completion(seen, 'Yes')
const asks = (models: Models, input: string) => models.ask(question(input, systemClock.now() + 60_000))

/** Counts the connections that a server gets. */
async function counted(t: Parameters<typeof judge>[0], script: Script) {
  const server = await scriptedServer(script)
  t.teardown(() => server.kill())
  return server
}

t.test("a reload changes a server's settings and keeps its sockets (M25)", async (t) => {
  const long: Script = (seen) => completion(seen, 'Yes', { padding: 'x'.repeat(4096) })
  const server = await counted(t, long)
  const config = (more: object = {}) => ({
    judge: configOf([server.url], { retry: { max: 0 }, health: { model: false }, ...more }),
  })
  const models = openModels(config(), { clock: systemClock })
  t.match(await asks(models, 'q1'), { answer: { text: 'Yes' } })
  const sockets = server.connections
  const small = models.next(config({ max_reply_bytes: 2048, connect_timeout_s: 1, max_in_flight: 7 }))
  t.match(await failureOf(asks(small, 'q2')), { detail: /max_reply_bytes/ })
  t.match(
    small.snapshot()[0]?.instances,
    [{ state: 'ready', limit: 7, calls: 2, errors: 1 }],
    'and what is known of it',
  )
  t.match(
    await asks(models, 'q3'),
    { answer: { text: 'Yes' } },
    'a question of the earlier config has its own limit',
  )
  await models.close()
  const large = small.next(config())
  await small.close()
  t.match(await asks(large, 'q4'), { answer: { text: 'Yes' } })
  t.match(large.snapshot()[0]?.instances, [{ limit: 256, calls: 4 }])
  t.equal(server.connections, sockets + 1, 'the one whose reply was too long was closed')
  await large.close()
})

t.test('after a reload, the breaker uses the new settings (M25)', async (t) => {
  const server = await counted(t, (_seen, response) => json(response, {}, 500))
  const config = (failures: number) => ({
    judge: configOf([server.url], { breaker: { failures }, retry: { max: 0 } }),
  })
  const models = openModels(config(100), { clock: systemClock })
  for (let i = 0; i < 3; i += 1) await failureOf(asks(models, `q${i}`))
  t.equal(models.snapshot()[0]?.instances[0]?.state, 'ready')
  const next = models.next(config(2))
  t.teardown(() => next.close())
  await models.close()
  await failureOf(asks(next, 'r'))
  t.equal(next.snapshot()[0]?.instances[0]?.state, 'ejected', 'with the failures before it')
})

t.test('two models at one address each keep their own settings (M25)', async (t) => {
  const server = await counted(t, (seen) => completion(seen, 'Yes', { padding: 'x'.repeat(4096) }))
  server.served = ['m', 'n']
  const models = openModels(
    {
      judge: configOf([server.url], { max_reply_bytes: 2048, max_in_flight: 3 }),
      other: configOf([server.url], { model: 'n', max_in_flight: 5 }),
    },
    { clock: systemClock },
  )
  t.teardown(() => models.close())
  t.match(await failureOf(asks(models, 'q')), { detail: /max_reply_bytes/ })
  t.match(await models.ask({ ...question('q', systemClock.now() + 60_000), model: 'other' }), {
    answer: { text: 'Yes' },
  })
  t.match(models.snapshot(), [{ instances: [{ limit: 3 }] }, { instances: [{ limit: 5 }] }])
})

t.test('reloads that are refused leave no probes, sockets or members behind (M24)', async (t) => {
  const [server, other] = [await counted(t, yes), await counted(t, yes)]
  const health = { interval_s: 0.02 }
  const good = { judge: configOf([server.url], { health }) }
  const bad: Record<string, ModelConfig> = {
    first: configOf([server.url, other.url], { health }),
    judge: configOf([server.url, other.url], { health, max_in_flight: 9 }),
    // No schema lets it through; whatever throws in the middle of a reload leaves nothing.
    last: { ...configOf([]), instances: ['http://user:secret@127.0.0.1:9'] },
  }
  const models = openModels(good, { clock: systemClock })
  t.teardown(() => models.close())
  for (let i = 0; i < 10; i += 1) t.throws(() => models.next(bad))
  await until(() => server.probes > 0)
  const [probes, strange] = [server.probes, other.probes]
  const began = performance.now()
  await until(() => server.probes >= probes + 10)
  const perSecond = (1000 * 10) / (performance.now() - began)
  t.ok(perSecond < 110, `${perSecond} probes a second of two paths`)
  t.ok(other.probes <= strange + 2, 'nobody asks the server that was refused')
  t.match(models.snapshot()[0]?.instances, [{ address: server.url, limit: 256 }])
  t.match(await asks(models, 'q'), { answer: { text: 'Yes' } })
})

t.test('a failed start leaves nothing that keeps the process alive (M24)', async (t) => {
  const server = await counted(t, yes)
  const bad = { ...configOf([]), instances: ['http://127.0.0.1:9?query'] }
  t.throws(() =>
    openModels(
      { judge: configOf([server.url], { health: { interval_s: 0.01 } }), bad },
      { clock: systemClock },
    ),
  )
  await until(() => true)
  const { probes } = server
  for (const until = performance.now() + 100; performance.now() < until; ) await new Promise(setImmediate)
  t.ok(server.probes <= probes + 2)
})

t.test('instances that operators added or drain stay so after a reload', async (t) => {
  const { models, server } = await judge(t, [yes], { allow: ['http://127.0.0.1:*'] })
  const [added, drained] = [await counted(t, yes), await counted(t, yes)]
  for (const { url } of [added, drained]) models.addInstance('judge', url)
  await models.drainInstance('judge', drained.url)
  const next = models.next({
    judge: configOf([server.url], { allow: ['http://127.0.0.1:*'], max_in_flight: 2 }),
  })
  t.match(next.snapshot()[0]?.instances, [
    { address: server.url, limit: 2 },
    { address: added.url, limit: 2 },
    { address: drained.url, state: 'draining' },
  ])
  const closed = next.next({ judge: configOf([server.url]) })
  t.teardown(() => closed.close())
  t.match(closed.snapshot()[0]?.instances, [{ address: server.url }], 'unless it is not allowed any more')
  t.equal(closed.snapshot()[0]?.instances.length, 1)
  await Promise.all([models.close(), next.close()])
})

t.test('an instance that was added takes no question before a probe has seen it (M45)', async (t) => {
  const { ask, models, server } = await judge(t, [yes], { allow: ['http://127.0.0.1:*'] })
  const ill = await counted(t, yes)
  ill.healthy = false
  models.addInstance('judge', ill.url)
  t.equal(models.snapshot()[0]?.instances[1]?.state, 'joining')
  for (let i = 0; i < 20; i += 1) t.equal((await ask(`q${i}`)).instance, server.url)
  ill.healthy = true
  await until(() => models.snapshot()[0]?.instances[1]?.state === 'ready')
  const used = new Set<string>()
  for (let i = 0; i < 20; i += 1) used.add((await ask(`r${i}`)).instance)
  t.ok(used.has(ill.url))
})

t.test('a storm of reloads loses no question, asks none twice, and leaves no probe behind', async (t) => {
  const servers = await Promise.all(
    Array.from({ length: 3 }, () =>
      counted(t, async (seen, response) => {
        for (let turn = 0; turn < 30; turn += 1) await new Promise(setImmediate)
        json(response, completion(seen, 'Yes'))
      }),
    ),
  )
  const urls = servers.map(({ url }) => url)
  const config = (round: number) => ({
    judge: configOf(urls.slice(0, 1 + (round % 3)), {
      max_in_flight: 4 + (round % 5),
      timeout_s: 60 + round,
      breaker: { failures: 3 + (round % 2) },
      health: { interval_s: 0.02, timeout_s: 5 },
      cache: 'never',
    }),
  })
  let models = openModels(config(0), { clock: systemClock })
  const closed: Promise<void>[] = []
  const asked: Promise<unknown>[] = []
  for (let round = 1; round <= 40; round += 1) {
    const earlier = models
    const own = Array.from({ length: 10 }, (_, i) => asks(earlier, `q${round} ${i}`))
    asked.push(...own)
    models = earlier.next(config(round))
    // As a gateway does, once what it has in work is done.
    closed.push(Promise.all(own).then(() => earlier.close()))
    for (let turn = 0; turn < 10; turn += 1) await new Promise(setImmediate)
  }
  await Promise.all(asked)
  await Promise.all(closed)
  const questions = servers.flatMap(({ seen }) => seen.map(({ body }) => JSON.stringify(body)))
  t.equal(questions.length, 400, 'as many calls as questions')
  t.equal(new Set(questions).size, 400)
  await models.close()
  const probes = servers.map((server) => server.probes)
  for (const end = performance.now() + 150; performance.now() < end; ) await new Promise(setImmediate)
  t.ok(servers.every((server, at) => server.probes <= (probes[at] ?? 0) + 2))
})
