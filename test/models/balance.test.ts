import t from 'tap'
import { systemClock } from '../../src/clock.ts'
import { Member } from '../../src/models/balance.ts'
import { Hedge } from '../../src/models/hedge.ts'
import type { Instance } from '../../src/models/instance.ts'
import { worthwhile } from '../../src/models/slowness.ts'
import { fakeClock } from '../support/clock.ts'
import { configOf, judge, question } from '../support/models.ts'
import { completion, json, type Script, type ScriptedServer } from '../support/scripted-server.ts'
import { seeded } from '../support/seeded.ts'

const yes: Script = (seen) => completion(seen, 'Yes')

const until = async (done: () => boolean) => {
  while (!done()) await new Promise(setImmediate)
  await new Promise(setImmediate)
}

t.test('questions under way are spread evenly, or by weight', async (t) => {
  const held: Script = () => undefined
  const { ask, servers, models } = await judge(t, [held, held, held], {}, { random: seeded(1) })
  const gone = new AbortController()
  const asked = Array.from({ length: 60 }, (_, i) => ask(`q${i}`, { signal: gone.signal }).catch(() => null))
  const loads = () => models.snapshot()[0]?.instances.map(({ inFlight }) => inFlight) ?? []
  t.ok(
    loads().every((load) => load >= 17 && load <= 23),
    `${loads()}`,
  )
  const weighted = models.next({
    judge: configOf(servers.map(({ url }, i) => ({ url, weight: i === 0 ? 4 : 1 }))),
  })
  t.teardown(() => weighted.close())
  const more = Array.from({ length: 60 }, (_, i) =>
    weighted.ask({ ...question(`r${i}`, systemClock.now() + 60_000), signal: gone.signal }).catch(() => null),
  )
  t.ok((loads()[0] ?? 0) > 2 * (loads()[1] ?? 0), `${loads()}`)
  gone.abort()
  await Promise.all([...asked, ...more])
})

t.test('two models at one address share its places', async (t) => {
  const { models, server } = await judge(t, [() => undefined], { max_in_flight: 1 })
  const config = configOf([server.url], { max_in_flight: 1 })
  const both = models.next({
    judge: config,
    other: configOf([server.url], { max_in_flight: 1, model: 'n' }),
  })
  t.teardown(() => both.close())
  const gone = new AbortController()
  const asked = ['judge', 'other'].map((model) =>
    both.ask({ ...question('q', systemClock.now() + 60_000), model, signal: gone.signal }).catch(() => null),
  )
  await until(() => server.seen.length === 1)
  t.match(both.snapshot(), [
    { waiting: 0, instances: [{ inFlight: 1 }] },
    { waiting: 1, instances: [{ inFlight: 1 }] },
  ])
  gone.abort()
  await Promise.all(asked)
})

t.test('prompts with one beginning go to one instance, until it has more than its share', async (t) => {
  const held: (() => void)[] = []
  const hold: Script = (seen, response) => void held.push(() => json(response, completion(seen, 'Yes')))
  const { ask, models } = await judge(
    t,
    [hold, hold, hold, hold],
    { balance: 'prefix_affinity' },
    { clock: fakeClock() },
  )
  const loads = () => models.snapshot()[0]?.instances.map(({ inFlight }) => inFlight) ?? []
  const homes = new Set<string>()
  for (let i = 0; i < 32; i += 1) {
    const asked = ask(`q${i}`, { prefix: `judge prompt ${i % 8}` })
    await until(() => held.length === 1)
    held.pop()?.()
    homes.add(`${i % 8} ${(await asked).instance}`)
  }
  t.equal(homes.size, 8, 'each beginning has one home')
  t.ok(new Set([...homes].map((home) => home.split(' ')[1])).size > 1, 'not the same for all')
  const asked = Array.from({ length: 40 }, (_, i) => ask(`r${i}`, { prefix: 'one prompt' }))
  t.equal(Math.max(...loads()), 13, 'at most 1.25 times a fair share of 40 over 4')
  t.equal(
    loads().reduce((sum, load) => sum + load, 0),
    40,
  )
  await until(() => held.length === 40)
  for (const release of held.splice(0)) release()
  await Promise.all(asked)
})

