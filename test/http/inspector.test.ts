import { createHash } from 'node:crypto'
import { once } from 'node:events'
import { writeFileSync } from 'node:fs'
import { connect } from 'node:net'
import type { Readable } from 'node:stream'
import type { FastifyInstance } from 'fastify'
import t from 'tap'
import { mostListeners } from '../../src/http/inspector/feed.ts'
import { mostRows } from '../../src/telemetry/live/recent-rows.ts'
import { readEvents } from '../support/event-stream.ts'
import { testModel } from '../support/gateway.ts'
import { inspectedApp } from '../support/inspected.ts'

const rule = { steps: [{ name: 'rule', function: 'echo-rule' }] }
const sha256 = (text: string) => createHash('sha256').update(text).digest('hex')
const bearer = (key: string) => ({ authorization: `Bearer ${key}` })

const score = (app: FastifyInstance, reward: string, samples: readonly object[], more: object = {}) =>
  app.inject({
    method: 'POST',
    url: '/v1/score',
    headers: { 'x-request-id': 'req' },
    payload: { reward, samples, ...more },
  })

const open = async (app: FastifyInstance, headers: Record<string, string> = {}) => {
  const response = await app.inject({ url: '/ui/api/events', headers, payloadAsStream: true })
  return { response, stream: response.stream() as Readable }
}

t.test('whoever looks is told what is served, how it stands and what is scored, once a second', async (t) => {
  const { app, clock } = await inspectedApp(t, { one: rule })
  await score(app, 'one', [{ response: '1', group_id: 'g' }, { response: 'throw' }])
  const { response, stream } = await open(app)
  t.match(response.headers, { 'content-type': 'text/event-stream', 'cache-control': 'no-store' })
  const events = readEvents(stream)
  t.match(await events.next('served'), {
    text: 'hash',
    rewards: [{ name: 'one', steps: [{ name: 'rule', function: 'echo-rule', range: [-1, 2] }] }],
  })
  t.match(await events.next('standing'), { models: [], missing: [] })
  t.match(await events.next('scored'), {
    now: 1_000_000,
    rewards: {
      one: {
        rows: 2,
        invalid: { rule_error: 1 },
        rewards: { range: [-1, 2], recent: { width: 5000, points: [[1_000_000, 1, 1, [13, 1]]] } },
        terms: [{ name: 'rule', ended: { scored: 1, failed: 1 } }],
      },
    },
    rows: [
      { id: 'req:1', value: null, failure: 'rule_error', terms: ['failed'] },
      { id: 'req:0', value: 1, group: 'g', terms: [1], prompt: null, response: null },
    ],
  })
  for (const value of ['0', '2', '1']) await score(app, 'one', [{ response: value }])
  const told = events.all.length
  clock.advance(999)
  t.equal(events.all.length, told, 'nothing before a second is over')
  clock.advance(1)
  const next = await events.next('scored')
  t.match(next, { rewards: { one: { rows: 5 } } })
  const { rewards } = next as { rewards: { one: { rewards: { recent: { points: unknown } } } } }
  t.strictSame(rewards.one.rewards.recent.points, [[1_000_000, 4, 4, [6, 1, 13, 2, 19, 1]]], 'whole slots')
  clock.advance(10_000)
  t.equal(events.all.filter(({ name }) => name === 'scored').length, 2, 'and nothing where nothing happens')
  stream.destroy()
})

t.test('texts are shown as the record keeps them, and never more', async (t) => {
  const { config } = await testModel(t, 1, { policy: 'constant', constant: 1 })
  const judged = { steps: [{ name: 'judge', function: 'digit-judge', model: 'judge' }] }
  const sample = { prompt: 'a secret prompt', response: 'a secret answer', ground_truth: 'a secret truth' }
  const folder = t.testdir({})
  const shown: [settings: object, text: string][] = [
    [{}, 'hash'],
    [{ record: { folder, text: 'full' } }, 'full'],
    [{ inspector: { text: 'full' } }, 'full'],
    [{ record: { folder, text: 'none' }, inspector: { text: 'full' } }, 'none'],
    [{ record: { folder, text: 'full' }, inspector: { text: 'hash' } }, 'hash'],
  ]
  for (const [settings, text] of shown) {
    const { app, clock } = await inspectedApp(t, {
      gateway: { models: { judge: config }, ...settings },
      judged,
    })
    const { stream } = await open(app)
    const events = readEvents(stream)
    t.match(await events.next('served'), { text })
    await score(app, 'judged', [sample])
    clock.advance(1000)
    await events.next('scored')
    const { rows } = (await events.next('scored')) as { rows: unknown }
    const { body } = await app.inject('/ui/api/rows/req:0')
    const row = JSON.parse(body)
    const told = JSON.stringify(events.all) + JSON.stringify(rows) + body
    t.equal(told.includes('secret'), text === 'full', `${JSON.stringify(Object.keys(settings))}: ${text}`)
    t.match(row, { reward: 1, terms: [{ asks: [{ model: 'judge', verdict: 1, source: /call|cache/ }] }] })
    if (text === 'full') t.match(row.terms[0].asks[0], { question: /Answer.*a secret answer/s, answer: '1' })
    if (text === 'hash') t.match(row.sample.response, { sha256: sha256(sample.response), chars: 15 })
    if (text === 'none') t.equal(row.terms[0].asks[0].question, null)
    stream.destroy()
  }
})

