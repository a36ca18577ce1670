import t from 'tap'
import { fakeClock } from '../support/clock.ts'
import { get, post, type Replied, simulated, until } from '../support/simulated.ts'
import { isRefused, wireCall } from '../support/wire.ts'

const path = '/v1/completions'
const ask = { prompt: 'Question: 1 + 1?\nAnswer: 1 + 1 = 2' }

for (const recovery of ['answer', 'drop'] as const)
  t.test(`a hang with recovery ${recovery}`, async (t) => {
    const clock = fakeClock()
    const server = await simulated(t, { clock })
    server.set({ kind: 'hang', forMs: 60_000, recovery })
    const one = await wireCall(t, server, path, ask)
    const streamed = await wireCall(t, server, path, { ...ask, stream: true })
    await until(() => server.stats().inFlight === 2)

    await t.test('leaves /health and /v1/models to answer', async (t) => {
      t.equal((await get(server, '/health')).status, 200)
      t.equal((await get(server, '/v1/models')).status, 200)
    })

    await t.test('sends no byte of an answer until its end', async (t) => {
      clock.advance(59_999)
      t.equal((await get(server, '/health')).status, 200)
      t.strictSame([one.text, streamed.text], ['', ''])
      t.notOk(one.isClosed)
    })

    await t.test(`at its end, ${recovery}s what it held`, async (t) => {
      clock.advance(1)
      await until(() => server.stats().inFlight === 0)
      if (recovery === 'answer') {
        await until(() => /"text":"1"/.test(one.text) && streamed.text.includes('[DONE]'))
      } else {
        await until(() => one.isClosed && streamed.isClosed)
        t.equal(one.text, '')
        t.equal((await post(server, path, ask)).status, 200, 'it is well again')
      }
      t.equal(clock.pending, 0)
    })
  })

t.test('a hang holds what was under way before it, with its slots and its line', async (t) => {
  const clock = fakeClock()
  const server = await simulated(t, { clock, latencyMedianMs: 100, maxNumSeqs: 1 })
  const before = await wireCall(t, server, path, ask)
  await until(() => server.stats().running === 1)
  server.set({ kind: 'hang', afterMs: 50, forMs: 1000, recovery: 'answer' })
  const after = await wireCall(t, server, path, ask)
  await until(() => server.stats().waiting === 1)
  clock.advance(500)
  t.match(server.stats(), { running: 1, waiting: 1 })
  t.equal(before.text, '')
  clock.advance(550)
  await until(() => before.text.includes('"text"'))
  await until(() => server.stats().running === 1 && server.stats().waiting === 0)
  clock.advance(100)
  await until(() => after.text.includes('"text"'))
})

t.test('a hang may take /v1/models with it, and ends at once when the faults are replaced', async (t) => {
  const server = await simulated(t, { control: true })
  const hang = { kind: 'hang', recovery: 'answer' }
  await post(server, '/simulate/faults', { faults: [hang, { ...hang, path: '/v1/models' }] })
  const asked = post(server, path, ask)
  const models = get(server, '/v1/models')
  await until(() => server.stats().inFlight === 2)
  t.equal((await get(server, '/health')).status, 200)
  await post(server, '/simulate/faults', { faults: [] })
  t.equal((await asked).status, 200)
  t.equal((await models).status, 200)
  t.match(await post(server, '/simulate/faults', { faults: [{ ...hang, recovery: 'maybe' }] }), {
    status: 400,
    json: { error: { param: 'faults[0].recovery' } },
  })
})

t.test('a hang of one request leaves the others alone', async (t) => {
  const server = await simulated(t)
  server.set({ kind: 'hang', next: 1, recovery: 'answer' })
  const held = post(server, path, ask)
  await until(() => server.stats().faults.hang === 1)
  t.equal((await post(server, path, ask)).status, 200)
  server.set()
  t.equal((await held).status, 200)
})

t.test('a fault has its time', async (t) => {
  const clock = fakeClock()
  const server = await simulated(t, { clock, faults: [{ kind: '503', afterMs: 100, forMs: 100 }] })
  const statuses: number[] = []
  for (let at = 0; at < 3; at++) {
    statuses.push((await post(server, path, ask)).status)
    clock.advance(100)
  }
  t.same(statuses, [200, 503, 200])
})

