import { createHash } from 'node:crypto'
import { EventEmitter } from 'node:events'
import { join } from 'node:path'
import { setImmediate } from 'node:timers/promises'
import type { FastifyReply } from 'fastify'
import t, { type Test } from 'tap'
import type { Caller } from '../../../src/scoring/gateway/keys.ts'
import { createApp } from '../../../src/serving/http/app.ts'
import { KeyLimits } from '../../../src/serving/http/auth.ts'
import { openMetrics } from '../../../src/serving/telemetry/metrics/metrics.ts'
import { fakeClock } from '../../support/clock.ts'
import { testGateway } from '../../support/gateway.ts'
import { completion, json, scriptedServer } from '../../support/scripted-server.ts'

const keyOf = (name: string) => `${name}-key-0123456789`
const bearer = (key: string) => ({ authorization: `Bearer ${key}` })

/** The limits of each scoring key; `calm` has none. */
const limits = {
  calm: {},
  flight: { max_in_flight: 2 },
  samples: { max_samples: 3 },
  line: { max_samples: 4 },
  rate: { rate_per_s: 2 },
  slow: { rate_per_s: 0.1 },
}

/** A judge that answers on command. */
async function heldJudge(t: Test, places: number) {
  const held: (() => void)[] = []
  const server = await scriptedServer((seen, response) => {
    held.push(() => json(response, completion(seen, '1')))
  })
  t.teardown(() => server.kill())
  const config = { model: 'm', instances: [server.url], health: { interval_s: 0 }, max_in_flight: places }
  const release = () => {
    for (const reply of held.splice(0)) reply()
  }
  return { server, config, release }
}

t.test('API keys have scopes and limits', async (t) => {
  const folder = t.testdir({
    key: `${keyOf('trainer')}\nsha256:${createHash('sha256').update('old').digest('hex')}\n`,
  })
  const [wide, narrow] = [await heldJudge(t, 256), await heldJudge(t, 1)]
  const limited = Object.entries(limits).map(([name, own]) => [
    name,
    { env: name.toUpperCase(), scopes: ['score'], ...own },
  ])
  const keys = {
    ...Object.fromEntries(limited),
    ops: { env: 'OPS', scopes: ['admin'] },
    trainer: { file: join(folder, 'key'), scopes: ['score'] },
    viewer: { env: 'VIEWER', scopes: ['read'], max_in_flight: 1, rate_per_s: 0.001 },
  }
  const judged = (model: string) => ({ steps: [{ name: 'q', function: 'digit-judge', model }] })
  const gateway = await testGateway(
    t,
    {
      gateway: { keys, models: { judge: wide.config, narrow: narrow.config } },
      judged: judged('judge'),
      narrow: judged('narrow'),
      ruled: { steps: [{ name: 'rule', function: 'echo-rule' }] },
    },
    {
      env: Object.fromEntries(
        [...Object.keys(limits), 'ops', 'viewer'].map((n) => [n.toUpperCase(), keyOf(n)]),
      ),
    },
  )
  const clock = fakeClock()
  const metrics = openMetrics({ version: 'test', inFlight: () => 0 })
  const app = await createApp({ gateway, metrics, bodyLimit: 1 << 20, clock })
  t.teardown(() => app.close())
  const score = (name: string, reward: string, responses = ['1']) =>
    app.inject({
      method: 'POST',
      url: '/v1/score',
      headers: bearer(keyOf(name)),
      payload: { reward, samples: responses.map((response) => ({ response })) },
    })

  const status = async (key: string | null, request: object) =>
    (await app.inject({ ...request, headers: key === null ? {} : bearer(key) })).statusCode
  // Admitted requests get 404, because there is no such reward.
  const payload = { reward: 'none', samples: [{ response: '1' }] }
  const scoring = { method: 'POST', url: '/v1/score', payload } as const

  await t.test('a key may do what its scopes allow, and an admin key everything', async (t) => {
    const table: [string | null, number, number, number][] = [
      [null, 401, 401, 401],
      ['no-such-key', 401, 401, 401],
      [keyOf('trainer'), 404, 403, 403],
      ['old', 404, 403, 403],
      [keyOf('viewer'), 403, 200, 403],
      [keyOf('ops'), 404, 200, 200],
    ]
    for (const [key, scored, read, ruled] of table) {
      t.equal(await status(key, scoring), scored, `${key} scores`)
      t.equal(await status(key, { url: '/v1/rewards' }), read, `${key} reads`)
      t.equal(await status(key, { url: '/metrics' }), read, `${key} reads metrics, without a limit`)
      t.equal(await status(key, { url: '/admin/models' }), ruled, `${key} rules`)
    }
  })

  await t.test('health and the description of the API need no key', async (t) => {
    for (const url of ['/livez', '/readyz', '/openapi.json', '/docs/'])
      t.equal(await status(null, { url }), 200, url)
  })

  await t.test('a model may be asked with the scope score', async (t) => {
    const completions = { method: 'POST', url: '/v1/completions', payload: { model: 'none' } }
    t.equal(await status(null, completions), 401)
    t.equal(await status(keyOf('trainer'), completions), 404)
  })

  await t.test('models are shown to every key, whatever it may do (M47)', async (t) => {
    for (const name of ['viewer', 'trainer', 'ops'])
      for (const url of ['/v1/models', '/v1/models/judge'])
        t.equal(await status(keyOf(name), { url }), 200, `${name} sees ${url}`)
  })

  await t.test('a missing key has the error format of the route', async (t) => {
    t.match((await app.inject('/v1/models')).json(), { error: { type: 'authentication_error' } })
    t.match((await app.inject(scoring)).json(), { error: { code: 'RG_UNAUTHORIZED' } })
  })

  await t.test('each key has its own limit of requests in flight', async (t) => {
    const first = [score('flight', 'judged', ['a']), score('flight', 'judged', ['b'])]
    await wide.server.saw(2)
    const refused = await Promise.all(Array.from({ length: 20 }, () => score('flight', 'ruled')))
    for (const response of refused) {
      t.equal(response.statusCode, 429)
      t.equal(response.headers['retry-after'], '1')
      t.match(response.json(), {
        error: { code: 'RG_OVERLOADED', message: /'flight' already has 2 requests in flight/ },
      })
    }
    t.equal((await score('calm', 'ruled')).statusCode, 200, 'the other key is served meanwhile')
    wide.release()
    for (const response of await Promise.all(first)) t.equal(response.statusCode, 200)
    t.equal((await score('flight', 'ruled')).statusCode, 200, 'places come back')
    for (const _ of [1, 2, 3])
      t.equal((await score('flight', 'none')).statusCode, 404, 'of refused requests too')
  })

  await t.test(
    'each key has its own limit of samples in flight, which a single request may exceed',
    async (t) => {
      const before = wide.server.seen.length
      const five = score('samples', 'judged', ['c', 'd', 'e', 'f', 'g'])
      await wide.server.saw(before + 5)
      const refused = await score('samples', 'ruled')
      t.equal(refused.statusCode, 429)
      t.match(refused.json(), { error: { message: /5 samples in flight/ } })
      t.equal((await score('calm', 'ruled')).statusCode, 200)
      wide.release()
      t.equal((await five).statusCode, 200)
      t.equal((await score('samples', 'ruled', ['1', '1', '1'])).statusCode, 200)
    },
  )

  await t.test(
    "a burst keeps another key's question waiting no longer than its share of the line",
    async (t) => {
      const statuses: number[] = []
      const all = Array.from({ length: 50 }, async (_, at) => {
        const { statusCode } = await score('line', 'narrow', [`b${at}`])
        statuses.push(statusCode)
      })
      while (statuses.length < 46) await setImmediate()
      t.strictSame(new Set(statuses), new Set([429]))
      const other = score('calm', 'narrow', ['calm'])
      for (let asked = 1; asked <= 5; asked++) {
        await narrow.server.saw(asked)
        narrow.release()
      }
      t.equal((await other).statusCode, 200)
      t.match(
        JSON.stringify(narrow.server.seen[4]?.body),
        /calm/,
        'four questions of the burst are before it',
      )
      await Promise.all(all)
      t.strictSame(statuses.slice(46), [200, 200, 200, 200])
    },
  )

  await t.test("a key may send one second's worth of requests at once, then at its rate", async (t) => {
    const status = async () => (await score('rate', 'ruled')).statusCode
    t.strictSame([await status(), await status(), await status()], [200, 200, 429])
    t.equal((await score('calm', 'ruled')).statusCode, 200)
    clock.advance(400)
    t.equal(await status(), 429)
    clock.advance(100)
    t.strictSame([await status(), await status()], [200, 429])
    clock.advance(3_600_000)
    t.strictSame(
      [await status(), await status(), await status()],
      [200, 200, 429],
      'an idle hour is no credit',
    )
  })

  await t.test('a refused key gets a Retry-After, in the format of the route', async (t) => {
    t.equal((await score('slow', 'ruled')).statusCode, 200)
    const refused = await score('slow', 'ruled')
    t.equal(refused.headers['retry-after'], '10')
    const openai = await app.inject({
      method: 'POST',
      url: '/v1/completions',
      headers: bearer(keyOf('slow')),
      payload: { model: 'judge', prompt: 'p' },
    })
    t.equal(openai.statusCode, 429)
    t.equal(openai.headers['retry-after'], '10')
    t.match(openai.json(), { error: { type: 'rate_limit_error' } })
  })
})

