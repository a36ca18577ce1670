import t from 'tap'
import { testApp } from '../support/app.ts'

const rewards = {
  one: { description: 'a rule', steps: [{ name: 'rule', function: 'echo-rule' }] },
  judged: {
    models: {
      judge: { model: 'judge', instances: [], allow: ['http://judge-*:8000'], health: { interval_s: 0 } },
    },
    steps: [{ name: 'q', function: 'digit-judge', model: 'judge' }],
  },
}

t.test('what is served can be read: rewards, one reward, functions', async (t) => {
  const app = await testApp(t, rewards)
  t.match((await app.inject('/v1/rewards')).json().rewards, [
    { name: 'one', description: 'a rule', version: String },
    { name: 'judged' },
  ])
  t.match((await app.inject('/v1/rewards/one')).json(), {
    name: 'one',
    config: { steps: [{ name: 'rule' }] },
  })
  t.equal((await app.inject('/v1/rewards/two')).statusCode, 404)
  const { functions } = (await app.inject('/v1/functions')).json()
  t.match(
    functions.find(({ name }: { name: string }) => name === 'echo-rule'),
    { kind: 'rule', options: { type: 'object' } },
  )
})

t.test('the process lives; it is ready once every model has an instance', async (t) => {
  const app = await testApp(t, rewards)
  t.strictSame((await app.inject('/livez')).json(), { status: 'ok' })
  const ready = await app.inject('/readyz')
  t.equal(ready.statusCode, 503)
  t.match(ready.json(), { ready: false, missing: [/model 'judge'/] })
  const rulesOnly = await testApp(t, { one: rewards.one })
  t.equal((await rulesOnly.inject('/readyz')).statusCode, 200)
})

t.test('metrics count samples, terms and requests', async (t) => {
  const app = await testApp(t, { one: rewards.one })
  const samples = [{ response: '1' }, { response: 'throw' }]
  await app.inject({ method: 'POST', url: '/v1/score', payload: { reward: 'one', samples } })
  const { body, headers } = await app.inject('/metrics')
  t.match(headers['content-type'], /text\/plain/)
  for (const line of [
    'reward_gateway_samples_total{reward="one",valid="true"} 1',
    'reward_gateway_samples_invalid_total{reward="one",kind="rule_error"} 1',
    'reward_gateway_request_duration_seconds_count{route="/v1/score",status="200"} 1',
    'reward_gateway_samples_in_flight 0',
  ]) {
    t.ok(body.includes(line), line)
  }
})

t.test('the docs show the schema of a sample', async (t) => {
  const app = await testApp(t, { one: rewards.one })
  const openapi = (await app.inject('/openapi.json')).json()
  const body = openapi.paths['/v1/score'].post.requestBody.content['application/json'].schema
  t.strictSame(openapi.paths['/admin/reload'].post.security, [{ key: [] }], 'it says where a key is needed')
  t.strictSame(openapi.paths['/livez'].get.security, [])
  t.match(body.properties.samples.items.properties.ground_truth.description, /compare/)
  t.notMatch(JSON.stringify(openapi), /"\$ref":"#\/definitions/)
  t.equal((await app.inject('/docs/')).statusCode, 200)
})

t.test(
  'a path that is known by another method says so, and an odd address is refused in the same form',
  async (t) => {
    const app = await testApp(t, { one: rewards.one })
    const wrong = await app.inject('/v1/score')
    t.match(wrong.json(), { error: { code: 'RG_METHOD_NOT_ALLOWED', message: /takes POST/ } })
    t.equal(wrong.headers.allow, 'POST')
    t.equal((await app.inject({ method: 'DELETE', url: '/v1/rewards/one' })).statusCode, 405)
    t.equal((await app.inject('/v1/scores')).statusCode, 404)
    for (const url of [`/v1/rewards/${'x'.repeat(500)}`, '/v1/rewards/%']) {
      const { statusCode, body } = await app.inject(url)
      t.match(
        [statusCode, JSON.parse(body)],
        [400, { error: { code: 'RG_REQUEST_INVALID', request_id: String } }],
        url,
      )
    }
  },
)

t.test('the API declares every status that a route may answer', async (t) => {
  const app = await testApp(t, { one: rewards.one })
  const openapi = (await app.inject('/openapi.json')).json()
  t.match(openapi.openapi, /^3\.1/, 'whose schemas are JSON Schema as zod writes it')
  const statuses = (path: string, method: string) =>
    Object.keys(openapi.paths[path][method].responses).join(' ')
  t.equal(statuses('/v1/score', 'post'), '200 400 401 403 404 408 413 415 429 502 503')
  t.equal(statuses('/livez', 'get'), '200')
  t.match(statuses('/v1/chat/completions', 'post'), /default/, 'a server may refuse as it likes')
})
