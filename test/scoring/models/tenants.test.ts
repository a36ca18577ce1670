import t, { type Test } from 'tap'
import { systemClock } from '../../../src/core/clock.ts'
import type { ModelEvents } from '../../../src/scoring/models/interface/events.ts'
import type { Models } from '../../../src/scoring/models/models.ts'
import { openModels } from '../../../src/scoring/models/models.ts'
import { fakeClock } from '../../support/clock.ts'
import { configOf, probesOff, question, until } from '../../support/models.ts'
import { seeded } from '../../support/seeded.ts'
import { type MortalServer, mortalServer } from '../../support/sleeping.ts'

const settings = {
  backend: 'sglang',
  cache: 'never',
  lifecycle: { linger_ms: 0 },
  retry: { max: 0 },
  wait_for_instance: 1,
  ...probesOff,
} as const

async function started(t: Test): Promise<MortalServer> {
  const server = await mortalServer()
  t.teardown(() => server.close())
  return server
}

let count = 0
const ask = (models: Models, model: string, more: object = {}) => {
  count += 1
  return models.ask({ ...question(`q${count}`, 1e12), model, ...more })
}

/** What a server was told, without its questions. */
const told = ({ orders }: MortalServer): string[] => orders.filter((order) => order !== '/generate')

t.test('a reload of a model that may sleep changes its settings without a switch (M26)', async (t) => {
  const clock = fakeClock()
  const a = await started(t)
  const b = await started(t)
  const config = (more: object) => ({
    a: configOf([a.url], { ...settings, gpu_group: 'gpu', ...more }),
    b: configOf([b.url], { ...settings, gpu_group: 'gpu', ...more }),
  })
  const first = openModels(config({ lifecycle: { sleep_after_idle_s: 600 } }), { clock })
  await ask(first, 'a')
  const orders = () => [told(a).length, told(b).length]
  const before = orders()
  const second = first.next(config({ max_queue: 9, lifecycle: { sleep_after_idle_s: 60 } }))
  t.teardown(() => Promise.all([first.close(), second.close()]))
  await ask(second, 'a')
  await ask(first, 'a')
  await first.close()
  await ask(second, 'a')
  t.strictSame(orders(), before, 'nobody sleeps or wakes for a reload')
  t.equal(second.snapshot()[0]?.memory, 'awake')
  clock.advance(59_999)
  t.equal(a.asleep, false)
  clock.advance(1)
  await until(() => a.asleep)
  t.strictSame([a.death, b.death], ['', ''])
})

t.test('questions of the old and the new config keep a model awake', async (t) => {
  const clock = fakeClock()
  const a = await started(t)
  const config = (idle: number) => ({
    a: configOf([a.url], { ...settings, lifecycle: { sleep_after_idle_s: idle } }),
  })
  const first = openModels(config(10), { clock })
  await ask(first, 'a')
  a.holds = true
  const old = ask(first, 'a')
  await until(() => a.held.length === 1)
  const second = first.next(config(5))
  t.teardown(() => Promise.all([first.close(), second.close()]))
  const young = ask(second, 'a')
  await until(() => a.held.length === 2)
  a.held.pop()?.()
  await young
  clock.advance(60_000)
  t.strictSame(told(a), [], 'the question of the old reading is under way')
  a.held.pop()?.()
  await old
  clock.advance(4999)
  t.strictSame(told(a), [])
  clock.advance(1)
  await until(() => a.asleep)
})

t.test('models that share some of their servers share one memory', async (t) => {
  const [a, b, c] = [await started(t), await started(t), await started(t)]
  const models = openModels(
    {
      left: configOf([a.url, b.url], settings),
      right: configOf([b.url, c.url], settings),
    },
    { clock: systemClock },
  )
  t.teardown(() => models.close())
  await ask(models, 'left')
  b.holds = true
  c.holds = true
  const asked = ask(models, 'right')
  await until(() => b.held.length + c.held.length === 1)
  const slept = models.sleep('left')
  await until(() => true)
  t.strictSame([a, b, c].flatMap(told), [], 'the other model has a question under way')
  b.held.pop()?.()
  c.held.pop()?.()
  await asked
  await slept
  t.strictSame(
    [a, b, c].map(({ asleep }) => asleep),
    [true, true, true],
  )
  t.strictSame(
    models.snapshot().map(({ memory }) => memory),
    ['asleep', 'asleep'],
  )
  b.holds = false
  c.holds = false
  await ask(models, 'right')
  t.strictSame(
    [a, b, c].map(({ asleep }) => asleep),
    [false, false, false],
  )
  t.strictSame(
    [a, b, c].map(({ death }) => death),
    ['', '', ''],
  )
})

t.test(
  'an instance that comes to a sleeping model goes to sleep, and stays known when it goes',
  async (t) => {
    const [a, b] = [await started(t), await started(t)]
    const models = openModels(
      { a: configOf([a.url], { ...settings, allow: ['http://127.0.0.1:*'] }) },
      { clock: systemClock },
    )
    t.teardown(() => models.close())
    await ask(models, 'a')
    await models.sleep('a')
    models.addInstance('a', b.url)
    await until(() => b.asleep)
    await ask(models, 'a')
    t.strictSame([a.asleep, b.asleep], [false, false])
    await models.sleep('a')
    await models.removeInstance('a', b.url)
    await ask(models, 'a')
    t.equal(b.asleep, true)
    models.addInstance('a', b.url)
    await until(() => !b.asleep)
    t.strictSame([a.death, b.death], ['', ''])
  },
)