t.test('reading needs a key that may read, at every second; the page itself needs none', async (t) => {
  const folder = t.testdir({ keys: 'reader-key-0123456789', page: { 'index.html': '<!doctype html>' } })
  const keys = {
    reader: { file: `${folder}/keys`, scopes: ['read'] },
    trainer: { env: 'TRAINER', scopes: ['score'] },
  }
  const page = `${folder}/page`
  const env = { TRAINER: 'trainer-key-0123456789' }
  const { app, clock } = await inspectedApp(t, { gateway: { keys }, one: rule }, { env, page })
  t.equal((await app.inject('/ui/')).statusCode, 200)
  for (const url of ['/ui/api/events', '/ui/api/rows/req:0']) {
    t.equal((await app.inject(url)).statusCode, 401, url)
    t.equal((await app.inject({ url, headers: bearer(env.TRAINER) })).statusCode, 403, url)
    t.equal((await app.inject(`${url}?key=reader-key-0123456789`)).statusCode, 401, 'no key in an address')
  }
  const access = async (headers: Record<string, string>) =>
    (await app.inject({ url: '/ui/api/access', headers })).json()
  t.strictSame(await access({}), { read: false, score: false, admin: false })
  t.strictSame(await access(bearer(env.TRAINER)), { read: false, score: true, admin: false })
  t.strictSame(await access(bearer('reader-key-0123456789')), { read: true, score: false, admin: false })
  const { stream } = await open(app, bearer('reader-key-0123456789'))
  const events = readEvents(stream)
  await events.next('scored')
  clock.advance(15_000)
  t.notOk(stream.destroyed)
})

t.test('a key that a reload takes away sees no more', async (t) => {
  const folder = t.testdir({ keys: 'reader-key-0123456789' })
  const keys = { reader: { file: `${folder}/keys`, scopes: ['read'] } }
  const { app, gateway, clock } = await inspectedApp(t, { gateway: { keys }, one: rule })
  const { stream } = await open(app, bearer('reader-key-0123456789'))
  const events = readEvents(stream)
  await events.next('scored')
  writeFileSync(`${folder}/keys`, 'another-key-0123456789')
  await gateway.reload()
  clock.advance(15_000)
  t.equal(await events.next('scored'), null, 'the stream has ended')
})

t.test('what is kept and who may look is bounded, whatever comes', async (t) => {
  const { app, clock } = await inspectedApp(t, { gateway: { inspector: { text: 'full' } }, one: rule })
  const many = Array.from({ length: 64 }, (_, index) => ({ response: index === 7 ? 'null' : '1' }))
  for (let request = 0; request < 40; request += 1)
    await score(app, 'one', many, { run: 'r'.repeat(128) }).then(() => clock.advance(1))
  const long = 'x'.repeat(1_000_000)
  await app.inject({
    method: 'POST',
    url: '/v1/score',
    headers: { 'x-request-id': 'long' },
    payload: { reward: 'one', samples: [{ id: long, response: long, group_id: long }] },
  })
  const looking = await Promise.all(Array.from({ length: mostListeners }, () => open(app)))
  const refused = await app.inject('/ui/api/events')
  t.equal(refused.statusCode, 429)
  const events = readEvents(looking[0]!.stream)
  const scored = (await events.next('scored')) as { rows: { id: string }[] }
  t.ok(scored.rows.length <= mostRows && scored.rows.length > 10, `${scored.rows.length} rows`)
  t.equal(scored.rows[0]?.id, 'long:0')
  t.ok(JSON.stringify(scored).length < 300_000, `${JSON.stringify(scored).length} characters`)
  const { body } = await app.inject('/ui/api/rows/long:0')
  t.match(JSON.parse(body).sample.response, /^x{20000}\n\[980000 more characters\]$/)
  const gone = once(looking[1]!.response.raw.res, 'close')
  looking[1]!.response.raw.res.destroy()
  await gone
  t.equal((await open(app)).response.statusCode, 200, 'who leaves makes room')
})