t.test('with group affinity each group has its home, and the group alone decides nothing', async (t) => {
  const { ask } = await judge(t, [yes, yes, yes, yes], { balance: 'group_affinity' }, { clock: fakeClock() })
  const homeOf = async (prefix: string, group: string, draw: number) =>
    (await ask(`${prefix} ${group}`, { prefix, group, draw })).instance
  const homes = new Map<string, string>()
  for (let i = 0; i < 16; i += 1) homes.set(`g${i}`, await homeOf('judge prompt', `g${i}`, 0))
  t.ok(new Set(homes.values()).size > 1)
  for (const [group, home] of homes) t.equal(await homeOf('judge prompt', group, 1), home)
  const elsewhere = await Promise.all([...homes.keys()].map((group) => homeOf('another prompt', group, 0)))
  t.not(elsewhere.join(), [...homes.values()].join())
})

t.test('the home of a beginning stays when another instance goes', async (t) => {
  const { ask, servers, models } = await judge(
    t,
    [yes, yes, yes, yes, yes],
    { balance: 'prefix_affinity' },
    { clock: fakeClock() },
  )
  const homes = async (draw: number) => {
    const found = new Map<number, string>()
    for (let i = 0; i < 20; i += 1) found.set(i, (await ask(`q${i}`, { prefix: `p${i}`, draw })).instance)
    return found
  }
  const before = await homes(0)
  const [gone] = servers
  await models.removeInstance('judge', gone?.url ?? '')
  const after = await homes(1)
  for (const [i, home] of before) if (home !== gone?.url) t.equal(after.get(i), home)
  t.notOk([...after.values()].includes(gone?.url ?? ''))
})

t.test(
  'a late answer is asked for elsewhere too; the first to come counts, the other call ends',
  async (t) => {
    const clock = fakeClock()
    const told: string[] = []
    const { ask, servers, models } = await judge(
      t,
      [yes, yes],
      { hedge: { budget: 0.5 } },
      { clock, random: () => 0, events: { hedged: ({ instance }) => told.push(instance) } },
    )
    for (let i = 0; i < 40; i += 1) await ask(`q${i}`)
    const [slow, quick] = servers as [ScriptedServer, ScriptedServer]
    slow.script = () => undefined
    const seen = slow.seen.length
    const asked = ask('late')
    await slow.saw(seen + 1)
    clock.advance(50)
    t.match(await asked, { instance: quick.url, attempts: 2 })
    await slow.seen[seen]?.closed
    t.strictSame(told, [quick.url])
    t.strictSame(
      models.snapshot()[0]?.instances.map(({ inFlight, errors }) => [inFlight, errors]),
      [
        [0, 0],
        [0, 0],
      ],
    )
    const gone = new AbortController()
    const lost = ask('nobody waits', { signal: gone.signal }).catch(({ failure }) => failure.kind)
    await slow.saw(seen + 2)
    gone.abort()
    t.equal(await lost, 'cancelled')
    slow.script = (_seen, response) => void response.destroy()
    t.match(await ask('failed before it was late'), { instance: quick.url, attempts: 2 })
    t.equal(told.length, 1)
  },
)

t.test('when the second call fails first, the first one still counts', async (t) => {
  const clock = fakeClock()
  const { ask, servers } = await judge(t, [yes, yes], { hedge: { budget: 0.5 } }, { clock, random: () => 0 })
  for (let i = 0; i < 40; i += 1) await ask(`q${i}`)
  const [slow, other] = servers as [ScriptedServer, ScriptedServer]
  const held: (() => void)[] = []
  slow.script = (seen, response) => void held.push(() => json(response, completion(seen, 'Yes')))
  other.script = (_seen, response) => json(response, {}, 500)
  const seen = other.seen.length
  const asked = ask('late')
  await until(() => held.length === 1)
  clock.advance(50)
  await other.saw(seen + 1)
  await new Promise(setImmediate)
  held.pop()?.()
  t.match(await asked, { instance: slow.url })
})

