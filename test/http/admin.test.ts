import { createHash } from 'node:crypto'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { createApp } from '../../src/http/app.ts'
import { openMetrics } from '../../src/telemetry/metrics/metrics.ts'
import { testApp } from '../support/app.ts'
import { testGateway } from '../support/gateway.ts'
import { startFleet } from '../support/simulated.ts'

const rewards = { one: { steps: [{ name: 'rule', function: 'echo-rule' }] } }
const bearer = (key: string) => ({ authorization: `Bearer ${key}` })
const [admin, trainer, viewer] = ['admin-key-0123456789', 'trainer-key-0123456789', 'viewer-key-0123456789']
// Whoever gets in is told that there is no such reward.
const score = {
  method: 'POST',
  url: '/v1/score',
  payload: { reward: 'one', samples: [{ response: '1' }] },
} as const

t.test('without keys all is open but the admin API, which says how to turn it on', async (t) => {
  const app = await testApp(t, {})
  t.equal((await app.inject(score)).statusCode, 404)
  const refused = await app.inject({ method: 'POST', url: '/admin/reload', headers: bearer(admin) })
  t.equal(refused.statusCode, 403)
  t.match(refused.json(), { error: { code: 'RG_FORBIDDEN', message: /no key .* has the scope 'admin'/ } })
})

t.test('an admin key alone leaves scoring open', async (t) => {
  const keys = { ops: { env: 'ADMIN_KEY', scopes: ['admin'] } }
  const app = await testApp(t, { gateway: { keys } }, 1 << 20, { ADMIN_KEY: admin })
  t.equal((await app.inject(score)).statusCode, 404)
  t.equal((await app.inject('/admin/models')).statusCode, 401)
  t.equal((await app.inject({ url: '/admin/models', headers: bearer('wrong') })).statusCode, 401)
  t.equal((await app.inject({ url: '/admin/models', headers: bearer(admin) })).statusCode, 200)
})

t.test('a key does what its scopes say, and an admin key everything', async (t) => {
  const folder = t.testdir({
    key: `${trainer}\nsha256:${createHash('sha256').update('old').digest('hex')}\n`,
  })
  const keys = {
    ops: { env: 'ADMIN_KEY', scopes: ['admin'] },
    trainer: { file: join(folder, 'key'), scopes: ['score'] },
    viewer: { env: 'VIEWER_KEY', scopes: ['read'] },
  }
  const env = { ADMIN_KEY: admin, VIEWER_KEY: viewer }
  const app = await testApp(t, { gateway: { keys } }, 1 << 20, env)
  const status = async (key: string | null, request: object) =>
    (await app.inject({ ...request, headers: key === null ? {} : bearer(key) })).statusCode
  const table: [string | null, number, number, number][] = [
    [null, 401, 401, 401],
    ['no-such-key', 401, 401, 401],
    [trainer, 404, 403, 403],
    ['old', 404, 403, 403],
    [viewer, 403, 200, 403],
    [admin, 404, 200, 200],
  ]
  for (const [key, scoring, reading, ruling] of table) {
    t.equal(await status(key, score), scoring, `${key} scores`)
    t.equal(await status(key, { url: '/v1/rewards' }), reading, `${key} reads`)
    t.equal(await status(key, { url: '/metrics' }), reading, `${key} reads metrics`)
    t.equal(await status(key, { url: '/admin/models' }), ruling, `${key} rules`)
  }
  for (const url of ['/livez', '/readyz', '/openapi.json', '/docs/'])
    t.equal(await status(null, { url }), 200, url)
  const completions = { method: 'POST', url: '/v1/completions', payload: { model: 'none' } }
  t.equal(await status(null, completions), 401)
  t.equal(await status(trainer, completions), 404)
  t.match((await app.inject('/v1/models')).json(), { error: { type: 'authentication_error' } })
  t.match((await app.inject(score)).json(), { error: { code: 'RG_UNAUTHORIZED' } })
})

t.test('keys that cannot be used are told of together, before anything listens', async (t) => {
  const folder = t.testdir({ short: 'short', empty: '\n' })
  const keys = {
    a: { env: 'ABSENT' },
    b: { file: join(folder, 'short') },
    c: { file: join(folder, 'empty') },
    d: { file: join(folder, 'none') },
    e: { env: 'TWICE' },
    f: { env: 'TWICE' },
  }
  const gateway = await testGateway(t, { gateway: { keys } }, { env: { TWICE: trainer } })
  const metrics = openMetrics({ version: 'test', inFlight: () => 0 })
  await t.rejects(createApp({ gateway, metrics, bodyLimit: 1 << 20 }), {
    code: 'RG_CONFIG_INVALID',
    problems: [/ABSENT is not set/, /at least 16/, /no key/, /ENOENT/, /same key/].map((message) => ({
      message,
    })),
  })
  const both = testGateway(t, { gateway: { keys: { a: { env: 'A', file: 'b' } } } })
  await t.rejects(both, { code: 'RG_CONFIG_INVALID', problems: [{ message: /one of env and file/ }] })
})

