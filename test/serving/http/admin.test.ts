import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { createApp } from '../../../src/serving/http/app.ts'
import { openMetrics } from '../../../src/serving/telemetry/metrics/metrics.ts'
import { testGateway } from '../../support/gateway.ts'
import { startFleet } from '../../support/simulated.ts'

const one = JSON.stringify({ steps: [{ name: 'rule', function: 'echo-rule' }] })
const admin = 'admin-key-0123456789'
const bearer = (key: string) => ({ authorization: `Bearer ${key}` })

t.test('an admin key controls instances, models and configs', async (t) => {
  const [first, second] = await startFleet(t, 2, { model: 'judge' })
  const judge = { model: 'judge', instances: [first?.url], health: { interval_s: 0 } }
  const models = { judge: { ...judge, allow: ['http://127.0.0.1:*'], lifecycle: {} }, plain: judge }
  const keysOf = (env: string) => ({ ops: { env, scopes: ['admin'] } })
  const folder = t.testdir({
    'gateway.json': JSON.stringify({ keys: keysOf('ADMIN_KEY'), models }),
    'one.json': one,
  })
  const gateway = await testGateway(t, {}, { configs: [folder], env: { ADMIN_KEY: admin } })
  const metrics = openMetrics({ version: 'test', inFlight: () => 0 })
  const app = await createApp({ gateway, metrics, bodyLimit: 1 << 20 })
  t.teardown(() => app.close())

  await t.test('an admin key alone leaves scoring open', async (t) => {
    const payload = { reward: 'one', samples: [{ response: '1' }] }
    t.equal((await app.inject({ method: 'POST', url: '/v1/score', payload })).statusCode, 200)
    t.equal((await app.inject('/admin/models')).statusCode, 401)
    t.equal((await app.inject({ url: '/admin/models', headers: bearer('wrong') })).statusCode, 401)
    t.equal((await app.inject({ url: '/admin/models', headers: bearer(admin) })).statusCode, 200)
  })

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

  await t.test('models are listed with their instances', async (t) => {
    t.match(await call('/admin/models'), {
      status: 200,
      body: {
        models: [{ name: 'judge', serves: 'judge', instances: [{ address: first?.url, in_flight: 0 }] }, {}],
      },
    })
  })

  await t.test('an instance that is added takes questions with its own weight and limit', async (t) => {
    const added = await call('/admin/models/judge/instances', {
      url: second?.url,
      weight: 2,
      max_in_flight: 3,
    })
    t.match(added, { status: 201, body: { instances: [{}, { address: second?.url, weight: 2, limit: 3 }] } })
    const ask = { model: 'judge', messages: [{ role: 'user', content: 'q' }] }
    t.equal((await app.inject({ method: 'POST', url: '/v1/chat/completions', payload: ask })).statusCode, 200)
  })

  await t.test('an instance is drained, then removed', async (t) => {
    const drained = await call('/admin/models/judge/instances/drain', { url: first?.url, wait_s: 5 })
    t.match(drained, { status: 200, body: { instances: [{ state: 'draining' }, { state: 'ready' }] } })
    const removed = await call('/admin/models/judge/instances/remove', { url: first?.url, wait_s: 5 })
    t.match(removed, { status: 200, body: { instances: [{ address: second?.url }] } })
  })

  await t.test('a model sleeps and wakes, and is ready meanwhile', async (t) => {
    t.match(await call('/admin/models/judge/sleep', {}), { status: 200, body: { memory: 'asleep' } })
    t.equal(second?.stats().isSleeping, true)
    t.equal((await app.inject('/readyz')).statusCode, 200, 'a sleeping model is ready: it wakes')
    t.match(await call('/admin/models/judge/wake', {}), { status: 200, body: { memory: 'awake' } })
  })

  await t.test('an order that cannot be carried out is refused with its reason', async (t) => {
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

  await t.test('a reload serves the new configs, or keeps the old ones and says why', async (t) => {
    const reload = async () =>
      (await app.inject({ method: 'POST', url: '/admin/reload', headers: bearer(admin) })).json()
    writeFileSync(join(folder, 'two.json'), one)
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
    writeFileSync(join(folder, 'two.json'), one)
    writeFileSync(join(folder, 'gateway.json'), JSON.stringify({ keys: keysOf('GONE'), models }))
    t.match(await reload(), { error: { code: 'RG_CONFIG_INVALID', problems: [{ message: /GONE/ }] } })
    t.strictSame(
      gateway.rewards().map(({ name }) => name),
      ['one', 'two'],
    )
  })
})