t.test('half an answer comes, then silence, then the rest or the end of the connection', async (t) => {
  const clock = fakeClock()
  const server = await simulated(t, { clock })
  const half = async (recovery?: 'drop') => {
    server.set({ kind: 'stall', next: 1, ms: 5000, ...(recovery && { recovery }) })
    const call = await wireCall(t, server, path, ask)
    await until(() => clock.pending === 1)
    await until(() => call.text.includes('\r\n\r\n{'))
    return call
  }
  const stalled = await half()
  const length = Number(/content-length: (\d+)/i.exec(stalled.text)?.[1])
  const bodyOf = (text: string) => text.slice(text.indexOf('\r\n\r\n') + 4)
  t.equal(bodyOf(stalled.text).length, Math.ceil(length / 2))
  clock.advance(5000)
  await until(() => bodyOf(stalled.text).length === length)
  t.match(JSON.parse(bodyOf(stalled.text)), { choices: [{ text: '1' }] })

  const dropped = await half('drop')
  clock.advance(5000)
  await until(() => dropped.isClosed)
  t.ok(bodyOf(dropped.text).length < length)
})

t.test('a restart', async (t) => {
  const clock = fakeClock()
  const server = await simulated(t, { clock, control: true, latencyMedianMs: 100 })
  const long = { prompt: 'x'.repeat(640) }
  const answered = async (): Promise<Replied> => {
    const call = post(server, path, long)
    await until(() => server.stats().running === 1)
    clock.advance(100)
    return call
  }
  const cachedTokens = async () => (await answered()).json.usage.prompt_tokens_details.cached_tokens
  await answered()
  t.equal(await cachedTokens(), 160, 'the prompt is cached before it')

  await t.test('cuts what is under way', async (t) => {
    const cut = await wireCall(t, server, path, long)
    await until(() => server.stats().running === 1)
    t.equal((await post(server, '/simulate/restart', { downMs: 60_000, loadingMs: 120_000 })).status, 200)
    await until(() => cut.isClosed)
    t.equal(cut.text, '')
    t.match(server, { state: 'down' })
    t.match(server.stats(), { running: 0, waiting: 0 })
  })

  await t.test('refuses connections while the server is down', async (t) => {
    t.ok(await isRefused(server))
    clock.advance(59_999)
    t.ok(await isRefused(server))
  })

  await t.test('answers 503 while the server loads', async (t) => {
    clock.advance(1)
    await until(() => server.state === 'loading')
    t.equal((await get(server, '/health')).status, 503)
    t.equal((await get(server, '/v1/models')).status, 503)
    t.equal((await post(server, path, long)).status, 503)
    t.same((await get(server, '/simulate/state')).json, { state: 'loading', diedOf: null })
  })

  await t.test('leaves a server without its cache', async (t) => {
    clock.advance(120_000)
    t.equal((await get(server, '/health')).status, 200)
    t.equal(await cachedTokens(), 0)
  })
})

t.test('a restart comes by its hour, wakes a sleeper, and can be told again while it goes on', async (t) => {
  const clock = fakeClock()
  const server = await simulated(t, { clock, restarts: [{ afterMs: 1000, downMs: 10 }] })
  await post(server, '/sleep', {})
  clock.advance(1000)
  t.ok(await isRefused(server))
  server.restart({ downMs: 500 })
  clock.advance(499)
  t.ok(await isRefused(server))
  clock.advance(1)
  await until(() => server.state === 'ready')
  t.equal((await post(server, path, ask)).status, 200)
  server.restart({ downMs: 500 })
  await server.close()
  t.equal(clock.pending, 0, 'no timer is left')
})

t.test('a control port goes on while the server is dead, and brings it back', async (t) => {
  const server = await simulated(t, { controlPort: 0 })
  const control = { ...server, url: server.controlUrl ?? '' }
  t.equal((await get(server, '/simulate/stats')).status, 404, 'control is not at the port of the model')
  await post(control, '/simulate/kill', {})
  await until(() => server.state === 'dead')
  t.ok(await isRefused(server))
  t.same((await get(control, '/simulate/state')).json, { state: 'dead', diedOf: 'killed' })
  await post(control, '/simulate/restart', {})
  await until(() => server.state === 'ready')
  t.same((await get(control, '/simulate/state')).json, { state: 'ready', diedOf: null })
  t.equal((await get(server, '/health')).status, 200)
})
