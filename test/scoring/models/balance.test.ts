import t from 'tap'
import { systemClock } from '../../../src/core/clock.ts'
import { Affinity } from '../../../src/scoring/models/pool/balance.ts'
import type { PoolMember } from '../../../src/scoring/models/pool/pool-member.ts'
import { fakeClock } from '../../support/clock.ts'
import { configOf, judge, question, until } from '../../support/models.ts'
import { completion, json, type Script } from '../../support/scripted-server.ts'
import { seeded } from '../../support/seeded.ts'

const yes: Script = (seen) => completion(seen, 'Yes')

t.test('questions in flight are spread evenly, or by weight', async (t) => {
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

t.test('each model at an address has its own limit', async (t) => {
  const { models, server } = await judge(t, [() => undefined], { max_in_flight: 1 })
  const config = configOf([server.url], { max_in_flight: 1 })
  const both = models.next({
    judge: config,
    other: configOf([server.url], { max_in_flight: 1, model: 'n' }),
  })
  server.served = ['m', 'n']
  t.teardown(() => both.close())
  const gone = new AbortController()
  const asked = ['judge', 'other', 'judge'].map((model, at) =>
    both
      .ask({ ...question(`q${at}`, systemClock.now() + 60_000), model, signal: gone.signal })
      .catch(() => null),
  )
  await until(() => server.seen.length === 2)
  t.match(both.snapshot(), [
    { waiting: 1, instances: [{ inFlight: 1 }] },
    { waiting: 0, instances: [{ inFlight: 1 }] },
  ])
  gone.abort()
  await Promise.all(asked)
})

t.test('prompts with the same prefix go to one instance until it exceeds its share', async (t) => {
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

t.test('with group affinity each group has its instance, and the group alone decides nothing', async (t) => {
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

t.test('the preferred instance of a prefix stays when another instance leaves', async (t) => {
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

t.test('a member with more weight is preferred for more prefixes', async (t) => {
  const at = (address: string, weight: number) => ({ address, weight }) as PoolMember
  const members = [at('http://a', 4), at('http://b', 1), at('http://c', 1)]
  const affinity = new Affinity()
  const homes = Array.from({ length: 600 }, (_, i) => affinity.orderOf(`prompt ${i}`, members)[0])
  const count = (member?: PoolMember) => homes.filter((home) => home === member).length
  t.ok(count(members[0]) > 350 && count(members[0]) < 450, `${count(members[0])} of 600`)
  t.ok(count(members[1]) > 60 && count(members[2]) > 60)
})
