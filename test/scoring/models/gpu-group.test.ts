import t, { type Test } from 'tap'
import { systemClock } from '../../../src/core/clock.ts'
import type { ModelEvents } from '../../../src/scoring/models/interface/events.ts'
import type { ModelConfig } from '../../../src/scoring/models/interface/model-config.ts'
import { openModels } from '../../../src/scoring/models/models.ts'
import { type SimulatedServer, startSimulatedServer } from '../../../src/simulator/index.ts'
import { fakeClock } from '../../support/clock.ts'
import { configOf, failsSoon, failureOf, probesOff, question, until } from '../../support/models.ts'
import { completion, json, scriptedServer } from '../../support/scripted-server.ts'
import { isOwn } from '../../support/sleeping.ts'

/** A group of models, each with instances of its own; watches that no two models are ever awake together. */
async function group(t: Test, names: readonly string[], more: object = {}) {
  const servers = new Map<string, SimulatedServer[]>()
  for (const name of names) {
    const own = [1, 2].map(() => startSimulatedServer({ model: name, sleepMs: 3, latencyMedianMs: 2 }))
    servers.set(name, await Promise.all(own))
  }
  const switches: string[] = []
  const overlaps: string[] = []
  const events: ModelEvents = {
    switched: ({ model, state }) => {
      if (state === 'awake') switches.push(model)
    },
    callStarted: ({ model }) => {
      for (const [name, own] of servers)
        if (name !== model && own.some((server) => !server.stats().isSleeping))
          overlaps.push(`${model} ${name}`)
    },
  }
  const models = openModels(
    Object.fromEntries(
      [...servers].map(([name, own]) => [
        name,
        configOf(
          own.map(({ url }) => url),
          { model: name, gpu_group: 'gpu', lifecycle: { linger_ms: 20, ...more } },
        ),
      ]),
    ),
    { clock: systemClock, events },
  )
  t.teardown(async () => {
    await models.close()
    await Promise.all([...servers.values()].flat().map((server) => server.close()))
  })
  return { models, switches, overlaps }
}

t.test(
  'a request of many samples switches at most once a model, in any order of its questions',
  async (t) => {
    const names = ['a', 'b', 'c']
    const { models, switches, overlaps } = await group(t, names)
    for (const seed of [1, 2, 3, 4]) {
      let state = seed
      const random = () => {
        state = (Math.imul(state, 1664525) + 1013904223) >>> 0
        return state / 2 ** 32
      }
      switches.length = 0
      const asked = Array.from({ length: 60 }, (_, i) => {
        const model = names[Math.floor(random() * names.length)] as string
        return models.ask({ ...question(`seed ${seed} q${i}`, systemClock.now() + 60_000), model })
      })
      await Promise.all(asked)
      t.ok(switches.length <= names.length, `seed ${seed}: ${switches}`)
    }
    t.strictSame(overlaps, [])
  },
)

t.test('a chain of steps over two models of a GPU group works in turns', async (t) => {
  const { models, switches, overlaps } = await group(t, ['critic', 'scalar'])
  const ask = (model: string, text: string) =>
    models.ask({ ...question(text, systemClock.now() + 60_000), model })
  await Promise.all(
    Array.from({ length: 20 }, async (_, i) => {
      await ask('critic', `critique ${i}`)
      await ask('scalar', `score ${i}`)
    }),
  )
  t.ok(switches.length <= 2, `${switches}`)
  t.strictSame(overlaps, [])
})

t.test('a model with endless questions yields once the other has waited for its turn', async (t) => {
  const { models, switches } = await group(t, ['busy', 'rare'], { turn_s: 0.05 })
  let isOver = false
  const stream = async (i: number) => {
    for (let n = 0; !isOver; n += 1)
      await models.ask({ ...question(`busy ${i} ${n}`, systemClock.now() + 60_000), model: 'busy' })
  }
  const streams = [0, 1, 2, 3].map(stream)
  const { answer } = await models.ask({ ...question('rare', systemClock.now() + 60_000), model: 'rare' })
  t.ok(answer)
  isOver = true
  await Promise.all(streams)
  t.strictSame(switches.slice(0, 1), ['rare'], 'the busy one was awake before')
})

