import t from 'tap'
import { fakeClock } from '../support/clock.ts'
import { get, post, simulated } from '../support/simulated.ts'

const ask = { messages: [{ role: 'user', content: 'Question: 1 + 1?\nAnswer: 1 + 1 = 2' }] }

t.test('a sleeping server answers nobody until it is woken', async (t) => {
  const server = await simulated(t)
  t.same((await get(server, '/is_sleeping')).json, { is_sleeping: false })
  t.equal((await post(server, '/sleep?level=1', {})).status, 200)
  t.same((await get(server, '/is_sleeping')).json, { is_sleeping: true })
  const asked = post(server, '/v1/chat/completions', ask)
  await until(() => server.stats().waiting === 1)
  await post(server, '/wake_up?tags=weights', {})
  t.equal(server.stats().isSleeping, true, 'half awake is asleep')
  await post(server, '/wake_up?tags=kv_cache', {})
  t.equal((await asked).json.choices[0].message.content, '1')
  t.match(server.stats(), { isSleeping: false, sleeps: 1, wakes: 1 })
  await post(server, '/wake_up', {})
  t.equal(server.stats().wakes, 1, 'who is awake cannot wake')
  t.equal((await post(server, '/sleep?level=9', {})).status, 400)
})

t.test('falling asleep aborts what runs, or waits for it', async (t) => {
  const clock = fakeClock()
  const server = await simulated(t, { clock, latencyMedianMs: 100, latencySigma: 0, sleepMs: 50 })
  const cut = post(server, '/v1/chat/completions', ask)
  await until(() => server.stats().running === 1)
  const asleep = post(server, '/sleep', {})
  t.match((await cut).json.choices[0], { finish_reason: 'abort', message: { content: '' } })
  await until(() => clock.pending === 1)
  clock.advance(50)
  await asleep
  t.match((await get(server, '/metrics')).text, /finished_reason="abort"\} 1/)

  const awake = post(server, '/wake_up', {})
  await until(() => clock.pending === 1)
  clock.advance(50)
  await awake
  const kept = post(server, '/v1/chat/completions', ask)
  await until(() => server.stats().running === 1)
  const later = post(server, '/sleep?mode=wait', {})
  await until(() => server.stats().isSleeping)
  clock.advance(100)
  t.equal((await kept).json.choices[0].finish_reason, 'stop')
  await until(() => clock.pending === 1)
  clock.advance(50)
  t.equal((await later).status, 200)
})

t.test('requests are aborted by id, the client still gets a reply', async (t) => {
  const clock = fakeClock()
  const server = await simulated(t, { clock, latencyMedianMs: 100, latencySigma: 0 })
  const first = post(server, '/v1/chat/completions', { ...ask, request_id: 'one' })
  const second = post(server, '/classify', { input: 'x', rid: 'two' })
  const third = post(server, '/v1/completions', { prompt: 'x', stream: true })
  await until(() => server.stats().running === 3)
  t.equal((await post(server, '/abort_requests', {})).status, 400)
  await post(server, '/abort_requests', { request_ids: ['one', 'nobody'] })
  t.equal((await first).json.choices[0].finish_reason, 'abort')
  await post(server, '/abort_request', { rid: 'two' })
  t.equal((await second).status, 500)
  await post(server, '/abort_request', { abort_all: true })
  t.match((await third).text, /"finish_reason":"abort"/)
  t.match(server.stats(), { running: 0, sequences: { finished: 0, aborted: 3 } })
})

t.test('the prefix cache is forgotten on reset and in sleep', async (t) => {
  const server = await simulated(t)
  const body = { prompt: 'x'.repeat(640) }
  const hits = async () => {
    const before = server.stats().prefixCache.hits
    await post(server, '/v1/completions', body)
    return server.stats().prefixCache.hits - before
  }
  t.equal(await hits(), 0)
  t.equal(await hits(), 160)
  await post(server, '/reset_prefix_cache', {})
  t.equal(await hits(), 0)
  await post(server, '/sleep', {})
  await post(server, '/wake_up', {})
  t.equal(await hits(), 0)
})

async function until(isTrue: () => boolean): Promise<void> {
  while (!isTrue()) await new Promise((resolve) => setImmediate(resolve))
}
