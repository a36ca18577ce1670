import t from 'tap'
import { get, post, simulated } from '../support/simulated.ts'

const ask = {
  model: 'simulated-judge',
  messages: [{ role: 'user', content: 'Question: 1 + 1?\nAnswer: 1 + 1 = 2' }],
}
const path = '/v1/chat/completions'

t.test('each fault that sends a reply spoils exactly the next request', async (t) => {
  const server = await simulated(t)
  const spoiled = {
    '500': { status: 500, json: { error: { code: 500 } } },
    '503': { status: 503, json: { error: { code: 503 } } },
    '429': { status: 429, json: { error: { code: 429 } } },
    'wrong-model': { status: 404, json: { error: { type: 'NotFoundError' } } },
    garbage: { status: 200, json: null },
    'error-body': { status: 200, json: { error: { code: 500 } } },
    'empty-choices': { status: 200, json: { choices: [] } },
    'wrong-type': { status: 200, json: { choices: [{ message: { content: 1 } }] } },
    nan: { status: 200, json: { choices: [{ message: { content: 'Score: NaN' } }] } },
    length: { status: 200, json: { choices: [{ finish_reason: 'length' }] } },
    'null-content': { status: 200, json: { choices: [{ message: { content: null } }] } },
    'tool-call': { status: 200, json: { choices: [{ finish_reason: 'tool_calls' }] } },
    refusal: { status: 200, json: { choices: [{ message: { content: /sorry/ } }] } },
  } as const
  for (const [kind, expected] of Object.entries(spoiled)) {
    server.set({ kind: kind as keyof typeof spoiled, next: 1 })
    t.match(await post(server, path, ask), expected, kind)
    t.match(
      await post(server, path, ask),
      { json: { choices: [{ message: { content: '1' } }] } },
      `after ${kind}`,
    )
  }
  t.equal(server.stats().faults.nan, 1)
})

t.test('reset and half a body break the connection', async (t) => {
  const server = await simulated(t)
  for (const kind of ['reset', 'half-body'] as const) {
    server.set({ kind, next: 1 })
    await t.rejects(post(server, path, ask), kind)
    t.equal((await post(server, path, ask)).status, 200)
  }
  server.set({ kind: 'half-body', next: 1 })
  await t.rejects(post(server, path, { ...ask, stream: true }), 'a stream ends in the middle')
})

t.test('hang and stall say nothing until the client goes away', async (t) => {
  const server = await simulated(t)
  for (const [kind, stream] of [
    ['hang', false],
    ['stall', false],
    ['stall', true],
  ] as const) {
    server.set({ kind, next: 1 })
    const client = new AbortController()
    const asked = post(server, path, { ...ask, stream }, client.signal)
    await t.resolves(until(() => server.stats().faults[kind] !== undefined))
    t.equal((await post(server, path, ask)).status, 200, 'others are served meanwhile')
    client.abort()
    await t.rejects(asked)
    await until(() => server.stats().inFlight === 0)
  }
})

t.test('Retry-After is sent with 503 and 429', async (t) => {
  const server = await simulated(t, { faults: [{ kind: '503', retryAfterS: 7 }] })
  t.equal((await post(server, path, ask)).headers.get('retry-after'), '7')
})

t.test('a classifier that breaks sends a bare NaN or a text for a number', async (t) => {
  const server = await simulated(t, {
    faults: [
      { kind: 'nan', next: 1 },
      { kind: 'wrong-type', next: 1 },
    ],
  })
  t.match((await post(server, '/classify', { input: 'x' })).text, /"probs":\[NaN\]/)
  t.match((await post(server, '/classify', { input: 'x' })).json, { data: [{ index: 0, probs: ['high'] }] })
})

t.test('faults strike by rate, the same ones for the same seed', async (t) => {
  const struck = async (seed: number) => {
    const server = await simulated(t, { seed, faults: [{ kind: '500', rate: 0.3 }] })
    const statuses: number[] = []
    for (let i = 0; i < 100; i++) statuses.push((await post(server, '/classify', { input: 'x' })).status)
    return statuses
  }
  const first = await struck(1)
  t.same(await struck(1), first)
  t.notSame(await struck(2), first)
  const share = first.filter((status) => status === 500).length
  t.ok(share > 15 && share < 45, `${share} of 100`)
})

t.test('a server of the wrong model lists another one', async (t) => {
  const server = await simulated(t, { faults: [{ kind: 'wrong-model', path: '/v1' }] })
  t.match((await get(server, '/v1/models')).json, { data: [{ id: 'another-model', object: 'model' }] })
  t.equal((await post(server, path, ask)).status, 404)
})

t.test('faults strike by path, after some requests, and not probes unless named', async (t) => {
  const server = await simulated(t, { faults: [{ kind: '500' }] })
  t.equal((await get(server, '/health')).status, 200)
  server.set({ kind: '500', path: '/health' })
  t.equal((await get(server, '/health')).status, 500)
  t.equal((await post(server, path, ask)).status, 200)
  server.set({ kind: '500', skip: 1, next: 1 })
  const statuses = [
    await post(server, path, ask),
    await post(server, path, ask),
    await post(server, path, ask),
  ]
  t.same(
    statuses.map(({ status }) => status),
    [200, 500, 200],
  )
})

t.test('faults are set and counters read over HTTP, where that is allowed', async (t) => {
  const server = await simulated(t, { control: true })
  t.equal((await post(server, '/simulate/faults', { faults: [{ kind: '500', next: 1 }] })).status, 200)
  t.equal((await post(server, path, ask)).status, 500)
  t.match((await get(server, '/simulate/stats')).json, { faults: { '500': 1 } })
  for (const faults of [
    1,
    [{ kind: 'nonsense' }],
    [{ kind: '500', rate: 'often' }],
    [{ kind: '500', path: 1 }],
    [null],
  ]) {
    t.match(await post(server, '/simulate/faults', { faults }), {
      status: 400,
      json: { error: { param: /faults/ } },
    })
  }
  const closed = await simulated(t)
  t.equal((await post(closed, '/simulate/faults', { faults: [] })).status, 404)
})

async function until(isTrue: () => boolean): Promise<void> {
  while (!isTrue()) await new Promise((resolve) => setImmediate(resolve))
}