t.test('a model moves to another gpu_group without two awake models there', async (t) => {
  const [a, b] = [await started(t), await started(t)]
  const config = (group: string) => ({
    a: configOf([a.url], { ...settings, gpu_group: group }),
    b: configOf([b.url], { ...settings, gpu_group: 'one' }),
  })
  const first = openModels(config('two'), { clock: systemClock })
  await ask(first, 'a')
  await ask(first, 'b')
  t.strictSame([a.asleep, b.asleep], [false, false])
  const second = first.next(config('one'))
  t.teardown(() => second.close())
  await first.close()
  await until(() => a.asleep)
  await ask(second, 'a')
  t.strictSame([a.asleep, b.asleep], [false, true])
  await ask(second, 'b')
  t.strictSame([a.asleep, b.asleep], [true, false])
  t.strictSame([a.death, b.death], ['', ''])
})

t.test('no server is told to sleep with a question in flight, in any order of events (M22)', async (t) => {
  const seeds = process.env.SEED ? [Number(process.env.SEED)] : [1, 2, 3, 4, 5, 6, 7, 8, 46, 50]
  let sleeps = 0
  for (const seed of seeds) {
    const random = seeded(seed)
    const pick = <T>(of: readonly T[]): T => of[Math.floor(random() * of.length)] as T
    const clock = fakeClock()
    const servers = await Promise.all([0, 1, 2, 3].map(() => mortalServer()))
    const inFlight = new Map<string, number>()
    const faults: string[] = []
    for (const server of servers) {
      server.holds = true
      server.onOrder = (path) => {
        const calls = inFlight.get(server.url) ?? 0
        if ((path === '/pause_generation' || path === '/release_memory_occupation') && calls > 0)
          faults.push(`${path} with ${calls} in flight`)
      }
    }
    const changed = (by: number) => (call: { instance: string }) =>
      void inFlight.set(call.instance, (inFlight.get(call.instance) ?? 0) + by)
    const events: ModelEvents = { callStarted: changed(1), callEnded: changed(-1) }
    const [a, b, c, d] = servers.map(({ url }) => url)
    const configs = () => {
      const lifecycle = {
        sleep_after_idle_s: pick([0, 1, 5]),
        linger_ms: pick([0, 250]),
        turn_s: pick([1, 5]),
      }
      const more = { ...settings, gpu_group: 'gpu', lifecycle, allow: ['http://127.0.0.1:*'] }
      return {
        x: configOf([a, b], more),
        y: configOf(pick([[c], [c, d]]), more),
        z: configOf([b], { ...settings, lifecycle: undefined }),
      }
    }
    let models = openModels(configs(), { clock, events, random })
    const open: Models[] = [models]
    const asked: Promise<unknown>[] = []
    const clients: AbortController[] = []
    const turns = async (most: number) => {
      for (let i = Math.floor(random() * most); i >= 0; i -= 1) await new Promise(setImmediate)
    }
    const answer = () => {
      const { held } = pick(servers)
      held.splice(Math.floor(random() * held.length), 1)[0]?.()
    }
    const steps: Record<string, () => void> = {
      question: () => {
        const client = new AbortController()
        clients.push(client)
        asked.push(ask(pick(open), pick(['x', 'y', 'z']), { signal: client.signal }).catch(() => {}))
      },
      pinned: () => {
        const instance = pick(servers).url
        asked.push(ask(models, pick(['x', 'y']), { instance }).catch(() => {}))
      },
      answer,
      'another answer': answer,
      abandon: () => pick(clients)?.abort(),
      time: () => clock.advance(pick([10, 300, 1000, 6000])),
      reload: () => {
        models = models.next(configs())
        open.push(models)
      },
      close: () => {
        if (open.length > 1) asked.push((open.shift() as Models).close())
      },
      sleep: () => void asked.push(models.sleep(pick(['x', 'y'])).catch(() => {})),
      wake: () => void asked.push(models.wake(pick(['x', 'y'])).catch(() => {})),
      add: () => {
        models.addInstance(pick(['x', 'y']), pick(servers).url)
      },
      'a failing order': () => {
        const path = pick(['/pause_generation', '/flush_cache', '/server_info'])
        const { refuses } = pick(servers)
        if (!refuses.delete(path)) refuses.add(path)
      },
    }
    const names = Object.keys(steps)
    for (let i = 0; i < 150; i += 1) {
      const name = random() < 0.4 ? 'question' : pick(names)
      steps[name]?.()
      await turns(12)
    }
    // Everything comes to its end.
    for (const server of servers) {
      server.refuses.clear()
      server.holds = false
    }
    let isOver = false
    for (const client of clients) client.abort()
    void Promise.all(asked).then(() => {
      isOver = true
    })
    for (let i = 0; i < 20_000 && !isOver; i += 1) {
      for (const { held } of servers) for (const reply of held.splice(0)) reply()
      if (i % 20 === 0) clock.advance(1000)
      await new Promise(setImmediate)
    }
    t.ok(isOver, `seed ${seed}: nothing hangs`)
    t.strictSame(faults, [], `seed ${seed}`)
    t.strictSame(
      servers.map(({ death }) => death),
      ['', '', '', ''],
      `seed ${seed}: nobody died`,
    )
    t.strictSame(
      [...inFlight.values()].filter((calls) => calls !== 0),
      [],
      `seed ${seed}: no place is lost`,
    )
    sleeps += servers.flatMap(told).filter((order) => order === '/release_memory_occupation').length
    await Promise.all(open.map((one) => one.close()))
    await Promise.all(servers.map((server) => server.close()))
  }
  t.ok(sleeps > 4 * seeds.length, `${sleeps} times a server slept`)
})