/** Two models of one GPU, `a` and `b`, with a server each, on a clock of the test's; `orders` is all that they were told. */
async function pair(t: Test, more: object = {}, settings: object = {}) {
  const clock = fakeClock()
  const orders: string[] = []
  const held: (() => void)[] = []
  const serverOf = (name: string) =>
    scriptedServer((seen, response) => {
      if (isOwn(seen)) return seen.path.startsWith('/v1') ? completion(seen, 'Yes') : {}
      const [order = ''] = seen.path.slice(1).split('?')
      orders.push(`${name} ${order === 'v1/completions' ? 'asked' : order}`)
      if (!seen.path.startsWith('/v1')) return json(response, {}, refuses.has(`${name} ${order}`) ? 500 : 200)
      held.push(() => json(response, completion(seen, 'Yes')))
    })
  const refuses = new Set<string>()
  const servers = await Promise.all(['a', 'b'].map(serverOf))
  const configs = servers.map(({ url }) =>
    configOf([url], { gpu_group: 'gpu', lifecycle: more, retry: { max: 0 }, ...probesOff, ...settings }),
  )
  const models = openModels({ a: configs[0] as ModelConfig, b: configs[1] as ModelConfig }, { clock })
  t.teardown(async () => {
    await models.close()
    await Promise.all(servers.map((server) => server.kill()))
  })
  let asked = 0
  const ask = (model: string, signal = new AbortController().signal) => {
    asked += 1
    return models.ask({ ...question(`q${asked}`, 1e9), model, signal })
  }
  const told = (...wanted: string[]) => until(() => wanted.every((one) => orders.includes(one)))
  return { clock, orders, held, refuses, ask, told }
}

t.test('a model whose turn has come waits only for questions in flight, not for later ones', async (t) => {
  const { clock, orders, held, ask, told } = await pair(t, { turn_s: 1, linger_ms: 0 })
  const first = ask('a')
  await told('a asked')
  const waits = ask('b')
  clock.advance(1000)
  const next = ask('a')
  await until(() => true)
  t.equal(held.length, 1, 'no further question for the model whose turn is over')
  held.pop()?.()
  await first
  await told('b asked')
  held.pop()?.()
  await waits
  await until(() => held.length === 1)
  held.pop()?.()
  await next
  t.strictSame(
    orders.filter((order) => order.endsWith('asked')),
    ['a asked', 'b asked', 'a asked'],
  )
})

t.test('a question that leaves the queue of a sleeping model leaks no slot', async (t) => {
  const { clock, held, ask, told } = await pair(t, { linger_ms: 0 })
  const first = ask('a')
  await told('a asked')
  const gone = new AbortController()
  const left = failureOf(ask('b', gone.signal))
  const stays = ask('b')
  gone.abort()
  t.match(await left, { kind: 'cancelled' })
  held.pop()?.()
  await first
  await told('b asked')
  held.pop()?.()
  await stays
  const again = ask('a')
  clock.advance(1)
  await until(() => held.length === 1)
  held.pop()?.()
  t.ok(await again)
})

t.test('a model keeps the GPU for a while after its last answer', async (t) => {
  const { clock, orders, held, ask, told } = await pair(t, { linger_ms: 100 })
  const first = ask('a')
  await told('a asked')
  const waits = ask('b')
  held.pop()?.()
  await first
  clock.advance(99)
  const soon = ask('a')
  await until(() => held.length === 1)
  t.equal(orders.at(-1), 'a asked', 'who comes within the while is asked at once')
  held.pop()?.()
  await soon
  clock.advance(100)
  await told('b asked')
  held.pop()?.()
  t.ok(await waits)
})

t.test('no model wakes while another failed to fall asleep', async (t) => {
  const { orders, held, refuses, ask, told } = await pair(t, { linger_ms: 0 }, failsSoon)
  const first = ask('a')
  await told('a asked')
  orders.length = 0
  refuses.add('a sleep')
  const refused = failureOf(ask('b'))
  held.pop()?.()
  await first
  t.match(await refused, { kind: 'judge_unreachable' })
  t.notOk(orders.includes('b wake_up'))
  refuses.clear()
  const later = ask('b')
  await told('b asked')
  held.pop()?.()
  t.ok(await later)
})

t.test(
  'a model that does not wake keeps its questions, and the GPU is for others meanwhile (M54)',
  async (t) => {
    const { clock, orders, held, refuses, ask, told } = await pair(t, { linger_ms: 0 })
    refuses.add('b wake_up')
    const parked = ask('b')
    await told('b wake_up')
    const first = ask('a')
    await told('a asked')
    held.pop()?.()
    await first
    refuses.clear()
    orders.length = 0
    clock.advance(5000)
    await told('b asked')
    held.pop()?.()
    t.ok(await parked)
  },
)
