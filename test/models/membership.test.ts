import { rename, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import t from 'tap'
import { systemClock } from '../../src/clock.ts'
import { addressOf, isAllowed } from '../../src/models/address.ts'
import { readAddresses } from '../../src/models/instances-file.ts'
import { fakeClock } from '../support/clock.ts'
import { configOf, failureOf, judge, question } from '../support/models.ts'
import { completion, json, type Script, scriptedServer } from '../support/scripted-server.ts'

const yes: Script = (seen) => completion(seen, 'Yes')

const until = async (done: () => boolean) => {
  while (!done()) await new Promise(setImmediate)
  await new Promise(setImmediate)
}

t.test('an address fits a pattern whole, a star stands for one name', async (t) => {
  const fits = (address: string, pattern: string) => isAllowed(addressOf(address), [pattern])
  t.ok(fits('http://judge-12:8000', 'http://judge-*:8000'))
  t.ok(fits('http://judge-12:8000/', 'http://judge-*:8000/'))
  t.ok(fits('http://10.0.3.4:8000', 'http://10.0.*.*:8000'))
  t.ok(fits('http://a:1/v1', 'http://a:*/v1'))
  t.ok(fits('http://a-b', 'http://a-*'))
  t.notOk(fits('http://judge-1.evil.example:8000', 'http://judge-*:8000'))
  t.notOk(fits('http://judge-1:18000', 'http://judge-*:8000'))
  t.notOk(fits('http://xjudge-1:8000', 'http://judge-*:8000'))
  t.notOk(fits('https://judge-1:8000', 'http://judge-*:8000'))
  t.notOk(fits('http://judge-1:8000/admin', 'http://judge-*:8000'))
  t.notOk(fits('http://a', 'http://a*b'))
  t.notOk(isAllowed('http://a', []))
  for (const bad of ['ftp://a', 'a', 'http://u:p@a', 'http://a?x=1', 'http://a#b', ''])
    t.throws(() => addressOf(bad), { code: 'RG_REQUEST_INVALID' }, bad)
  const hostile = `http://${'a-'.repeat(100_000)}`
  const started = performance.now()
  t.notOk(isAllowed(hostile, [`http://${'*-'.repeat(1000)}z`]))
  t.ok(performance.now() - started < 1000)
})

t.test('an instance comes and goes while questions run, and none is lost', async (t) => {
  const { ask, models, servers } = await judge(t, [yes, yes], { allow: ['http://127.0.0.1:*'] })
  const [one, two] = servers
  const added = await scriptedServer(yes)
  t.teardown(() => added.kill())
  if (!one || !two) return
  const held: (() => void)[] = []
  one.script = (seen, response) => void held.push(() => json(response, completion(seen, 'Yes')))
  two.script = one.script
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
    ['draining', 'draining', 'ready'],
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

t.test('an instance that comes back while it drains stays', async (t) => {
  const held: (() => void)[] = []
  const { ask, models, server } = await judge(t, [
    (seen, response) => void held.push(() => json(response, completion(seen, 'Yes'))),
  ])
  const asked = ask('q')
  await server.saw(1)
  const removing = models.removeInstance('judge', server.url)
  models.addInstance('judge', server.url)
  await removing
  t.equal(models.snapshot()[0]?.instances[0]?.state, 'ready')
  held.pop()?.()
  await asked
})

t.test('a file of addresses is followed; a broken one changes nothing', async (t) => {
  t.strictSame(readAddresses(' ["http://a", "http://b"] '), ['http://a', 'http://b'])
  t.strictSame(readAddresses('# all\nhttp://a # first\n\nhttp://b\n'), ['http://a', 'http://b'])
  t.strictSame(readAddresses('[]'), [])
  for (const broken of ['', '  \n# nothing', '["http://a"', '[1]', '[{}]'])
    t.equal(readAddresses(broken), null)

  const clock = fakeClock()
  const file = join(t.testdir(), 'instances.txt')
  const write = async (text: string) => {
    await writeFile(`${file}.part`, text)
    await rename(`${file}.part`, file)
  }
  const refused: string[] = []
  const extra = await Promise.all([scriptedServer(yes), scriptedServer(yes)])
  t.teardown(() => Promise.all(extra.map((server) => server.kill())))
  const [a, b] = extra
  if (!a || !b) return
  await write(`${a.url}\n`)
  const { models, server } = await judge(
    t,
    [yes],
    { instances_file: file, allow: ['http://127.0.0.1:*'] },
    { clock, events: { refused: ({ instance }) => refused.push(instance) } },
  )
  const addresses = () => models.snapshot()[0]?.instances.map(({ address }) => address) ?? []
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
})

t.test('a new config takes over without losing a question', async (t) => {
  const held: (() => void)[] = []
  const hold: Script = (seen, response) => void held.push(() => json(response, completion(seen, 'old')))
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

t.test('a model leaves an instance although another model keeps it busy', async (t) => {
  const held: (() => void)[] = []
  const hold: Script = (seen, response) => void held.push(() => json(response, completion(seen, 'Yes')))
  const { models, server } = await judge(t, [hold])
  const both = models.next({
    judge: configOf([server.url]),
    other: configOf([server.url], { model: 'n' }),
  })
  const other = both.ask({ ...question('q', systemClock.now() + 60_000), model: 'other' })
  await server.saw(1)
  await both.removeInstance('judge', server.url)
  t.match(both.snapshot(), [{ instances: [] }, { instances: [{ address: server.url, inFlight: 1 }] }])
  const moved = both.next({ other: configOf([], { model: 'n', allow: ['http://judge'] }) })
  t.teardown(() => moved.close())
  await models.close()
  const closed = both.close()
  t.match(await failureOf(other), { kind: 'cancelled' }, 'what nobody asks any more is stopped')
  await closed
})
