import { Agent, request } from 'node:http'
import { gzipSync } from 'node:zlib'
import t from 'tap'
import { testApp } from '../../support/app.ts'
import { hostileBodies } from '../../support/hostile-bodies.ts'
import { turnsOf } from '../../support/turns.ts'

const most = 100
const steps = [{ name: 'rule', function: 'echo-rule' }]
const app = await testApp(
  t,
  {
    gateway: { limits: { max_samples: 1000 } },
    one: { steps },
    exact: { steps: [{ name: 'exact', function: 'exact-match' }] },
  },
  1 << 24,
)
const large = await testApp(t, { one: { steps } }, 1 << 24)
const origin = await large.listen({ port: 0, host: '127.0.0.1' })

interface Reply {
  readonly status: number
  readonly text: string
}

const post = (path: string, body: Buffer, headers: Record<string, string> = {}): Promise<Reply> =>
  new Promise((resolve, reject) => {
    const options = { method: 'POST', headers: { 'content-type': 'application/json', ...headers } }
    const call = request(origin + path, options, (reply) => {
      const chunks: Buffer[] = []
      reply.on('data', (chunk: Buffer) => chunks.push(chunk))
      reply.on('end', () =>
        resolve({ status: reply.statusCode ?? 0, text: Buffer.concat(chunks).toString() }),
      )
    })
    call.on('error', reject)
    call.end(body)
  })