t.test(
  'second calls are never more than their share, go to the slowest first, and need an idea of what is late',
  async (t) => {
    const clock = fakeClock()
    let hasLine = false
    const hedge = new Hedge(clock, { share: 0.05, quantile: 0.95, hasLine: () => hasLine })
    t.equal(hedge.lateAfterMs, null)
    const at = (latencyMs: number) => ({ latencyMs }) as Instance
    const late: number[] = []
    const begin = (calls: number, latencyMs: number) =>
      Array.from({ length: calls }, () => {
        hedge.earn()
        return hedge.track(at(latencyMs), clock.now(), () => late.push(latencyMs))
      })
    const ends = [...begin(100, 1), ...begin(100, 9)]
    clock.advance(60_000)
    t.strictSame(late, [], 'nothing is known yet')
    for (let ms = 1; ms <= 100; ms += 1) hedge.observe(ms)
    t.equal(hedge.lateAfterMs, 96)
    clock.advance(1000)
    t.strictSame(late, Array(10).fill(9))
    for (const end of ends) end()
    hasLine = true
    begin(300, 5)
    clock.advance(400)
    t.equal(late.length, 10, 'with others in line, most are kept for its end')
    hasLine = false
    clock.advance(10)
    t.equal(late.length, 25)
    for (let i = 0; i < 300; i += 1) hedge.observe(7)
    t.equal(hedge.lateAfterMs, 7, 'old answers are forgotten')
    hedge.end()
  },
)

t.test(
  'what is left of a line is asked for again the sooner, the more second calls are left for it',
  async (t) => {
    const clock = fakeClock()
    let hasLine = true
    const hedge = new Hedge(clock, { share: 0.05, quantile: 0.95, hasLine: () => hasLine })
    for (let ms = 1; ms <= 100; ms += 1) hedge.observe(ms)
    for (let i = 0; i < 2000; i += 1) hedge.earn()
    const late: string[] = []
    const begin = (calls: number, name: string, latencyMs: number) => {
      for (let i = 0; i < calls; i += 1)
        hedge.track({ latencyMs } as Instance, clock.now(), () => late.push(name))
    }
    begin(60, 'quick', 50)
    begin(10, 'slow', 500)
    clock.advance(20)
    t.strictSame(late, [])
    hasLine = false
    clock.advance(10)
    t.strictSame(late, Array(10).fill('slow'), 'nobody waits for a slow instance')
    begin(5, 'later', 50)
    clock.advance(40)
    t.equal(late.filter((name) => name === 'quick').length, 60, 'half of the latest answers came by then')
    clock.advance(20)
    t.notOk(late.includes('later'), 'what did not come with the line is not late yet')
    clock.advance(60)
    t.equal(late.length, 75)
    hedge.end()
  },
)

const member = (latencyMs: number, more: object = {}): Member => {
  const instance = { latencyMs, limit: 10, inFlight: 1, lastBegan: 0, alive: true, ...more }
  return new Member(instance as unknown as Instance, 1)
}

const line = (waiting: number, stoodMs = 0) => ({ waiting, stoodMs })

t.test('a slow instance is asked only where no other would answer sooner', async (t) => {
  const quick = member(200)
  const slow = member(1000)
  const members = [quick, member(210), slow]
  t.notOk(worthwhile(members, line(0), 0)(slow), 'nobody waits')
  t.ok(worthwhile(members, line(0), 0)(quick))
  t.notOk(worthwhile(members, line(50), 0)(slow), '51 places later is 0.7 s')
  t.ok(worthwhile(members, line(100), 0)(slow), '101 places later is 1.2 s')
  t.ok(worthwhile(members, line(1, 1000), 0)(slow), 'the line stands still')
})

t.test('what is not known, not much slower or alone is always worth asking', async (t) => {
  const unknown = member(0)
  t.ok(worthwhile([unknown], line(0), 0)(unknown))
  t.ok(worthwhile([member(200), unknown], line(0), 0)(unknown))
  const near = member(390)
  t.ok(worthwhile([member(200), near], line(0), 0)(near))
  const jittery = member(90)
  t.ok(worthwhile([member(2), jittery], line(0), 0)(jittery), 'below 100 ms a difference is chance')
  const alone = member(1000)
  t.ok(worthwhile([member(200, { alive: false }), alone], line(0), 0)(alone))
})

t.test('an instance that was slow is tried again after a while', async (t) => {
  const slow = member(1000, { inFlight: 0, lastBegan: 500 })
  const members = [member(200), slow]
  t.notOk(worthwhile(members, line(0), 10_500)(slow))
  t.ok(worthwhile(members, line(0), 10_501)(slow))
})
