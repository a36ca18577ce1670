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
