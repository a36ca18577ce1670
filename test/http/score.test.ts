import { request } from 'node:http'
import { gzipSync } from 'node:zlib'
import t from 'tap'
import { testApp } from '../support/app.ts'

const rewards = {
  one: { steps: [{ name: 'rule', function: 'echo-rule' }] },
  strict: { steps: [{ name: 'rule', function: 'echo-rule' }], on_invalid: 'fail' },
}

t.test('POST /v1/score answers a result a sample, in order, with the version', async (t) => {
  const app = await testApp(t, rewards)
  const samples = [{ id: 'a', response: '1' }, { response: 'throw' }, { respnse: '1' }]
  const response = await app.inject({ method: 'POST', url: '/v1/score', payload: { reward: 'one', samples } })
  t.equal(response.statusCode, 200)
  t.match(response.json(), {
    results: [
      { id: 'a', reward: 1, valid: true, failure: null, terms: { rule: { score: 1, contribution: 1 } } },
      { id: '1', reward: null, valid: false, failure: { kind: 'rule_error' } },
      { id: '2', reward: null, valid: false, failure: { kind: 'bad_sample' } },
    ],
    reward: { name: 'one', version: /^[0-9a-f]{16}$/ },
  })
})

t.test('NDJSON streams each result with its index', async (t) => {
  const app = await testApp(t, rewards)
  const samples = ['1', '0', 'throw'].map((response) => ({ response }))
  const post = (reward: string) =>
    app.inject({
      method: 'POST',
      url: '/v1/score',
      headers: { accept: 'application/x-ndjson' },
      payload: { reward, samples },
    })
  const lines = (await post('one')).body
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line))
  t.strictSame(lines.map(({ index }) => index).sort(), [0, 1, 2])
  t.match(
    lines.find(({ index }) => index === 2),
    { valid: false },
  )
  t.match((await post('strict')).body.trim().split('\n').pop(), /"error":\{"code":"RG_SAMPLES_FAILED"/)
})

t.test('mistakes of a request are told with code, place and what to do', async (t) => {
  const app = await testApp(t, rewards, 4096)
  const post = (payload: string, headers: Record<string, string> = {}) =>
    app.inject({
      method: 'POST',
      url: '/v1/score',
      headers: { 'content-type': 'application/json', ...headers },
      payload,
    })
  const cases: [string, number, string, RegExp][] = [
    ['{"reward":"one"}', 400, 'RG_REQUEST_INVALID', /samples/],
    ['{"reward":"one","samples":[{"response":"x"}],"weight":1}', 400, 'RG_REQUEST_INVALID', /weight/],
    ['{"reward":"onne","samples":[{"response":"x"}]}', 404, 'RG_REWARD_UNKNOWN', /did you mean 'one'/],
    ['{"reward":', 400, 'RG_REQUEST_INVALID', /no JSON/],
    [
      JSON.stringify({ reward: 'one', samples: [{ response: 'x'.repeat(5000) }] }),
      413,
      'RG_REQUEST_TOO_LARGE',
      /large/,
    ],
  ]
  for (const [payload, status, code, message] of cases) {
    const response = await post(payload)
    t.equal(response.statusCode, status, payload.slice(0, 60))
    t.match(response.json(), { error: { code, message, request_id: String } })
  }
  t.equal((await post('{"reward":"strict","samples":[{"response":"throw"}]}')).statusCode, 502)
  t.equal((await post('{}', { 'content-encoding': 'br' })).json().error.code, 'RG_MEDIA_TYPE')
  t.equal((await post('{}', { 'content-type': 'text/plain' })).statusCode, 415)
  t.match((await app.inject('/nowhere')).json(), { error: { code: 'RG_NOT_FOUND' } })
})

t.test('gzipped bodies are read, and unpack to no more than the limit', async (t) => {
  const app = await testApp(t, rewards, 4096)
  const post = (body: string) =>
    app.inject({
      method: 'POST',
      url: '/v1/score',
      headers: { 'content-type': 'application/json', 'content-encoding': 'gzip' },
      payload: gzipSync(body),
    })
  t.equal((await post('{"reward":"one","samples":[{"response":"1"}]}')).json().results[0].reward, 1)
  t.equal(
    (await post(JSON.stringify({ reward: 'one', samples: [{ response: ' '.repeat(100_000) }] }))).statusCode,
    413,
  )
})

t.test("Python's NaN is read as null and flagged, a rounded integer is refused by name", async (t) => {
  const app = await testApp(t, rewards)
  const payload =
    '{"reward":"one","samples":[{"response":"1","extra_info":{"loss":NaN}},{"response":"1","ground_truth":12345678901234567890}]}'
  const response = await app.inject({
    method: 'POST',
    url: '/v1/score',
    headers: { 'content-type': 'application/json' },
    payload,
  })
  t.match(response.json().results, [
    { valid: true, flags: ['non_finite_input'] },
    { valid: false, failure: { kind: 'bad_sample', detail: /ground_truth.*2\^53/ } },
  ])
  t.notMatch(response.body, /NaN|Infinity/)
})

t.test('request ids come back; a hostile one is replaced', async (t) => {
  const app = await testApp(t, rewards)
  const idOf = async (id: string) =>
    (await app.inject({ url: '/livez', headers: { 'x-request-id': id } })).headers['x-request-id']
  t.equal(await idOf('step-7.a'), 'step-7.a')
  t.not(await idOf('a b"c'), 'a b"c')
})

t.test('bodies that do not fit beside those in work are refused before they are read', async (t) => {
  const app = await testApp(t, { ...rewards, gateway: { limits: { max_bodies_bytes: 1024 } } })
  const origin = await app.listen({ port: 0, host: '127.0.0.1' })
  const held = request(`${origin}/v1/score`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', 'content-length': 1000 },
  })
  held.on('error', () => {})
  held.write('{')
  const post = () =>
    fetch(`${origin}/v1/score`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ reward: 'one', samples: [{ response: '1' }] }),
    })
  let refused = await post()
  while (refused.status === 200) refused = await post()
  t.equal(refused.status, 429)
  t.equal(refused.headers.get('retry-after'), '1')
  t.equal((await fetch(`${origin}/livez`)).status, 200)
  held.destroy()
  let accepted = await post()
  while (accepted.status !== 200) accepted = await post()
  t.match(await accepted.json(), { results: [{ reward: 1 }] })
})
