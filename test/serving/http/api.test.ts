import { once } from 'node:events'
import { cpSync, readFileSync, writeFileSync } from 'node:fs'
import { request } from 'node:http'
import { connect } from 'node:net'
import { join } from 'node:path'
import { gzipSync } from 'node:zlib'
import t from 'tap'
import { startSimulatedServers } from '../../../src/cli/serve/simulated-servers.ts'
import { systemClock } from '../../../src/core/clock.ts'
import { createApp } from '../../../src/serving/http/app.ts'
import { openObservedGateway } from '../../../src/serving/observed-gateway.ts'
import { openQueue } from '../../../src/serving/queue/queue.ts'
import { openMetrics } from '../../../src/serving/telemetry/metrics/metrics.ts'
import { testApp } from '../../support/app.ts'
import { testGateway } from '../../support/gateway.ts'

const rule = { name: 'rule', function: 'echo-rule' }

t.test('a gateway over HTTP', async (t) => {
  const judge = { model: 'judge', instances: [], allow: ['http://judge-*:8000'], health: { interval_s: 0 } }
  const app = await testApp(
    t,
    {
      one: { description: 'a rule', steps: [rule] },
      strict: { steps: [rule], on_invalid: 'fail' },
      judged: { models: { judge }, steps: [{ name: 'q', function: 'digit-judge', model: 'judge' }] },
    },
    4096,
  )
  const post = (payload: string | object, headers: Record<string, string> = {}) =>
    app.inject({
      method: 'POST',
      url: '/v1/score',
      headers: { 'content-type': 'application/json', ...headers },
      payload,
    })

  await t.test('POST /v1/score returns one result per sample in order, and metrics count them', async (t) => {
    const samples = [{ id: 'a', response: '1' }, { response: 'throw' }, { respnse: '1' }]
    const response = await post({ reward: 'one', samples })
    t.equal(response.statusCode, 200)
    t.match(response.json(), {
      results: [
        { id: 'a', reward: 1, valid: true, failure: null, terms: { rule: { score: 1, contribution: 1 } } },
        { id: '1', reward: null, valid: false, failure: { kind: 'rule_error' } },
        { id: '2', reward: null, valid: false, failure: { kind: 'bad_sample' } },
      ],
      reward: { name: 'one', version: /^[0-9a-f]{16}$/ },
    })
    const { body, headers } = await app.inject('/metrics')
    t.match(headers['content-type'], /text\/plain/)
    for (const line of [
      'reward_gateway_samples_total{reward="one",valid="true"} 1',
      'reward_gateway_samples_invalid_total{reward="one",kind="rule_error"} 1',
      'reward_gateway_request_duration_seconds_count{route="/v1/score",status="200"} 1',
      'reward_gateway_samples_in_flight 0',
    ])
      t.ok(body.includes(line), line)
  })

  await t.test('NDJSON streams each result with its index', async (t) => {
    const samples = ['1', '0', 'throw'].map((response) => ({ response }))
    const streamed = async (reward: string) =>
      (await post({ reward, samples }, { accept: 'application/x-ndjson' })).body.trim().split('\n')
    const lines = (await streamed('one')).map((line) => JSON.parse(line))
    t.strictSame(lines.map(({ index }) => index).sort(), [0, 1, 2])
    t.match(
      lines.find(({ index }) => index === 2),
      { valid: false },
    )
    t.match((await streamed('strict')).pop(), /"error":\{"code":"RG_SAMPLES_FAILED"/)
  })

  await t.test('errors of a request have a code, a place and a remedy', async (t) => {
    const cases: [string, number, string, RegExp][] = [
      ['{"reward":"one"}', 400, 'RG_REQUEST_INVALID', /samples/],
      ['{"reward":"one","samples":[]}', 400, 'RG_REQUEST_INVALID', /samples: is empty; give at least one/],
      [
        JSON.stringify({ reward: 'one', run: 'r'.repeat(129), samples: [{ response: '1' }] }),
        400,
        'RG_REQUEST_INVALID',
        /run: must have at most 128 characters/,
      ],
      ['{"reward":"one","samples":[{"response":"x"}],"weight":1}', 400, 'RG_REQUEST_INVALID', /weight/],
      ['{"reward":"onne","samples":[{"response":"x"}]}', 404, 'RG_REWARD_UNKNOWN', /did you mean 'one'/],
      ['{"reward":', 400, 'RG_REQUEST_INVALID', /not valid JSON/],
      [
        JSON.stringify({ reward: 'one', samples: [{ response: 'x'.repeat(5000) }] }),
        413,
        'RG_REQUEST_TOO_LARGE',
        /larger than limits\.max_body_bytes/,
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

  await t.test('gzipped bodies are read, and may not exceed the limit once decompressed', async (t) => {
    const packed = (body: string) => post(gzipSync(body), { 'content-encoding': 'gzip' })
    t.equal((await packed('{"reward":"one","samples":[{"response":"1"}]}')).json().results[0].reward, 1)
    const large = JSON.stringify({ reward: 'one', samples: [{ response: ' '.repeat(100_000) }] })
    t.equal((await packed(large)).statusCode, 413)
  })

  await t.test(
    "Python's NaN is read as null and flagged, a rounded integer is refused by name",
    async (t) => {
      const response = await post(
        '{"reward":"one","samples":[{"response":"1","extra_info":{"loss":NaN}},{"response":"1","ground_truth":12345678901234567890}]}',
      )
      t.match(response.json().results, [
        { valid: true, flags: ['non_finite_input'] },
        { valid: false, failure: { kind: 'bad_sample', detail: /ground_truth.*2\^53/ } },
      ])
      t.notMatch(response.body, /NaN|Infinity/)
    },
  )

  await t.test(
    'without keys everything is open except the admin API, which says how to enable it',
    async (t) => {
      const authorization = 'Bearer admin-key-0123456789'
      const refused = await app.inject({ method: 'POST', url: '/admin/reload', headers: { authorization } })
      t.equal(refused.statusCode, 403)
      t.match(refused.json(), { error: { code: 'RG_FORBIDDEN', message: /no key .* has the scope 'admin'/ } })
    },
  )

  await t.test('request ids are returned, and a hostile one is replaced', async (t) => {
    const idOf = async (id: string) =>
      (await app.inject({ url: '/livez', headers: { 'x-request-id': id } })).headers['x-request-id']
    t.equal(await idOf('step-7.a'), 'step-7.a')
    t.not(await idOf('a b"c'), 'a b"c')
  })

  await t.test('rewards, a single reward and functions can be read', async (t) => {
    t.match((await app.inject('/v1/rewards')).json().rewards, [
      { name: 'one', description: 'a rule', version: String },
      { name: 'strict' },
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

  await t.test('a gateway is live at once, and ready only when every model has an instance', async (t) => {
    t.strictSame((await app.inject('/livez')).json(), { status: 'ok' })
    const ready = await app.inject('/readyz')
    t.equal(ready.statusCode, 503)
    t.match(ready.json(), { ready: false, missing: [/model 'judge'/] })
  })

  await t.test('the description of the API', async (t) => {
    const openapi = (await app.inject('/openapi.json')).json()

    t.test('has schemas as JSON Schema, with what the fields of a sample mean', async (t) => {
      t.match(openapi.openapi, /^3\.1/, 'whose schemas are JSON Schema as zod writes it')
      const body = openapi.paths['/v1/score'].post.requestBody.content['application/json'].schema
      t.match(body.properties.samples.items.properties.ground_truth.description, /compare/)
      t.notMatch(JSON.stringify(openapi), /"\$ref":"#\/definitions/)
    })

    t.test('says where a key is needed', async (t) => {
      t.strictSame(openapi.paths['/admin/reload'].post.security, [{ key: [] }])
      t.strictSame(openapi.paths['/livez'].get.security, [])
    })

    t.test('lists every status of a route', async (t) => {
      const statuses = (path: string, method: string) =>
        Object.keys(openapi.paths[path][method].responses).join(' ')
      t.equal(statuses('/v1/score', 'post'), '200 400 401 403 404 408 413 415 429 502 503')
      t.equal(statuses('/livez', 'get'), '200')
      t.match(statuses('/v1/chat/completions', 'post'), /default/, 'a server may refuse as it likes')
    })

    t.test('has a page with all of its files', async (t) => {
      t.strictSame((await app.inject('/docs/json')).json(), openapi)
      const page = (await app.inject('/docs/')).body
      const names = [...page.matchAll(/"\.\/static\/([\w.-]+)"/g)].map(([, name = '']) => name)
      t.ok(names.includes('swagger-ui-bundle.js'))
      for (const name of names) t.equal((await app.inject(`/docs/static/${name}`)).statusCode, 200, name)
      const missing = await app.inject({ url: '/docs/missing', headers: { 'x-request-id': 'mine' } })
      t.match(
        [missing.statusCode, missing.json()],
        [404, { error: { code: 'RG_NOT_FOUND', request_id: 'mine' } }],
      )
      t.match(missing.headers, { 'x-request-id': 'mine', 'content-security-policy': /default-src 'none'/ })
    })
  })

  await t.test(
    'a wrong method is 405 with `allow`, and an unreadable URL has the common error format',
    async (t) => {
      const wrong = await app.inject('/v1/score')
      t.match(wrong.json(), { error: { code: 'RG_METHOD_NOT_ALLOWED', message: /accepts POST/ } })
      t.equal(wrong.headers.allow, 'POST')
      t.equal((await app.inject({ method: 'DELETE', url: '/v1/rewards/one' })).statusCode, 405)
      t.equal((await app.inject('/v1/scores')).statusCode, 404)
      for (const url of [`/v1/rewards/${'x'.repeat(1000)}`, '/v1/rewards/%']) {
        const { statusCode, body } = await app.inject(url)
        t.match(
          [statusCode, JSON.parse(body)],
          [400, { error: { code: 'RG_REQUEST_INVALID', request_id: String } }],
          url,
        )
      }
    },
  )

  await t.test('replies have headers that stop browsers from running anything', async (t) => {
    t.match((await app.inject('/livez')).headers, {
      'x-content-type-options': 'nosniff',
      'x-frame-options': 'DENY',
      'content-security-policy': /default-src 'none'/,
    })
    const docs = await app.inject('/docs/')
    t.equal(docs.statusCode, 200)
    // upgrade-insecure-requests would break the page where the gateway is reached over plain http.
    t.notMatch(
      docs.headers['content-security-policy'],
      /upgrade-insecure-requests|https?:/,
      'the page loads (M44)',
    )
    for (const piece of [
      "default-src 'self'",
      "object-src 'none'",
      "frame-ancestors 'none'",
      "script-src 'self'",
    ])
      t.ok(String(docs.headers['content-security-policy']).includes(piece), piece)
    t.match(docs.headers, { 'x-content-type-options': 'nosniff', 'content-security-policy': /'self'/ })
    t.match((await app.inject('/nowhere')).headers, { 'x-content-type-options': 'nosniff' })
  })
})

t.test('a client that sends too much or too slowly costs the others nothing', async (t) => {
  const gateway = await testGateway(t, {
    gateway: { limits: { max_bodies_bytes: 1024 } },
    one: { steps: [rule] },
  })
  const metrics = openMetrics({ version: 'test', inFlight: () => 0 })
  const listening = async (more: { readonly receiveMs?: number }) => {
    const app = await createApp({ gateway, metrics, bodyLimit: 1 << 20, ...more })
    t.teardown(() => app.close())
    return app.listen({ port: 0, host: '127.0.0.1' })
  }
  const origin = await listening({})
  t.equal((await fetch(`${origin}/readyz`)).status, 200, 'a gateway of rules alone is ready')
  const json = { 'content-type': 'application/json' }
  const body = JSON.stringify({ reward: 'one', samples: [{ response: '1' }] })
  const post = () => fetch(`${origin}/v1/score`, { method: 'POST', headers: json, body })

  await t.test(
    'bodies that do not fit beside those in progress are refused before they are read',
    async (t) => {
      const headers = { ...json, 'content-length': 1000 }
      const held = request(`${origin}/v1/score`, { method: 'POST', headers })
      held.on('error', () => {})
      held.write('{')
      let refused = await post()
      while (refused.status === 200) refused = await post()
      t.equal(refused.status, 429)
      t.equal(refused.headers.get('retry-after'), '1')
      t.equal((await fetch(`${origin}/livez`)).status, 200)
      held.destroy()
      let accepted = await post()
      while (accepted.status !== 200) accepted = await post()
      t.match(await accepted.json(), { results: [{ reward: 1 }] })
    },
  )

  await t.test('a client that sends too slowly is disconnected', async (t) => {
    const { port } = new URL(await listening({ receiveMs: 300 }))
    const sent = async (text: string) => {
      const socket = connect(Number(port), '127.0.0.1')
      socket.write(text)
      let received = ''
      for await (const chunk of socket) received += chunk
      return received
    }
    const head =
      'POST /v1/score HTTP/1.1\r\nhost: a\r\ncontent-type: application/json\r\ncontent-length: 100\r\n'
    const [headers, whole] = await Promise.all([
      sent('GET /livez HTTP/1.1\r\nhost: a\r\n'),
      sent(`${head}\r\n{`),
    ])
    t.match(headers, /^HTTP\/1\.1 408 /, 'headers that never end')
    t.match(whole, /^HTTP\/1\.1 408 /, 'a body that never ends')
  })
})

t.test('a compressed or chunked body is counted by its decompressed size while it arrives', async (t) => {
  const gateway = await testGateway(t, {
    gateway: { limits: { max_bodies_bytes: 100_000 } },
    one: { steps: [rule] },
  })
  const app = await createApp({
    gateway,
    metrics: openMetrics({ version: 'test', inFlight: () => 0 }),
    bodyLimit: 1 << 20,
  })
  t.teardown(() => app.close())
  const origin = await app.listen({ port: 0, host: '127.0.0.1' })
  const body = (length: number) =>
    JSON.stringify({ reward: 'one', samples: [{ response: '1', extra_info: { a: 'x'.repeat(length) } }] })
  const post = (text: Buffer | string, headers: Record<string, string> = {}) =>
    new Promise<{ status: number; text: string }>((resolve, reject) => {
      const call = request(
        `${origin}/v1/score`,
        { method: 'POST', headers: { 'content-type': 'application/json', ...headers } },
        async (reply) => {
          let answer = ''
          for await (const chunk of reply) answer += chunk
          resolve({ status: reply.statusCode ?? 0, text: answer })
        },
      )
      call.on('error', reject)
      call.end(text)
    })
  const packed = { 'content-encoding': 'gzip' }
  const chunked = { 'transfer-encoding': 'chunked' }
  for (const [name, send] of [
    ['as it is', (length: number) => post(body(length))],
    ['packed', (length: number) => post(gzipSync(body(length)), packed)],
    ['chunked', (length: number) => post(body(length), chunked)],
    ['packed and chunked', (length: number) => post(gzipSync(body(length)), { ...packed, ...chunked })],
  ] as const) {
    t.match(await send(300_000), { status: 413, text: /RG_REQUEST_TOO_LARGE/ }, `${name}: never fits`)
    t.match(await send(60_000), { status: 200 }, `${name}: fits alone`)
    const held = request(`${origin}/v1/score`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', 'content-length': 60_000 },
    })
    held.on('error', () => {})
    held.write('{')
    let refused = await send(60_000)
    while (refused.status === 200) refused = await send(60_000)
    t.match(refused, { status: 429, text: /RG_OVERLOADED/ }, `${name}: does not fit beside another`)
    t.match(await send(1000), { status: 200 }, `${name}: a small one does`)
    held.destroy()
    let accepted = await send(60_000)
    while (accepted.status !== 200) accepted = await send(60_000)
  }

  await t.test('of several bodies that reach the limit together, one is admitted', async (t) => {
    const text = body(20_000)
    const calls = Array.from({ length: 8 }, () => {
      const call = request(`${origin}/v1/score`, {
        method: 'POST',
        headers: { 'content-type': 'application/json', ...chunked },
      })
      call.on('error', () => {})
      call.write(text.slice(0, 12_000))
      return call
    })
    // Once one more is refused, all of them have arrived.
    while ((await post(body(4000))).status === 200);
    const replies = calls.map((call) => once(call, 'response'))
    for (const call of calls) call.end(text.slice(12_000))
    const statuses = (await Promise.all(replies)).map(([reply]) => reply.resume().statusCode)
    t.ok(statuses.includes(200), `${statuses}`)
    t.ok(
      statuses.every((status) => status === 200 || status === 429),
      `${statuses}`,
    )
  })
})

/** What differs from one run to the next, or with what ran before. */
const passing = new Set([
  'version',
  'cursor',
  'at',
  'bytes',
  'credits',
  'unfinished',
  'finals',
  'cancelled',
  'last',
  'calls',
  'latency_ms',
])

t.test('each route of /docs has an example, which works with the shipped configs', async (t) => {
  const servers = await startSimulatedServers({ all: true })
  t.teardown(() => servers.close())
  const key = 'the-key-of-an-operator'
  const { JUDGE_A_0 = '', JUDGE_A_1 = '' } = servers.env
  const folder = t.testdir()
  cpSync('rm-configs', folder, { recursive: true })
  const place = join(folder, 'gateway.yaml')
  writeFileSync(
    place,
    `${readFileSync(place, 'utf8').replace(/ {4}model: \$\{JUDGE_A_MODEL.*\n/, (line) => `${line}    lifecycle: { level: 1 }\n    allow: ["http://127.0.0.1:*"]\n`)}
queue: { folder: queue }
keys: { operator: { env: OPERATOR, scopes: [admin] } }
trainers: { llama-factory: { ground_truth_file: truths.jsonl } }
`,
  )
  const [prompt, truth] = ['Six crates hold seven jars each. How many jars are there?', '42']
  writeFileSync(join(folder, 'truths.jsonl'), JSON.stringify({ prompt, ground_truth: truth }))
  const gateway = await openObservedGateway({
    configs: [folder],
    functionFolders: [],
    env: { ...servers.env, OPERATOR: key },
  })
  t.teardown(() => gateway.close(0))
  const queue = await openQueue({ gateway, clock: systemClock })
  t.teardown(() => queue?.close())
  const metrics = openMetrics({ version: 'test', inFlight: () => 0 })
  const app = await createApp({ gateway, queue, metrics, bodyLimit: 1 << 20 })
  t.teardown(() => app.close())
  const { paths } = (await app.inject('/openapi.json')).json()
  const here = (value: unknown) =>
    JSON.parse(
      JSON.stringify(value, (name, inner) => (passing.has(name) ? undefined : inner))
        .replaceAll('http://127.0.0.1:8101', JUDGE_A_0)
        .replaceAll('http://127.0.0.1:8102', JUDGE_A_1),
    )
  let sent = 0
  for (const [template, operations] of Object.entries<Record<string, Operation>>(paths))
    for (const [method, { parameters = [], requestBody, responses }] of Object.entries(operations)) {
      const name = `${method} ${template}`
      const named = new Map(parameters.map(({ name, example, schema }) => [name, example ?? schema?.example]))
      const url = template.replace(/\{(\w+)\}/g, (_, parameter) => String(named.get(parameter)))
      t.notMatch(url, 'undefined', name)
      const [[type = '', body] = []] = Object.entries(requestBody?.content ?? {})
      if (requestBody) t.ok(body?.example, `${name} has an example of a body`)
      const [status = ''] = Object.keys(responses).filter((one) => one.startsWith('2'))
      const reply = responses[status]?.content?.['application/json']?.example
      // The simulated servers do not have these, and the backlog of the example takes more than this to come about.
      const isAlone = /responses|messages|detokenize/.test(template)
      t.equal(reply === undefined, isAlone || template === '/metrics', `${name} has an example of a reply`)
      if (isAlone) continue
      const got = await app.inject({
        method: method as 'post',
        url,
        headers: { authorization: `Bearer ${key}`, ...(body && { 'content-type': type }) },
        ...(body && { payload: typeof body.example === 'string' ? body.example : here(body.example) }),
      })
      t.equal(String(got.statusCode), status, `${name}: ${got.body.slice(0, 300)}`)
      if (reply !== undefined && template !== '/v1/queue') t.match(got.json(), here(reply), name)
      if (got.statusCode === 202) {
        const { uid } = got.json().results?.at(-1) ?? got.json()
        let read = { cursor: '', results: [] as { uid: string }[] }
        do {
          const after = read.cursor === '' ? '' : `&after=${read.cursor}`
          const from = `/v1/runs/run-7/rewards?wait_s=30${after}`
          read = (await app.inject({ url: from, headers: { authorization: `Bearer ${key}` } })).json()
        } while (!read.results.some((one) => one.uid === uid))
      }
      sent += 1
    }
  t.ok(sent > 50, `${sent} are sent`)
  const page = await app.inject('/docs/')
  t.match(page.body, '<title>reward-gateway API</title>')
  for (const [, path = ''] of page.body.matchAll(/(?:href|src)="\.(\/static\/[^"]+)"/g))
    t.equal((await app.inject(`/docs${path}`)).statusCode, 200, path)
})

interface Media {
  readonly content: Readonly<Record<string, { readonly example?: unknown }>>
}

interface Operation {
  readonly parameters?: readonly { name: string; example?: unknown; schema?: { example?: unknown } }[]
  readonly requestBody?: Media
  readonly responses: Readonly<Record<string, Partial<Media>>>
}