t.test('no body within the limits blocks the event loop, compressed or not (M4, M3)', async (t) => {
  const bodies = hostileBodies(1 << 24)
  for (const name of [
    'a NaN a row',
    'rows of 15,000 lists',
    'objects in one row',
    'numbers outside',
    'no end',
  ]) {
    const text = bodies[name] ?? ''
    // It is read completely, and then there is no such reward.
    const body = Buffer.from(text.replace(/^\{/, '{"reward":"none",'))
    const statuses: number[] = []
    const { ms } = await turnsOf(most, async () => {
      statuses.push((await post('/v1/score', body)).status)
    })
    t.ok(ms < most, `${name}: ${ms.toFixed()} ms at a time`)
    t.ok([400, 404, 413].includes(statuses[0] ?? 0), `${name}: ${statuses[0]}`)
  }
})

t.test('65,536 rows of any kind are read in slices', async (t) => {
  const columns = { query: 'x', prompts: 'x', labels: '{\\"ground_truth\\":1}' }
  const list = (one: string): string => `[${Array.from({ length: 65_536 }, () => one).join(',')}]`
  const bodies: readonly (readonly [string, string, string])[] = [
    [
      'plain rows',
      '/v1/score',
      `{"reward":"none","samples":${list('{"prompt":"q","response":"r","ground_truth":"1"}')}}`,
    ],
    [
      'messages',
      '/v1/score',
      `{"reward":"none","samples":${list('{"prompt":[{"role":"user","content":"q"}],"response":[{"role":"assistant","content":"r"}]}')}}`,
    ],
    ['unreadable rows', '/v1/score', `{"reward":"none","samples":${list('{"respnse":"r"}')}}`],
    ['texts where messages belong', '/v1/score', `{"reward":"none","samples":${list('1')}}`],
    [
      'columns',
      '/wire/openrlhf/none?template=none',
      `{${Object.entries(columns)
        .map(([name, one]) => `"${name}":${list(`"${one}"`)}`)
        .join(',')}}`,
    ],
    ['columns of the wrong type', '/wire/openrlhf/one', `{"query":${list('1')},"labels":${list('NaN')}}`],
    ['a list of texts', '/wire/llama-factory/none', `{"messages":${list('"x"')}}`],
    ['a list of no texts', '/wire/llama-factory/one', `{"messages":${list('{}')}}`],
  ]
  for (const [name, path, text] of bodies) {
    const replies: Reply[] = []
    const { ms } = await turnsOf(most, async () => {
      replies.push(await post(path, Buffer.from(text)))
    })
    t.ok(ms < most, `${name}: ${ms.toFixed()} ms at a time`)
    t.ok([400, 404].includes(replies[0]?.status ?? 0), `${name}: ${replies[0]?.status}`)
    t.ok((replies[0]?.text.length ?? 0) < 8192, 'the reply does not list every mistake')
  }
})

t.test('a single row is read quickly, whatever is wrong with it (M4)', async (t) => {
  const objects = `[${'{},'.repeat(24_000)}{}]`
  const chat = '<|im_start|>user\\nq<|im_end|>\\n'
  const label = (piece: string): string =>
    `{"response":"x","label":"{\\"ground_truth\\":[${piece.repeat(8_000_000 / piece.length)}1]}"}`
  const bodies: readonly (readonly [string, string, string])[] = [
    ['messages', '/v1/score', `{"reward":"none","samples":[{"prompt":${objects},"response":${objects}}]}`],
    ['a conversation', '/wire/eval-protocol/none', `{"messages":${objects}}`],
    [
      'outputs',
      '/wire/nemo-gym/none/verify',
      `{"responses_create_params":{"input":${objects}},"response":{"output":${objects}}}`,
    ],
    ["a label's text of lists", '/wire/slime/none', label('[],')],
    ["a label's text of numbers", '/wire/slime/none', label('1,')],
    ["a label's text of NaN", '/wire/slime/none', label('NaN,')],
    ['turns', '/wire/llama-factory/one', `{"messages":["${chat.repeat(300_000)}"]}`],
    ['tokens', '/wire/llama-factory/one', `{"messages":["${'<s>'.repeat(2_000_000)}"]}`],
    ['ends', '/wire/llama-factory/one?template=none', `{"messages":["${'</s> '.repeat(2_000_000)}"]}`],
  ]
  for (const [name, path, text] of bodies) {
    const replies: Reply[] = []
    const { ms } = await turnsOf(2 * most, async () => {
      replies.push(await post(path, Buffer.from(text)))
    })
    t.ok(ms < 2 * most, `${name}: ${ms.toFixed()} ms at a time`)
    t.ok([400, 404, 502].includes(replies[0]?.status ?? 0), `${name}: ${replies[0]?.status}`)
  }
})

const inject = (payload: string | object | Buffer, url = '/v1/score', headers: Record<string, string> = {}) =>
  app.inject({ method: 'POST', url, payload, headers: { 'content-type': 'application/json', ...headers } })

t.test(
  'a request with more than max_samples is refused even if it is alone, and the error names the limit (M2)',
  async (t) => {
    const rows = (count: number) => Array.from({ length: count }, () => ({ response: '1' }))
    t.equal((await inject({ reward: 'one', samples: rows(1000) })).statusCode, 200)
    const packed = { 'content-encoding': 'gzip' }
    const many = JSON.stringify({ reward: 'one', samples: rows(20_000) })
    for (const refused of [
      await inject({ reward: 'one', samples: rows(1001) }),
      await inject(many),
      await inject(gzipSync(many), '/v1/score', packed),
      await inject({ reward: 'one', samples: rows(1001) }, '/v1/score', { accept: 'application/x-ndjson' }),
      await inject({ messages: rows(1001).map(() => 'x') }, '/wire/llama-factory/one?template=none'),
    ]) {
      t.equal(refused.statusCode, 413)
      t.equal(refused.headers['retry-after'], undefined, 'it never fits')
      t.match(refused.json(), { error: { code: 'RG_REQUEST_TOO_LARGE', message: /1000/ } })
    }
  },
)

t.test('a row with too many values is bad_sample, and other rows are not affected (M4)', async (t) => {
  const good = '{"response":"1"}'
  const filler = `{"response":"1","extra_info":{"a":"${'x'.repeat(120_000)}"}}`
  for (const bad of [
    `{"id":"b","response":"1","ground_truth":[${'[],'.repeat(60_000)}[]]}`,
    `{"id":"b","response":"1","ground_truth":${'['.repeat(2000)}${']'.repeat(2000)}}`,
  ]) {
    const { results } = (await inject(`{"samples":[${good},${bad},${filler}],"reward":"one"}`)).json()
    t.match(results, [
      { reward: 1, valid: true },
      { reward: null, valid: false, failure: { kind: 'bad_sample', detail: /values|nested/ } },
      { reward: 1, valid: true },
    ])
  }
  const labels = `["1",[${'[],'.repeat(60_000)}[]],"${`{\\"ground_truth\\":[${'[],'.repeat(60_000)}[]]}`}","1"]`
  const query = JSON.stringify(['1', '1', '1', '1'])
  const refused = await inject(`{"query":${query},"labels":${labels}}`, '/wire/openrlhf/exact?template=none')
  t.match(refused.json(), {
    error: {
      message: /^2 of 4 samples/,
      problems: [
        { message: /label: it holds more than 50000/ },
        { message: /label: its text holds more than 50000/ },
      ],
    },
  })
  const outside = await inject(`{"samples":[${good}],"reward":"one","more":[${'[],'.repeat(60_000)}[]]}`)
  t.match(outside.json(), { error: { code: 'RG_REQUEST_INVALID', message: /more than 50000 values/ } })
})

t.test('a response that looks like a marker of the JSON reader is scored unchanged (M15)', async (t) => {
  for (const text of ['\\u2063odd0', '\\u2063odd0 4', 'NaN']) {
    const response = JSON.parse(`"${text}"`)
    const body = `{"reward":"exact","samples":[{"response":"${text}","ground_truth":${JSON.stringify(response)}},{"response":"x","ground_truth":NaN}]}`
    t.match((await inject(body)).json().results[0], { reward: 1, valid: true }, text)
    const columns = `{"query":["${text}","x"],"labels":[${JSON.stringify(response)},"x"],"more":NaN}`
    const { rewards } = (await inject(columns, '/wire/openrlhf/exact?template=none')).json()
    t.strictSame(rewards, [1, 1])
  }
})

t.test(
  'a client that is still sending learns why its body is refused, and keeps its connection (M2)',
  async (t) => {
    const agent = new Agent({ keepAlive: true, maxSockets: 1 })
    const sendOne = (
      headers: Record<string, string>,
      body: Buffer,
    ): Promise<{ status: number; port: number }> =>
      new Promise((resolve, reject) => {
        const options = { method: 'POST', agent, headers: { 'content-type': 'application/json', ...headers } }
        const call = request(`${origin}/v1/score`, options, (reply) => {
          const port = call.socket?.localPort ?? 0
          reply.resume()
          reply.on('end', () => resolve({ status: reply.statusCode ?? 0, port }))
        })
        call.on('error', reject)
        call.end(body)
      })
    const tooLong = Buffer.alloc((1 << 24) + 1_000_000, ' ')
    const ports = new Set<number>()
    for (let round = 0; round < 20; round++) {
      const headers: Record<string, string> = round % 2 === 0 ? {} : { 'transfer-encoding': 'chunked' }
      const { status, port } = await sendOne(headers, tooLong)
      t.equal(status, 413)
      ports.add(port)
      const next = await sendOne({}, Buffer.from('{"reward":"one","samples":[{"response":"1"}]}'))
      t.equal(next.status, 200)
    }
    t.equal(ports.size, 1)
    agent.destroy()
  },
)
t.test('a body that is not valid gzip, or is cut off, is refused with a remedy (M41)', async (t) => {
  const whole = gzipSync('{"reward":"one","samples":[{"response":"1"}]}')
  for (const body of [Buffer.from('{"reward":"one"}'), whole.subarray(0, 25), whole.subarray(0, 5)]) {
    const refused = await inject(body, '/v1/score', { 'content-encoding': 'gzip' })
    t.equal(refused.statusCode, 400)
    t.match(refused.json(), {
      error: { code: 'RG_REQUEST_INVALID', message: /not valid gzip.*'content-encoding: gzip'/ },
    })
  }
})
