import { createHash } from 'node:crypto'
import { once } from 'node:events'
import { writeFileSync } from 'node:fs'
import { connect } from 'node:net'
import type { Readable } from 'node:stream'
import type { FastifyInstance } from 'fastify'
import t from 'tap'
import { gatewayConfig } from '../../../src/scoring/plan/gateway-config.ts'
import { maxListeners } from '../../../src/serving/http/inspector/feed.ts'
import { maxRows } from '../../../src/serving/telemetry/live/live.ts'
import { shownText } from '../../../src/serving/telemetry/live/shown-row.ts'
import type { TextPolicy } from '../../../src/serving/telemetry/record/text-policy.ts'
import { readEvents } from '../../support/event-stream.ts'
import { testModel } from '../../support/gateway.ts'
import { dataUrl, sha256 as hashOf, imagePart, paddedPng, png } from '../../support/images.ts'
import { inspectedApp } from '../../support/inspected.ts'

const rule = { steps: [{ name: 'rule', function: 'echo-rule' }] }
const sha256 = (text: string) => createHash('sha256').update(text).digest('hex')
const reader = 'reader-key-0123456789'
const bearer = (key: string) => ({ authorization: `Bearer ${key}` })

const score = (
  app: FastifyInstance,
  reward: string,
  samples: readonly object[],
  more: object = {},
  id = 'req',
) =>
  app.inject({
    method: 'POST',
    url: '/v1/score',
    headers: { 'x-request-id': id },
    payload: { reward, samples, ...more },
  })

const open = async (app: FastifyInstance, headers: Record<string, string> = {}) => {
  const response = await app.inject({ url: '/ui/api/events', headers, payloadAsStream: true })
  return { response, stream: response.stream() as Readable }
}

