import { rename, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import t from 'tap'
import { systemClock } from '../../../src/core/clock.ts'
import { addressOf, isAllowed, readAddresses } from '../../../src/scoring/models/interface/address.ts'
import type { AskError } from '../../../src/scoring/models/interface/ask.ts'
import type { Models } from '../../../src/scoring/models/models.ts'
import { openModels } from '../../../src/scoring/models/models.ts'
import { fakeClock } from '../../support/clock.ts'
import { configOf, failureOf, judge, probesOff, question } from '../../support/models.ts'
import {
  completion,
  json,
  type Script,
  type ScriptedServer,
  scriptedServer,
} from '../../support/scripted-server.ts'
import { seeded } from '../../support/seeded.ts'
import { startFleet } from '../../support/simulated.ts'
import { isWithin } from '../../support/yardstick.ts'

const yes: Script = (seen) => completion(seen, 'Yes')

const until = async (done: () => boolean) => {
  while (!done()) await new Promise(setImmediate)
  await new Promise(setImmediate)
}

/** A script that answers when it is let. */
function holding(text = 'Yes') {
  const held: (() => void)[] = []
  const hold: Script = (seen, response) => void held.push(() => json(response, completion(seen, text)))
  return { held, hold }
}

async function replaceFile(file: string, text: string): Promise<void> {
  await writeFile(`${file}.part`, text)
  await rename(`${file}.part`, file)
}

t.test('a pattern matches a whole address, and a star one name in it', async (t) => {
  const cases: readonly (readonly [address: string, pattern: string, fits: boolean])[] = [
    ['http://judge-12:8000', 'http://judge-*:8000', true],
    ['http://judge-12:8000/', 'http://judge-*:8000/', true],
    ['http://10.0.3.4:8000', 'http://10.0.*.*:8000', true],
    ['http://a:1/v1', 'http://a:*/v1', true],
    ['http://a-b', 'http://a-*', true],
    ['http://judge-1.evil.example:8000', 'http://judge-*:8000', false],
    ['http://judge-1:18000', 'http://judge-*:8000', false],
    ['http://xjudge-1:8000', 'http://judge-*:8000', false],
    ['https://judge-1:8000', 'http://judge-*:8000', false],
    ['http://judge-1:8000/admin', 'http://judge-*:8000', false],
    ['http://a', 'http://a*b', false],
  ]
  for (const [address, pattern, fits] of cases)
    t.equal(isAllowed(addressOf(address), [pattern]), fits, `${address} ${pattern}`)
  t.notOk(isAllowed('http://a', []), 'no pattern allows nothing')
})

t.test('an address is a URL of http or https without a user, query or fragment', async (t) => {
  for (const bad of ['ftp://a', 'a', 'http://u:p@a', 'http://a?x=1', 'http://a#b', ''])
    t.throws(() => addressOf(bad), { code: 'RG_REQUEST_INVALID' }, bad)
})

t.test('a hostile address is matched in linear time', async (t) => {
  const hostile = `http://${'a-'.repeat(100_000)}`
  const started = performance.now()
  t.notOk(isAllowed(hostile, [`http://${'*-'.repeat(1000)}z`]))
  t.ok(isWithin(performance.now() - started, 1000))
})

t.test('an instance removed by several callers at once removes no other', async (t) => {
  const { ask, models, servers } = await judge(t, [yes, yes, yes])
  const [, two, three] = servers as [ScriptedServer, ScriptedServer, ScriptedServer]
  const { held, hold } = holding()
  for (const server of servers) server.script = hold
  const asked = Array.from({ length: 12 }, (_, i) => ask(`q${i}`))
  await until(() => held.length === 12)
  const removals = [two, two, three].map(({ url }) => models.removeInstance('judge', url))
  for (const answer of held) answer()
  await Promise.all([...asked, ...removals])
  t.match(models.snapshot()[0], { instances: [{ address: servers[0]?.url, state: 'ready' }] })
  for (const server of servers) server.script = yes
  await ask('later')
})

t.test('an instance comes and goes while questions run, and none is lost', async (t) => {
  const { ask, models, servers } = await judge(t, [yes, yes], { allow: ['http://127.0.0.1:*'] })
  const [one, two] = servers as [ScriptedServer, ScriptedServer]
  const added = await scriptedServer(yes)
  t.teardown(() => added.kill())
  const { held, hold } = holding()
  one.script = hold
  two.script = hold
  const asked = Array.from({ length: 10 }, (_, i) => ask(`q${i}`))
  await until(() => held.length === 10)
  models.addInstance('judge', added.url)
  models.addInstance('judge', added.url)
  t.equal(models.snapshot()[0]?.instances.length, 3)
  let isGone = false
  const removing = models.removeInstance('judge', one.url).then(() => {
    isGone = true
  })
  const draining = models.drainInstance('judge', `${two.url}/`)
  t.strictSame(
    models.snapshot()[0]?.instances.map(({ state }) => state),
    ['draining', 'draining', 'joining'],
  )
  const seen = one.seen.length + two.seen.length
  for (let i = 0; i < 10; i += 1) t.equal((await ask(`r${i}`)).instance, added.url)
  t.equal(one.seen.length + two.seen.length, seen)
  t.equal(isGone, false)
  for (const release of held) release()
  await Promise.all([removing, draining, ...asked])
  t.equal(models.snapshot()[0]?.instances.length, 2)
  models.addInstance('judge', two.url)
  t.equal(models.snapshot()[0]?.instances[0]?.state, 'ready')
})

t.test('only what the config allows may be added, and only what is there removed', async (t) => {
  const { models, server } = await judge(t, [yes], { allow: ['http://judge-*:8000'] })
  t.throws(() => models.addInstance('judge', 'http://127.0.0.1:9'), { code: 'RG_FORBIDDEN' })
  t.throws(() => models.addInstance('none', 'http://judge-1:8000'), { code: 'RG_NOT_FOUND' })
  await t.rejects(models.drainInstance('judge', 'http://judge-1:8000'), { code: 'RG_NOT_FOUND' })
  await t.rejects(models.removeInstance('none', server.url), { code: 'RG_NOT_FOUND' })
  await models.removeInstance('judge', server.url)
  models.addInstance('judge', server.url)
  t.equal(models.snapshot()[0]?.instances.length, 1, 'an instance of the config may come back')
})

t.test('an instance that is added again while it drains stays', async (t) => {
  const { held, hold } = holding()
  const { ask, models, server } = await judge(t, [hold])
  const asked = ask('q')
  await server.saw(1)
  const removing = models.removeInstance('judge', server.url)
  models.addInstance('judge', server.url)
  await removing
  t.equal(models.snapshot()[0]?.instances[0]?.state, 'ready')
  held.pop()?.()
  await asked
})

t.test('an instance that is removed, added and removed at once still finishes its calls', async (t) => {
  const { held, hold } = holding()
  const { ask, models, server } = await judge(t, [hold], { allow: ['http://127.0.0.1:*'] })
  const asked = ask('q')
  await server.saw(1)
  const removed = [models.removeInstance('judge', server.url)]
  models.addInstance('judge', server.url)
  removed.push(models.removeInstance('judge', server.url))
  for (let turn = 0; turn < 10; turn++) await new Promise(setImmediate)
  t.match(models.snapshot()[0]?.instances, [{ state: 'draining', inFlight: 1 }])
  held.shift()?.()
  t.equal((await asked).answer.text, 'Yes')
  await Promise.all(removed)
  t.strictSame(models.snapshot()[0]?.instances, [])
})

t.test('instances follow the instances_file; an invalid file changes nothing', async (t) => {
  t.strictSame(readAddresses(' ["http://a", "http://b"] '), ['http://a', 'http://b'])
  t.strictSame(readAddresses('# all\nhttp://a # first\n\nhttp://b\n'), ['http://a', 'http://b'])
  t.strictSame(readAddresses('[]'), [])
  for (const broken of ['', '  \n# nothing', '["http://a"', '[1]', '[{}]'])
    t.equal(readAddresses(broken), null)

  const clock = fakeClock()
  const file = join(t.testdir(), 'instances.txt')
  const write = (text: string) => replaceFile(file, text)
  const refused: string[] = []
  const [a, b] = await Promise.all([scriptedServer(yes), scriptedServer(yes)])
  t.teardown(() => Promise.all([a.kill(), b.kill()]))
  await write(`${a.url}\n`)
  const { models, server } = await judge(
    t,
    [yes],
    { instances_file: file, allow: ['http://127.0.0.1:*'] },
    { clock, events: { refused: ({ instance }) => refused.push(instance) } },
  )
  const addresses = () => addressesOf(models)
  const becomes = async (wanted: string[]) => {
    while (addresses().join() !== wanted.join()) {
      clock.advance(2000)
      await new Promise(setImmediate)
    }
    t.strictSame(addresses(), wanted)
  }
  await becomes([server.url, a.url])
  await write(JSON.stringify([b.url, 'http://elsewhere:8000', 'not an address']))
  await becomes([server.url, b.url])
  t.strictSame(refused, ['http://elsewhere:8000', 'not an address'])
  await write('')
  for (let i = 0; i < 5; i += 1) {
    clock.advance(2000)
    await new Promise((resolve) => setTimeout(resolve, 1))
  }
  await becomes([server.url, b.url])
  await write('[]')
  await becomes([server.url])

  await write(`${a.url}\n`)
  await becomes([server.url, a.url])
  models.addInstance('judge', b.url)
  const more = { ...probesOff, allow: ['http://127.0.0.1:*'] }
  const same = models.next({ judge: configOf([server.url], { ...more, instances_file: file }) })
  t.strictSame(addressesOf(same), [server.url, a.url, b.url], 'a reload keeps them')
  const without = same.next({ judge: configOf([server.url], more) })
  t.teardown(() => without.close())
  t.strictSame(addressesOf(without), [server.url, b.url], 'but not those of a file that is no longer named')
  await Promise.all([models.close(), same.close()])
})

const addressesOf = (models: Models) => models.snapshot()[0]?.instances.map(({ address }) => address) ?? []

t.test('a new config takes over without losing a question', async (t) => {
  const { held, hold } = holding('old')
  const { ask, models, server } = await judge(t, [hold], { max_in_flight: 2 })
  const asked = Array.from({ length: 6 }, (_, i) => ask(`q${i}`))
  await until(() => held.length === 2)
  const next = await scriptedServer((seen) => completion(seen, 'new'))
  t.teardown(() => next.kill())
  const config = configOf([next.url])
  const later = models.next({ judge: config })
  const asksLater = (input: string) => later.ask(question(input, systemClock.now() + 60_000))
  t.match(await asksLater('r'), { answer: { text: 'new' } })
  const latest = later.next({ judge: config })
  await later.close()
  for (let i = 0; i < 6; i += 1) {
    await until(() => held.length > 0)
    held.pop()?.()
  }
  const answers = await Promise.all(asked)
  t.ok(answers.every(({ answer }) => answer.text === 'old'))
  t.equal(server.seen.length, 6)
  await models.close()
  t.match(await latest.ask(question('s', systemClock.now() + 60_000)), { answer: { text: 'new' } })
  const none = latest.next({})
  await latest.close()
  t.strictSame(none.names, [])
  t.match(await failureOf(none.ask(question('s', 0))), { kind: 'judge_rejected' })
  await none.close()
})

t.test('an instance can leave one model while another keeps it busy', async (t) => {
  const { hold } = holding()
  const { models, server } = await judge(t, [hold])
  const both = models.next({
    judge: configOf([server.url]),
    other: configOf([server.url], { model: 'n' }),
  })
  server.served = ['m', 'n']
  const other = both.ask({ ...question('q', systemClock.now() + 60_000), model: 'other' })
  await server.saw(1)
  await both.removeInstance('judge', server.url)
  const [left, busy] = both.snapshot()
  t.strictSame(left?.instances, [])
  t.match(busy, { instances: [{ address: server.url, inFlight: 1 }] })
  const moved = both.next({ other: configOf([], { model: 'n', allow: ['http://judge'] }) })
  t.teardown(() => moved.close())
  await models.close()
  const closed = both.close()
  t.match(await failureOf(other), { kind: 'cancelled' }, 'what nobody asks any more is stopped')
  await closed
})

const first = Number(process.env.SEED ?? Math.floor(Math.random() * 2 ** 31))
const seeds = process.env.SEED ? [first] : [first, first + 1]
t.comment(`SEED=${seeds.join(' or SEED=')}`)

const after = (ms: number) => new Promise<void>((resolve) => void systemClock.after(ms, resolve))

for (const seed of seeds) {
  t.test(`instances come and go in every way, and no question is lost (seed ${seed})`, async (t) => {
    const random = seeded(seed)
    const servers = await startFleet(t, 5, { model: 'm', seed, latencyMedianMs: 5, latencySigma: 1 })
    const urls = servers.map(({ url }) => url)
    const pick = <T>(list: readonly T[]): T => list[Math.floor(random() * list.length)] as T
    const file = join(t.testdir(), 'instances.txt')
    const list = (some: readonly string[]) => replaceFile(file, some.join('\n'))
    await list(urls.slice(1, 2))
    // The first server stays; the clock of the file's watch is quick.
    const configNow = () => ({
      judge: configOf([urls[0], pick(urls)], {
        allow: ['http://127.0.0.1:*'],
        instances_file: file,
        max_in_flight: 1 + Math.floor(4 * random()),
        timeout_s: 5,
      }),
    })
    const quick = {
      ...systemClock,
      after: (ms: number, fn: () => void) => systemClock.after(ms === 2000 ? 5 : ms, fn),
    }
    let models = openModels(configNow(), { clock: quick, random })
    const earlier: Models[] = []
    t.teardown(async () => {
      await Promise.all([...earlier, models].map((one) => one.close()))
    })
    const asked: Promise<string>[] = []
    let isOver = false
    const stream = async (name: number) => {
      for (let n = 0; !isOver; n += 1) {
        const request = question(`${name} ${n}`, systemClock.now() + 20_000)
        const outcome = models.ask(request).then(
          () => 'answered',
          (error: AskError) => error.failure?.kind ?? String(error),
        )
        asked.push(outcome)
        if (random() < 0.5) await outcome
        else await after(3 * random())
      }
    }
    const streams = Array.from({ length: 12 }, (_, name) => stream(name))
    const changes: Promise<unknown>[] = []
    const known = (error: { code?: string }) => {
      if (error.code !== 'RG_NOT_FOUND') throw error
    }
    for (let n = 0; n < 60; n += 1) {
      const url = pick(urls.slice(1))
      const move = random()
      if (move < 0.3) models.addInstance('judge', url)
      else if (move < 0.5) changes.push(models.drainInstance('judge', url).catch(known))
      else if (move < 0.7) changes.push(models.removeInstance('judge', url).catch(known))
      else if (move < 0.85) await list(urls.filter(() => random() < 0.5))
      else {
        earlier.push(models)
        models = models.next(configNow())
      }
      await after(6 * random())
    }
    isOver = true
    await Promise.all(streams)
    const outcomes = await Promise.all(asked)
    t.comment(`${outcomes.length} questions, ${earlier.length} reloads`)
    t.strictSame([...new Set(outcomes)], ['answered'])
    await Promise.all(changes)
    for (const one of [...earlier, models])
      for (const { waiting, instances } of one.snapshot()) {
        t.equal(waiting, 0)
        t.ok(instances.every(({ inFlight }) => inFlight === 0))
      }
    await Promise.all(earlier.map((one) => one.close()))
    t.match(await models.ask(question('after', systemClock.now() + 20_000)), { source: 'call' })
  })
}
