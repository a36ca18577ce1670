import t from 'tap'
import { Hedge } from '../../../src/scoring/models/dispatch/hedge.ts'
import type { AskRequest } from '../../../src/scoring/models/interface/ask.ts'
import { RenderedMessage } from '../../../src/scoring/models/interface/question-json.ts'
import { openModels } from '../../../src/scoring/models/models.ts'
import { slowInstanceFilter } from '../../../src/scoring/models/pool/balance.ts'
import type { PoolMember } from '../../../src/scoring/models/pool/pool-member.ts'
import { fakeClock } from '../../support/clock.ts'
import { configOf, judge, probesOff, question, until } from '../../support/models.ts'
import {
  completion,
  hang,
  json,
  type Script,
  type ScriptedServer,
  scriptedServer,
} from '../../support/scripted-server.ts'

const yes: Script = (seen) => completion(seen, 'Yes')

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

t.test('a late question with images is asked elsewhere only if the model says so', async (t) => {
  const bytes = { base64: 'cGl4ZWxz', size: 6, header: null }
  const image = { sha256: 'ab'.repeat(32), size: 6, mediaType: 'image/png', tokens: 64, bytes }
  const pictured = [new RenderedMessage('user', ['What is it?', { text: '', image }], true)]
  for (const hedge of [false, true]) {
    const clock = fakeClock()
    const more = { hedge: { budget: 0.5 }, ...(hedge && { images: { hedge } }) }
    const { ask, servers } = await judge(t, [yes, yes], more, { clock, random: () => 0 })
    for (let i = 0; i < 40; i += 1) await ask(`q${i}`)
    const [slow, other] = servers as [ScriptedServer, ScriptedServer]
    const held: (() => void)[] = []
    slow.script = (seen, response) => void held.push(() => json(response, completion(seen, 'Yes')))
    const seen = other.seen.length
    const asked = ask(pictured)
    await until(() => held.length === 1)
    clock.advance(50)
    if (hedge) await other.saw(seen + 1)
    else held.pop()?.()
    t.match(await asked, { instance: hedge ? other.url : slow.url, attempts: hedge ? 2 : 1 })
    t.equal(other.seen.length, seen + (hedge ? 1 : 0))
  }
})

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
    const at = (latencyMs: number) => ({ latencyMs }) as PoolMember
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
        hedge.track({ latencyMs } as PoolMember, clock.now(), () => late.push(name))
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

t.test('an answer that arrives together with the slot of its hedge leaves no call behind', async (t) => {
  const clock = fakeClock()
  const held = new Map<string, () => void>()
  const slow: Script = (seen, response) =>
    void held.set(seen.body.prompt, () => json(response, completion(seen, 'Yes')))
  const begun: number[] = []
  const ownOf = (urls: string[]) => configOf(urls, { hedge: { budget: 0.5 }, max_in_flight: 1, ...probesOff })
  const servers = await Promise.all([yes, yes, hang].map((script) => scriptedServer(script)))
  const [one, two, three] = servers as [ScriptedServer, ScriptedServer, ScriptedServer]
  const models = openModels(
    { judge: ownOf([one.url, two.url]), other: configOf([three.url]) },
    {
      clock,
      random: () => 0,
      events: { callStarted: () => begun.push(1) },
    },
  )
  t.teardown(async () => {
    await models.close()
    await Promise.all(servers.map((server) => server.kill()))
  })
  const ask = (input: string, more: object = {}) =>
    models.ask({ ...question(input, clock.now() + 1e6), ...more } as AskRequest<'generate'>)
  for (let i = 0; i < 40; i += 1) await ask(`q${i}`)
  // While another call is under way, replies of one turn of the loop are worked on together.
  const gone = new AbortController()
  const lost = ask('under way', { model: 'other', signal: gone.signal }).catch(({ failure }) => failure.kind)
  await three.saw(1)
  one.script = slow
  two.script = slow
  for (let round = 0; round < 20; round += 1) {
    const names = [`first ${round}`, `second ${round}`]
    const asked = names.map((name) => ask(name))
    await until(() => names.every((name) => held.has(name)))
    clock.advance(50)
    for (const name of names) held.get(name)?.()
    await Promise.all(asked)
    const { length } = begun
    for (let ms = 0; ms < 3; ms += 1) {
      clock.advance(1000)
      await new Promise(setImmediate)
    }
    t.equal(begun.length, length, 'nobody is asked after the answers')
  }
  gone.abort()
  t.equal(await lost, 'cancelled')
})