t.test('all unusable keys are reported together, before the server listens', async (t) => {
  const folder = t.testdir({ short: 'short', empty: '\n' })
  const keys = {
    a: { env: 'ABSENT' },
    b: { file: join(folder, 'short') },
    c: { file: join(folder, 'empty') },
    d: { file: join(folder, 'none') },
    e: { env: 'TWICE' },
    f: { env: 'TWICE' },
  }
  const gateway = await testGateway(t, { gateway: { keys } }, { env: { TWICE: keyOf('twice') } })
  const metrics = openMetrics({ version: 'test', inFlight: () => 0 })
  await t.rejects(createApp({ gateway, metrics, bodyLimit: 1 << 20 }), {
    code: 'RG_CONFIG_INVALID',
    problems: [/ABSENT is not set/, /at least 16/, /no key/, /none: does not exist/, /same key/].map(
      (message) => ({
        message,
      }),
    ),
  })
  const both = testGateway(t, { gateway: { keys: { a: { env: 'A', file: 'b' } } } })
  await t.rejects(both, { code: 'RG_CONFIG_INVALID', problems: [{ message: /one of env and file/ }] })
})

t.test('samples of a client that disconnected before they are counted use up no limit', async (t) => {
  const own = new KeyLimits(fakeClock())
  const caller: Caller = { name: 'burst', scopes: new Set(['score']), maxSamples: 2 }
  const take = (destroyed: boolean, count: number) => {
    const raw = Object.assign(new EventEmitter(), { destroyed })
    const reply = { raw, request: {} } as unknown as FastifyReply
    own.enter(caller, reply)
    own.takeSamples(reply.request, reply, count)
    return () => raw.emit('close')
  }
  take(true, 2)
  const end = take(false, 1)
  t.throws(() => take(false, 2), { code: 'RG_OVERLOADED' })
  end()
  t.doesNotThrow(() => take(false, 2))
})
