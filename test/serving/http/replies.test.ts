import t from 'tap'
import { createApp } from '../../../src/serving/http/app.ts'
import { jsonPieces, LineStream, replyBody } from '../../../src/serving/http/reply-body.ts'
import { openMetrics } from '../../../src/serving/telemetry/metrics/metrics.ts'
import { testGateway } from '../../support/gateway.ts'

const turns = async (count: number) => {
  for (let turn = 0; turn < count; turn++) await new Promise((resolve) => setImmediate(resolve))
}

t.test('a reply is complete, and written no faster than it is read (M51)', async (t) => {
  const piece = 'x'.repeat(1000)
  let made = 0
  function* pieces() {
    for (; made < 10_000; made++) yield piece
  }
  const body = replyBody(pieces())
  if (typeof body === 'string') return t.fail('ten megabytes are one text')
  body.once('readable', () => {})
  await turns(100)
  t.ok(made < 2000, `${made} of 10,000 pieces are made while nobody reads`)
  let length = 0
  for await (const chunk of body) length += (chunk as Buffer).length
  t.equal(length, 10_000_000)
  t.equal(replyBody(['a', 'b'].values()), 'ab', 'a short one is a text')
})

t.test('lines are in order, and written no faster than they are read (M51)', async (t) => {
  const lines = new LineStream()
  let made = 0
  function* line(index: number) {
    made += 1
    yield `${index} ${'x'.repeat(1000)}`
    yield '\n'
  }
  lines.body.once('readable', () => {})
  for (let index = 0; index < 10_000; index++) lines.add(line(index))
  await turns(100)
  t.ok(made < 2000, `${made} of 10,000 lines are made while nobody reads`)
  lines.end()
  let text = ''
  for await (const chunk of lines.body) text += chunk
  const read = text.split('\n')
  t.equal(read.length, 10_001)
  t.ok(read.every((one, index) => one === '' || one.startsWith(`${index} `)))
})

t.test('JSON in pieces equals what JSON.stringify writes (M51)', async (t) => {
  const values: unknown[] = [
    null,
    1,
    -0,
    Number.NaN,
    'a"\u2028',
    true,
    [],
    {},
    [1, [2, { a: [], b: undefined, c: null }], undefined],
    { a: undefined, b: [1, 2], 'c"': { d: [{}], e: {} } },
    { constructor: [1] },
    new Date(0),
    { at: new Date(0), list: [new Date(1)] },
  ]
  for (const value of values) t.equal([...jsonPieces(value)].join(''), JSON.stringify(value))
})

t.test('a large reply (M51)', async (t) => {
  const gateway = await testGateway(t, { one: { steps: [{ name: 'rule', function: 'exact-match' }] } })
  const metrics = openMetrics({ version: 'test', inFlight: () => 0 })
  t.teardown(() => metrics.close())
  const app = await createApp({ gateway, metrics, bodyLimit: 16 << 20 })
  t.teardown(() => app.close())
  const origin = await app.listen({ port: 0, host: '127.0.0.1' })
  const count = 5000
  const samples = Array.from({ length: count }, (_, index) => ({
    id: `${index}`,
    prompt: 'p',
    response: index % 3 ? 'yes' : 'no',
    ground_truth: 'yes',
  }))
  const rewardOf = ({ response }: { response: string }) => Number(response === 'yes')
  const post = (path: string, body: object, accept = 'application/json') =>
    fetch(`${origin}${path}`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', accept },
      body: JSON.stringify(body),
    })

  await t.test('is complete JSON, whose length is not known before its end', async (t) => {
    const whole = await post('/v1/score', { reward: 'one', samples })
    t.equal(whole.headers.get('content-length'), null)
    const { results, reward } = (await whole.json()) as {
      results: { id: string; reward: number }[]
      reward: { name: string }
    }
    t.equal(reward.name, 'one')
    t.strictSame(
      results.map(({ id, reward }) => [id, reward]),
      samples.map((sample) => [sample.id, rewardOf(sample)]),
    )
  })

  await t.test('is complete as lines', async (t) => {
    const lined = await post('/v1/score', { reward: 'one', samples }, 'application/x-ndjson')
    const lines = (await lined.text()).trimEnd().split('\n')
    const read = lines.map((line) => JSON.parse(line) as { index: number; id: string; reward: number })
    t.strictSame(
      read.sort((a, b) => a.index - b.index).map(({ index, id, reward }) => [index, id, reward]),
      samples.map((sample, index) => [index, sample.id, rewardOf(sample)]),
    )
  })

  await t.test("is complete in a trainer's format", async (t) => {
    const query = samples.map(
      ({ response }) => `<|im_start|>user\np<|im_end|>\n<|im_start|>assistant\n${response}`,
    )
    const labels = samples.map(() => 'yes')
    const wired = await post('/wire/openrlhf/one', { query, prompts: samples.map(() => 'p'), labels })
    t.equal(wired.status, 200)
    const { rewards, extra_logs: logs } = (await wired.json()) as {
      rewards: number[]
      extra_logs: Record<string, number[]>
    }
    t.equal(rewards.length, count)
    t.not(Object.keys(logs).length, 0)
    for (const list of Object.values(logs)) t.equal(list.length, count)
  })
})