t.test('no question gets more than two hedges, however late its answer is', async (t) => {
  const clock = fakeClock()
  const begun: number[] = []
  const { ask, servers } = await judge(
    t,
    [yes, yes, yes, yes, yes],
    { hedge: { budget: 0.5 } },
    { clock, random: () => 0, events: { callStarted: () => begun.push(1) } },
  )
  for (let i = 0; i < 40; i += 1) await ask(`q${i}`)
  for (const server of servers) server.script = () => undefined
  begun.length = 0
  const gone = new AbortController()
  const lost = ask('late', { signal: gone.signal }).catch(({ failure }) => failure.kind)
  for (let second = 0; second < 20; second += 1) {
    clock.advance(1000)
    await new Promise(setImmediate)
  }
  t.equal(begun.length, 3)
  gone.abort()
  t.equal(await lost, 'cancelled')
})

t.test('a hedge that is not made is refunded once', async (t) => {
  const clock = fakeClock()
  const hedge = new Hedge(clock, { share: 0.5, quantile: 0.95, hasLine: () => false })
  for (let ms = 1; ms <= 100; ms += 1) hedge.observe(ms)
  for (let i = 0; i < 10; i += 1) hedge.earn()
  const begin = (late: () => void) => hedge.track({ latencyMs: 5 } as PoolMember, clock.now(), late)
  for (let i = 0; i < 20; i += 1) begin(() => hedge.refund())
  clock.advance(10_000)
  const made: number[] = []
  for (let i = 0; i < 20; i += 1) begin(() => made.push(1))
  clock.advance(10_000)
  t.equal(made.length, 5, 'half of ten questions')
  hedge.end()
})

const member = (latencyMs: number, more: object = {}): PoolMember =>
  ({ latencyMs, limit: 10, inFlight: 1, lastBegan: 0, isAlive: true, ...more }) as PoolMember

const line = (waiting: number, stoodMs = 0) => ({ waiting, stoodMs })

t.test('a slow instance is only asked if no other would answer sooner', async (t) => {
  const quick = member(200)
  const slow = member(1000)
  const members = [quick, member(210), slow]
  t.notOk(slowInstanceFilter(members, line(0), 0)(slow), 'nobody waits')
  t.ok(slowInstanceFilter(members, line(0), 0)(quick))
  t.notOk(slowInstanceFilter(members, line(50), 0)(slow), '51 places later is 0.7 s')
  t.ok(slowInstanceFilter(members, line(100), 0)(slow), '101 places later is 1.2 s')
  t.ok(slowInstanceFilter(members, line(1, 1000), 0)(slow), 'the line stands still')
})

t.test('an instance that is unknown, not much slower or alone is always worth asking', async (t) => {
  const unknown = member(0)
  t.ok(slowInstanceFilter([unknown], line(0), 0)(unknown))
  t.ok(slowInstanceFilter([member(200), unknown], line(0), 0)(unknown))
  const near = member(390)
  t.ok(slowInstanceFilter([member(200), near], line(0), 0)(near))
  const jittery = member(90)
  t.ok(slowInstanceFilter([member(2), jittery], line(0), 0)(jittery), 'below 100 ms a difference is chance')
  const alone = member(1000)
  t.ok(slowInstanceFilter([member(200, { isAlive: false }), alone], line(0), 0)(alone))
})

t.test('an instance that was slow is tried again after a while', async (t) => {
  const slow = member(1000, { inFlight: 0, lastBegan: 500 })
  const members = [member(200), slow]
  t.notOk(slowInstanceFilter(members, line(0), 10_500)(slow))
  t.ok(slowInstanceFilter(members, line(0), 10_501)(slow))
})