t.test('a closing server ends the streams, also of those who read nothing', async (t) => {
  const { app, clock } = await inspectedApp(t, { one: rule })
  await app.listen({ port: 0, host: '127.0.0.1' })
  const { port } = app.server.address() as { port: number }
  const socket = connect(port, '127.0.0.1')
  const ended = new Promise<void>((resolve) => socket.once('close', () => resolve()))
  socket.write('GET /ui/api/events HTTP/1.1\r\nhost: x\r\n\r\n')
  await new Promise<void>((resolve) => socket.once('readable', () => resolve()))
  const closed = app.close()
  const moving = setInterval(() => clock.advance(1000), 5)
  await closed
  clearInterval(moving)
  socket.resume()
  await ended
  t.equal(clock.pending, 0, 'no timer is left')
})

t.test('a listener that takes nothing is let go, and the others go on', async (t) => {
  const { app, clock } = await inspectedApp(t, { gateway: { inspector: { text: 'full' } }, one: rule })
  const stuck = await open(app)
  const { stream } = await open(app)
  const events = readEvents(stream)
  await events.next('scored')
  stuck.stream.pause()
  const samples = Array.from({ length: 48 }, (_, id) => ({ id: `${id}${'i'.repeat(128)}`, response: '1' }))
  let isOpen = true
  stuck.response.raw.res.once('close', () => {
    isOpen = false
  })
  for (let second = 0; isOpen && second < 3000; second += 1) {
    if (second % 8 === 0) await score(app, 'one', samples)
    await score(app, 'one', [{ response: '1' }])
    clock.advance(1000)
    await events.next('scored')
  }
  t.notOk(isOpen, 'the one that reads nothing is gone')
})

t.test(
  'the page is served with strict headers, tagged and packed; where it is not built, that is said',
  async (t) => {
    const page = t.testdir({
      'index.html': '<!doctype html>',
      assets: { 'a-1234.js': 'export {}' },
      'x.txt': 'no',
    })
    const { app } = await inspectedApp(t, { one: rule }, { page })
    const index = await app.inject('/ui/')
    t.match(index.headers, { 'content-type': /html/, 'cache-control': 'no-cache', etag: String })
    const policy = String(index.headers['content-security-policy'])
    t.match(policy, /default-src 'none'.*script-src 'self';.*style-src 'self'/)
    t.notMatch(policy, /unsafe/)
    const again = await app.inject({ url: '/ui/', headers: { 'if-none-match': String(index.headers.etag) } })
    t.equal(again.statusCode, 304)
    const asset = await app.inject({ url: '/ui/assets/a-1234.js', headers: { 'accept-encoding': 'gzip' } })
    t.match(asset.headers, { 'cache-control': /immutable/, 'content-encoding': 'gzip' })
    for (const path of ['x.txt', '../package.json', '..%2fpackage.json', 'assets/none.js'])
      t.equal((await app.inject(`/ui/${path}`)).statusCode, 404, path)
    t.match((await app.inject('/ui')).headers, { location: 'ui/' })
    const bare = await inspectedApp(t, { one: rule }, { page: 'not-built' })
    const missing = await bare.app.inject('/ui/')
    t.equal(missing.statusCode, 404)
    t.match(missing.json(), { error: { message: /npm run build:ui/ } })
  },
)

t.test('a request that wants it is told what each judge was sent and what it answered', async (t) => {
  const { config } = await testModel(t, 1, { policy: 'constant', constant: 1 })
  const judged = { steps: [{ name: 'judge', function: 'digit-judge', model: 'judge', votes: { n: 2 } }] }
  const { app } = await inspectedApp(t, { gateway: { models: { judge: config } }, judged })
  const { results } = (
    await score(app, 'judged', [{ response: '5' }, { response: '' }], { explain: true })
  ).json()
  t.match(results[0].asks, {
    judge: [{ question: /Is this the right number.*5/s, answer: '1', verdict: 1 }, { draw: 1 }],
  })
  t.strictSame(results[1].asks, {})
  const plain = (await score(app, 'judged', [{ response: '5' }])).json()
  t.notOk('asks' in plain.results[0])
  const samples = Array.from({ length: 65 }, () => ({ response: '1' }))
  t.equal((await score(app, 'judged', samples, { explain: true })).statusCode, 400)
})