t.test('the inspector', async (t) => {
  let text: TextPolicy = 'hash'
  const { config } = await testModel(t, 1, { policy: 'constant', constant: 1 })
  const judge = { name: 'judge', function: 'digit-judge', model: 'judge' }
  const { app, clock, another } = await inspectedApp(
    t,
    {
      gateway: { models: { judge: config } },
      one: rule,
      judged: { steps: [judge] },
      voted: { steps: [{ ...judge, votes: { n: 2 } }] },
    },
    { text: () => text },
  )

  await t.test('an open page', async (t) => {
    await score(app, 'one', [{ response: '1', group_id: 'g' }, { response: 'throw' }])
    // The judge's first probe is over.
    while ((await app.inject('/readyz')).statusCode !== 200) await new Promise(setImmediate)
    const { response, stream } = await open(app)
    t.match(response.headers, { 'content-type': 'text/event-stream', 'cache-control': 'no-store' })
    const events = readEvents(stream)

    await t.test('gets the rewards with their steps, and the models', async (t) => {
      t.match(await events.next('served'), {
        text: 'hash',
        rewards: [
          { name: 'one', steps: [{ name: 'rule', function: 'echo-rule', range: [-1, 2] }] },
          { name: 'judged' },
          { name: 'voted' },
        ],
      })
      t.match(await events.next('status'), { models: [{ name: 'judge' }], missing: { length: 0 } })
    })

    await t.test('gets what was scored before, with reasons instead of numbers', async (t) => {
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
    })

    await t.test('gets what is new once per second, in whole slots', async (t) => {
      for (const value of ['0', '2', '1']) await score(app, 'one', [{ response: value }])
      const told = events.all.length
      clock.advance(999)
      t.equal(events.all.length, told, 'nothing before a second is over')
      clock.advance(1)
      const next = await events.next('scored')
      t.match(next, { rewards: { one: { rows: 5 } } })
      const { rewards } = next as { rewards: { one: { rewards: { recent: { points: unknown } } } } }
      t.strictSame(rewards.one.rewards.recent.points, [[1_000_000, 4, 4, [6, 1, 13, 2, 19, 1]]])
    })

    await t.test('gets nothing where nothing happens', async (t) => {
      clock.advance(10_000)
      t.equal(events.all.filter(({ name }) => name === 'scored').length, 2)
    })
    stream.destroy()
  })

  await t.test('texts are shown by the current policy, even those of earlier rows', async (t) => {
    const sample = { prompt: 'a secret prompt', response: 'a secret answer', ground_truth: 'a secret truth' }
    for (const policy of ['hash', 'full', 'none'] as const) {
      text = policy
      const { stream } = await open(app)
      const events = readEvents(stream)
      t.match(await events.next('served'), { text })
      await events.next('scored')
      await score(app, 'judged', [sample], {}, policy)
      clock.advance(1000)
      const { rows } = (await events.next('scored')) as { rows: unknown }
      const { body } = await app.inject(`/ui/api/rows/${policy}:0`)
      const row = JSON.parse(body)
      const told = JSON.stringify(events.all) + JSON.stringify(rows) + body
      t.equal(told.includes('secret'), text === 'full', text)
      t.match(row, { reward: 1, terms: [{ asks: [{ model: 'judge', verdict: 1, source: /call|cache/ }] }] })
      if (text === 'full')
        t.match(row.terms[0].asks[0], { question: /Answer.*a secret answer/s, answer: '1' })
      if (text === 'hash') t.match(row.sample.response, { sha256: sha256(sample.response), chars: 15 })
      if (text === 'none') t.equal(row.terms[0].asks[0].question, null)
      stream.destroy()
    }
  })

  await t.test('images of a row are shown where texts are, within a bound', async (t) => {
    const first = png(8, 6)
    const asking = (...urls: string[]) => [
      { role: 'user', content: [...urls.map((url) => imagePart(url)), { type: 'text', text: 'q' }] },
    ]
    const keep = async (id: string, ...urls: string[]) => {
      await score(app, 'one', [{ prompt: asking(...urls), response: '1' }], {}, id)
      clock.advance(1000)
    }
    const imagesOf = async (id: string) => (await app.inject(`/ui/api/rows/${id}:0`)).json().images
    const get = (hash: string) => app.inject(`/ui/api/images/${hash}`)
    text = 'full'
    await keep('seen', dataUrl(first), dataUrl(first), 'https://images.example/a.png')
    t.strictSame(await imagesOf('seen'), [hashOf(first)], 'an address is never fetched')
    const image = await get(hashOf(first))
    t.match(image.headers, {
      'content-type': 'image/png',
      'cache-control': 'no-store',
      'x-content-type-options': 'nosniff',
      'content-security-policy': /default-src 'none'/,
    })
    t.ok(image.rawPayload.equals(first))

    const unfit = [
      dataUrl(paddedPng(8, 8, 2_200_000)),
      dataUrl(png(9000, 9000)),
      'data:image/svg+xml;base64,PHN2Zy8+',
    ]
    await keep('unfit', ...unfit)
    t.strictSame(await imagesOf('unfit'), [], 'not too large, and only of types that run nothing')
    for (const name of ['ab'.repeat(32), 'x', '..%2fx'])
      t.match((await get(name)).statusCode, /^40[04]$/, name)

    for (const policy of ['hash', 'none'] as const) {
      text = policy
      t.strictSame(await imagesOf('seen'), [], policy)
      t.equal((await get(hashOf(first))).statusCode, 404, `not where texts are kept as ${policy}`)
      const other = png(10, policy.length)
      await keep(policy, dataUrl(other))
      text = 'full'
      t.equal((await get(hashOf(other))).statusCode, 404, 'and not later')
    }

    // The rows of a large request are counted in later turns, when the engine has released the images.
    const common = png(20, 20)
    const row = { prompt: asking(dataUrl(common)), response: '1' }
    await score(app, 'one', Array(512).fill(row), {}, 'many')
    clock.advance(10_000)
    let isKept = false
    for (let turn = 0; turn < 1000 && !isKept; turn += 1) {
      await new Promise(setImmediate)
      isKept = (await get(hashOf(common))).statusCode === 200
    }
    t.ok(isKept)

    // 24 MiB as base64; the oldest go.
    for (let at = 0; at < 12; at += 1) await keep(`big-${at}`, dataUrl(paddedPng(8, 8, 1_500_000, at)))
    t.strictSame(await imagesOf('seen'), [])
    t.equal((await get(hashOf(first))).statusCode, 404)
    t.equal((await imagesOf('big-11')).length, 1)
  })

  await t.test(
    'with `explain` a result contains what each judge was sent and what it answered',
    async (t) => {
      const { results } = (
        await score(app, 'voted', [{ response: '5' }, { response: '' }], { explain: true })
      ).json()
      t.match(results[0].asks, {
        judge: [{ question: /Is this the right number.*5/s, answer: '1', verdict: 1 }, { draw: 1 }],
      })
      t.strictSame(results[1].asks, {})
      const plain = (await score(app, 'voted', [{ response: '5' }])).json()
      t.notOk('asks' in plain.results[0])
      const samples = Array.from({ length: 65 }, () => ({ response: '1' }))
      t.equal((await score(app, 'voted', samples, { explain: true })).statusCode, 400)
    },
  )

  await t.test('the page', async (t) => {
    const page = t.testdir({
      'index.html': '<!doctype html>',
      assets: { 'a-1234.js': 'export {}' },
      'x.txt': 'no',
    })
    const { app: built } = await another(page)
    const index = await built.inject('/ui/')

    await t.test('may run nothing but its own scripts', async (t) => {
      const policy = String(index.headers['content-security-policy'])
      t.match(policy, /default-src 'none'.*script-src 'self';.*style-src 'self'/)
      t.notMatch(policy, /unsafe/)
    })

    await t.test('is asked for again each time, and sent only if it changed', async (t) => {
      t.match(index.headers, { 'content-type': /html/, 'cache-control': 'no-cache', etag: String })
      const headers = { 'if-none-match': String(index.headers.etag) }
      t.equal((await built.inject({ url: '/ui/', headers })).statusCode, 304)
    })

    await t.test('has assets that are compressed and kept for good', async (t) => {
      const headers = { 'accept-encoding': 'gzip' }
      const asset = await built.inject({ url: '/ui/assets/a-1234.js', headers })
      t.match(asset.headers, { 'cache-control': /immutable/, 'content-encoding': 'gzip' })
    })

    await t.test('has no other files', async (t) => {
      for (const path of ['x.txt', '../package.json', '..%2fpackage.json', 'assets/none.js'])
        t.equal((await built.inject(`/ui/${path}`)).statusCode, 404, path)
    })

    await t.test('is found without the last slash, below any prefix', async (t) => {
      t.match((await built.inject('/ui')).headers, { location: 'ui/' })
    })

    await t.test('says how to build it where it is not built', async (t) => {
      const missing = await app.inject('/ui/')
      t.equal(missing.statusCode, 404)
      t.match(missing.json(), { error: { message: /npm run build:ui/ } })
    })
  })

  await t.test('rows and open pages are bounded, whatever arrives', async (t) => {
    text = 'full'
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
    const looking = await Promise.all(Array.from({ length: maxListeners }, () => open(app)))
    const refused = await app.inject('/ui/api/events')
    t.equal(refused.statusCode, 429)
    const events = readEvents(looking[0]!.stream)
    const scored = (await events.next('scored')) as { rows: { id: string }[] }
    t.ok(scored.rows.length <= maxRows && scored.rows.length > 10, `${scored.rows.length} rows`)
    t.equal(scored.rows[0]?.id, 'long:0')
    t.ok(JSON.stringify(scored).length < 300_000, `${JSON.stringify(scored).length} characters`)
    const { body } = await app.inject('/ui/api/rows/long:0')
    t.match(JSON.parse(body).sample.response, /^x{20000}\n\[980000 more characters\]$/)
    const gone = once(looking[1]!.response.raw.res, 'close')
    looking[1]!.response.raw.res.destroy()
    await gone
    t.equal((await open(app)).response.statusCode, 200, 'who leaves makes room')
    const left = looking.map(async ({ response: { raw } }) => {
      const closed = raw.res.destroyed ? null : once(raw.res, 'close')
      raw.res.destroy()
      await closed
    })
    await Promise.all(left)
  })

  await t.test('a page that reads nothing is dropped, and the others go on', async (t) => {
    text = 'full'
    const stuck = await open(app)
    const { stream } = await open(app)
    const events = readEvents(stream)
    await events.next('scored')
    stuck.stream.pause()
    t.equal(stuck.response.statusCode, 200)
    // As many rows per second as are shown, each of maximum length.
    const row = { id: 'i'.repeat(128), prompt: 'p'.repeat(2000), response: `1.${'0'.repeat(2000)}` }
    let isOpen = true
    stuck.response.raw.res.once('close', () => {
      isOpen = false
    })
    for (let second = 0; isOpen && second < 2000; second += 1) {
      const ids = [0, 1, 2].map((request) => `${second}-${request}`)
      await Promise.all(ids.map((id) => score(app, 'one', Array(16).fill(row), {}, id)))
      clock.advance(1000)
      await events.next('scored')
    }
    t.notOk(isOpen, 'the one that reads nothing is gone')
  })

  await t.test('a closing server ends all streams, even unread ones', async (t) => {
    const { app, clock } = await another('not-built')
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
})

t.test('with keys', async (t) => {
  const folder = t.testdir({ keys: reader, 'index.html': '<!doctype html>' })
  const keys = {
    reader: { file: `${folder}/keys`, scopes: ['read'] },
    trainer: { env: 'TRAINER', scopes: ['score'] },
  }
  const env = { TRAINER: 'trainer-key-0123456789' }
  const { app, gateway, clock, another } = await inspectedApp(t, { gateway: { keys }, one: rule }, { env })

  await t.test('the page itself needs none', async (t) => {
    const page = await another(folder)
    t.equal((await page.app.inject('/ui/')).statusCode, 200)
  })

  for (const url of ['/ui/api/events', '/ui/api/rows/req:0', `/ui/api/images/${'ab'.repeat(32)}`])
    await t.test(`${url} needs one with the scope read, which no address holds`, async (t) => {
      t.equal((await app.inject(url)).statusCode, 401)
      t.equal((await app.inject({ url, headers: bearer(env.TRAINER) })).statusCode, 403)
      t.equal((await app.inject(`${url}?key=${reader}`)).statusCode, 401)
    })

  await t.test('the page is told what its key may do', async (t) => {
    const access = async (headers: Record<string, string>) =>
      (await app.inject({ url: '/ui/api/access', headers })).json()
    t.strictSame(await access({}), { read: false, score: false, admin: false })
    t.strictSame(await access(bearer(env.TRAINER)), { read: false, score: true, admin: false })
    t.strictSame(await access(bearer(reader)), { read: true, score: false, admin: false })
  })

  await t.test('a key that a reload removes gets no more events', async (t) => {
    const { stream } = await open(app, bearer(reader))
    const events = readEvents(stream)
    await events.next('scored')
    clock.advance(15_000)
    t.notOk(stream.destroyed)
    writeFileSync(`${folder}/keys`, 'another-key-0123456789')
    await gateway.reload()
    clock.advance(15_000)
    t.equal(await events.next('scored'), null, 'the stream has ended')
  })
})

t.test('the page never shows more text than the record keeps', async (t) => {
  const folder = 'records'
  const cases: [settings: object, text: string][] = [
    [{}, 'hash'],
    [{ record: { folder, text: 'full' } }, 'full'],
    [{ inspector: { text: 'full' } }, 'full'],
    [{ record: { folder, text: 'none' }, inspector: { text: 'full' } }, 'none'],
    [{ record: { folder, text: 'full' }, inspector: { text: 'hash' } }, 'hash'],
  ]
  for (const [settings, text] of cases)
    t.equal(shownText(gatewayConfig.parse(settings)), text, JSON.stringify(settings))
})
