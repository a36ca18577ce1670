import t, { type Test } from 'tap'
import { createApp } from '../../src/http/app.ts'
import { openMetrics } from '../../src/telemetry/metrics/metrics.ts'
import { fakeClock } from '../support/clock.ts'
import { testGateway } from '../support/gateway.ts'
import { completion, json, scriptedServer } from '../support/scripted-server.ts'

const judged = { steps: [{ name: 'q', function: 'digit-judge', model: 'judge' }] }
const rewards = {
  judged,
  hurried: { ...judged, deadline_s: 0.9 },
  ruled: { steps: [{ name: 'rule', function: 'echo-rule' }] },
  sorted: {
    steps: [
      { name: 'rule', function: 'echo-rule' },
      { name: 'q', function: 'digit-judge', model: 'judge', data_source: 'judged' },
    ],
  },
}

/** A gateway whose judge has two places and takes 500 ms by the gateway's clock; it answers when it is let. */
async function overloadable(t: Test, more: object) {
  const held: (() => void)[] = []
  const server = await scriptedServer((seen, response) => {
    held.push(() => json(response, completion(seen, '1')))
  })
  t.teardown(() => server.kill())
  const clock = fakeClock()
  const judge = { model: 'm', instances: [server.url], max_in_flight: 2, health: { interval_s: 0 }, ...more }
  const gateway = await testGateway(t, { gateway: { models: { judge } }, ...rewards }, { clock })
  const app = await createApp({
    gateway,
    metrics: openMetrics({ version: 'test', inFlight: () => 0 }),
    bodyLimit: 1 << 20,
  })
  t.teardown(() => app.close())
  let serial = 0
  const post = (url: string, payload: object, headers: Record<string, string> = {}) =>
    app.inject({ method: 'POST', url, payload, headers })
  const score = (reward: string, rows = 1, row: object = {}, headers = {}) => {
    const samples = Array.from({ length: rows }, () => ({ response: `1 ${serial++}`, ...row }))
    return post('/v1/score', { reward, samples }, headers)
  }
  const first = score('judged')
  await server.saw(1)
  clock.advance(500)
  held.shift()?.()
  await first
  /** Requests that are let in; resolves once so many of them are in line. */
  const fill = async (count: number, waiting: number) => {
    const let_in = Array.from({ length: count }, () => score('judged'))
    while (gateway.models()[0]?.waiting !== waiting) await new Promise(setImmediate)
    return let_in
  }
  /** Answers everything that is asked, until `scored` is there. */
  const finish = async (scored: Promise<unknown>) => {
    let isOver = false
    void scored.finally(() => {
      isOver = true
    })
    while (!isOver) {
      for (const reply of held.splice(0)) reply()
      await new Promise(setImmediate)
    }
  }
  return { score, post, fill, finish }
}

t.test(
  'a request whose questions would wait too long is refused before any work, and told when to come',
  async (t) => {
    const { score, post, fill, finish } = await overloadable(t, { max_queue_s: 1 })
    const waiting = [...(await fill(6, 4))]
    const hurried = await score('hurried')
    t.equal(hurried.statusCode, 429, '1 s in line is longer than its deadline')
    waiting.push(...(await fill(1, 5)))
    for (const [what, refused] of [
      ['one sample', await score('judged')],
      ['many', await score('judged', 50)],
      ['a stream', await score('judged', 2, {}, { accept: 'application/x-ndjson' })],
      ['a trainer', await post('/wire/slime/judged', { prompt: 'q', response: '1', label: '1' })],
    ] as const) {
      t.equal(refused.statusCode, 429, what)
      t.equal(refused.headers['retry-after'], '1', what)
      t.match(refused.json(), { error: { code: 'RG_OVERLOADED', message: /'judge'/ } }, what)
    }
    const passed = { model: 'judge', messages: [{ role: 'user', content: '1' }] }
    t.equal((await post('/v1/chat/completions', passed)).statusCode, 429)
    t.equal((await score('ruled')).statusCode, 200, 'a reward without the model is served')
    t.equal(
      (await score('sorted', 1, { data_source: 'ruled' })).statusCode,
      200,
      'so are rows that do not ask',
    )
    t.equal((await score('sorted', 1, { data_source: 'judged' })).statusCode, 429)
    const scored = Promise.all(waiting)
    await finish(scored)
    for (const response of await scored)
      t.equal(response.json().results[0].reward, 1, 'what was let in is scored')
    const after = score('judged', 20)
    await finish(after)
    t.equal((await after).statusCode, 200, 'once the line is short, whatever comes is let in')
  },
)

t.test('how long Retry-After says hangs on how long the line is', async (t) => {
  const { score, fill, finish } = await overloadable(t, {})
  const waiting = await fill(22, 20)
  const refused = await score('hurried')
  t.equal(refused.statusCode, 429)
  t.equal(refused.headers['retry-after'], '5', '5 s in line, of which 0.9 may be')
  const patient = score('judged')
  const scored = Promise.all([...waiting, patient])
  await finish(scored)
  t.equal((await patient).statusCode, 200, 'a burst waits as long as its deadline allows')
})

t.test('where as many wait as may, further requests are refused', async (t) => {
  const { score, fill, finish } = await overloadable(t, { max_queue: 1 })
  const waiting = await fill(3, 1)
  const refused = await score('judged')
  t.equal(refused.statusCode, 429)
  t.equal(refused.headers['retry-after'], '1')
  const scored = Promise.all(waiting)
  await finish(scored)
  for (const response of await scored) t.equal(response.statusCode, 200)
})