t.test('instances come, drain and go; models sleep and wake', async (t) => {
  const [first, second] = await startFleet(t, 2, { model: 'judge' })
  const models = {
    judge: {
      model: 'judge',
      instances: [first?.url],
      allow: ['http://127.0.0.1:*'],
      lifecycle: {},
      health: { interval_s: 0 },
    },
    plain: { model: 'judge', instances: [first?.url], health: { interval_s: 0 } },
  }
  const keys = { ops: { env: 'ADMIN_KEY', scopes: ['admin'] } }
  const app = await testApp(t, { gateway: { keys, models } }, 1 << 20, { ADMIN_KEY: admin })
  const call = async (path: string, payload?: object) => {
    const method = payload ? 'POST' : 'GET'
    const response = await app.inject({
      method,
      url: path,
      headers: bearer(admin),
      ...(payload && { payload }),
    })
    return { status: response.statusCode, body: response.json() }
  }
  t.match(await call('/admin/models'), {
    status: 200,
    body: {
      models: [{ name: 'judge', serves: 'judge', instances: [{ address: first?.url, in_flight: 0 }] }, {}],
    },
  })
  const added = await call('/admin/models/judge/instances', { url: second?.url, weight: 2, max_in_flight: 3 })
  t.match(added, { status: 201, body: { instances: [{}, { address: second?.url, weight: 2, limit: 3 }] } })
  const ask = { model: 'judge', messages: [{ role: 'user', content: 'q' }] }
  t.equal((await app.inject({ method: 'POST', url: '/v1/chat/completions', payload: ask })).statusCode, 200)
  const drained = await call('/admin/models/judge/instances/drain', { url: first?.url, wait_s: 5 })
  t.match(drained, { status: 200, body: { instances: [{ state: 'draining' }, { state: 'ready' }] } })
  const removed = await call('/admin/models/judge/instances/remove', { url: first?.url, wait_s: 5 })
  t.match(removed, { status: 200, body: { instances: [{ address: second?.url }] } })
  t.match(await call('/admin/models/judge/sleep', {}), { status: 200, body: { memory: 'asleep' } })
  t.equal(second?.stats().isSleeping, true)
  t.equal((await app.inject('/readyz')).statusCode, 200, 'a sleeping model is ready: it wakes')
  t.match(await call('/admin/models/judge/wake', {}), { status: 200, body: { memory: 'awake' } })
  const refusals: [string, object | undefined, number, string][] = [
    ['/admin/models/judge/instances', { url: 'http://169.254.169.254' }, 403, 'RG_FORBIDDEN'],
    ['/admin/models/plain/instances', { url: second?.url }, 403, 'RG_FORBIDDEN'],
    ['/admin/models/judge/instances', { url: 'file:///etc/passwd' }, 400, 'RG_REQUEST_INVALID'],
    ['/admin/models/judge/instances', { adress: 'x' }, 400, 'RG_REQUEST_INVALID'],
    ['/admin/models/judge/instances/drain', { url: 'http://127.0.0.1:1' }, 404, 'RG_NOT_FOUND'],
    ['/admin/models/none/sleep', {}, 404, 'RG_NOT_FOUND'],
    ['/admin/models/none', undefined, 404, 'RG_NOT_FOUND'],
    ['/admin/models/plain/sleep', {}, 400, 'RG_REQUEST_INVALID'],
  ]
  for (const [path, payload, status, code] of refusals)
    t.match(await call(path, payload), { status, body: { error: { code } } }, path)
})

t.test('a reload serves what the configs say now, or keeps what it had and says why', async (t) => {
  const folder = t.testdir({
    'gateway.json': JSON.stringify({ keys: { ops: { env: 'ADMIN_KEY', scopes: ['admin'] } } }),
    'one.json': JSON.stringify(rewards.one),
  })
  const gateway = await testGateway(t, {}, { configs: [folder], env: { ADMIN_KEY: admin } })
  const metrics = openMetrics({ version: 'test', inFlight: () => 0 })
  const app = await createApp({ gateway, metrics, bodyLimit: 1 << 20 })
  t.teardown(() => app.close())
  const reload = async () =>
    (await app.inject({ method: 'POST', url: '/admin/reload', headers: bearer(admin) })).json()
  writeFileSync(join(folder, 'two.json'), JSON.stringify(rewards.one))
  const [a, b] = await Promise.all([reload(), reload()])
  t.match(a, { rewards: [{ name: 'one', version: /^[0-9a-f]{16}$/ }, { name: 'two' }] })
  t.strictSame(a, b)
  writeFileSync(join(folder, 'two.json'), '{"steps": 1}')
  t.match(await reload(), { error: { code: 'RG_CONFIG_INVALID', problems: [{ path: /two\.json/ }] } })
  const last = async () => (await app.inject({ url: '/admin/reload', headers: bearer(admin) })).json().last
  t.match(await last(), {
    at: String,
    refusal: { code: 'RG_CONFIG_INVALID', problems: [{ path: /two\.json/ }] },
  })
  writeFileSync(join(folder, 'two.json'), JSON.stringify(rewards.one))
  writeFileSync(
    join(folder, 'gateway.json'),
    JSON.stringify({ keys: { ops: { env: 'GONE', scopes: ['admin'] } } }),
  )
  t.match(await reload(), { error: { code: 'RG_CONFIG_INVALID', problems: [{ message: /GONE/ }] } })
  t.strictSame(
    gateway.rewards().map(({ name }) => name),
    ['one', 'two'],
  )
})
