import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import t from 'tap'
import { outcomesOf, resultOf, sampleOf, testGateway } from '../support/gateway.ts'
import { completion, json, type Script, scriptedServer } from '../support/scripted-server.ts'

t.test('a reload moves a model to other servers without a lost request', async (t) => {
  const held: (() => void)[] = []
  const digit =
    (text: string): Script =>
    (seen) =>
      completion(seen, text)
  const [old, later] = await Promise.all([scriptedServer(digit('0')), scriptedServer(digit('1'))])
  t.teardown(() => Promise.all([old.kill(), later.kill()]))
  const folder = t.testdir({})
  const write = (url: string, weight: number, drainS = 0) => {
    const judge = { model: 'm', instances: [url], health: { interval_s: 0 } }
    const model = 'judge'
    const first = { name: 'first', function: 'digit-judge', model }
    const second = { name: 'second', function: 'digit-judge', model, op: 'add', weight, after: ['first'] }
    const config = { models: { judge }, steps: [first, second] }
    writeFileSync(join(folder, 'judged.json'), JSON.stringify(config))
    writeFileSync(join(folder, 'gateway.json'), JSON.stringify({ limits: { drain_s: drainS } }))
  }
  write(old.url, 1)
  const gateway = await testGateway(t, {}, { configs: [folder] })
  const before = gateway.reward('judged').version
  old.script = (seen, response) => void held.push(() => json(response, completion(seen, '0')))
  const signal = new AbortController().signal
  const rows = Array.from({ length: 20 }, (_, row) => sampleOf(`old ${row}`))
  const underWay = gateway.score({ reward: 'judged', rows, signal })
  const passed = gateway.forward('judge', { path: '/v1/completions', body: { prompt: 'p' }, signal })
  await old.saw(21)

  write(later.url, 3)
  await gateway.reload()
  t.not(gateway.reward('judged').version, before)
  const [fresh] = await outcomesOf(gateway, 'judged', [sampleOf('new')])
  t.equal(resultOf(fresh), 4, 'what comes after the reload goes to the servers of the new config')
  t.equal(later.seen.length, 2)

  const release = setInterval(() => held.splice(0).map((reply) => reply()), 1)
  t.teardown(() => clearInterval(release))
  const { outcomes, version } = await underWay
  t.equal(version, before)
  t.strictSame([...new Set(outcomes.map(resultOf))], [0], 'later steps of old requests ask the old servers')
  t.match(JSON.parse(await text((await passed).body)), { choices: [{ text: '0' }] })
  t.equal(old.seen.length, 41)
  t.equal(later.seen.length, 2)

  const calls = later.seen.length
  write(later.url, 3, 1)
  await gateway.reload()
  t.equal(resultOf((await outcomesOf(gateway, 'judged', [sampleOf('newer')]))[0]), 4)
  t.equal(later.seen.length, calls + 2)
  t.equal(gateway.models()[0]?.instances[0]?.calls, 4, 'a model that stays the same keeps its instances')
  const closing = gateway.close(0)
  t.throws(() => gateway.score({ reward: 'judged', rows, signal }), { code: 'RG_CLOSING' })
  await t.rejects(gateway.forward('judge', { path: '/', body: {}, signal }), { code: 'RG_CLOSING' })
  await t.rejects(gateway.reload(), { code: 'RG_CLOSING' })
  await closing
})
