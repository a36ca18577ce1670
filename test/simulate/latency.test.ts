import t from 'tap'
import { Attempts } from '../../src/simulate/index.ts'
import { latencyMs } from '../../src/simulate/latency.ts'
import { fakeClock } from '../support/clock.ts'
import { post, simulated } from '../support/simulated.ts'

t.test('latency is log-normal, and a fact about seed, question and attempt', async (t) => {
  const latency = { medianMs: 300, sigma: 0.8, speed: 1, seed: 7 }
  const drawn = Array.from({ length: 4000 }, (_, question) => latencyMs(latency, question, 0)).sort(
    (a, b) => a - b,
  )
  t.ok(Math.abs((drawn[2000] ?? 0) / 300 - 1) < 0.08, `median ${drawn[2000]}`)
  const logs = drawn.map((ms) => Math.log(ms / 300))
  const sigma = Math.sqrt(logs.reduce((sum, value) => sum + value * value, 0) / logs.length)
  t.ok(Math.abs(sigma - 0.8) < 0.05, `sigma ${sigma}`)
  t.equal(latencyMs(latency, 5, 1), latencyMs(latency, 5, 1))
  t.not(latencyMs(latency, 5, 1), latencyMs(latency, 5, 0), 'another attempt is another draw')
  t.equal(latencyMs({ ...latency, speed: 0.2 }, 5, 0), latencyMs(latency, 5, 0) / 0.2)
  t.equal(latencyMs({ ...latency, sigma: 0 }, 5, 0), 300)
  t.equal(latencyMs({ ...latency, medianMs: 0 }, 5, 0), 0)
})

t.test('sequences beyond the capacity wait their turn', async (t) => {
  const clock = fakeClock()
  const server = await simulated(t, { clock, latencyMedianMs: 100, latencySigma: 0, maxNumSeqs: 2 })
  const asked = Array.from({ length: 3 }, (_, i) =>
    post(server, '/v1/completions', { prompt: `question ${i}` }),
  )
  await until(() => server.stats().waiting === 1)
  t.match(server.stats(), { running: 2, waiting: 1, inFlight: 3 })
  clock.advance(100)
  await Promise.all(asked.slice(0, 2))
  t.match(server.stats(), { running: 1, waiting: 0 })
  clock.advance(100)
  await Promise.all(asked)
  t.match(server.stats(), { running: 0, peakRunning: 2, busyMs: 300, sequences: { finished: 3 } })
  t.equal(clock.pending, 0)
})

t.test('a client that goes away frees its slot at once, running or waiting', async (t) => {
  const clock = fakeClock()
  const server = await simulated(t, { clock, latencyMedianMs: 100, latencySigma: 0, maxNumSeqs: 1 })
  const clients = [new AbortController(), new AbortController(), new AbortController()]
  const asked = clients.map(({ signal }, i) => post(server, '/v1/completions', { prompt: `${i}` }, signal))
  await until(() => server.stats().waiting === 2)
  for (const client of clients) client.abort()
  for (const call of asked) await t.rejects(call)
  await until(() => server.stats().inFlight === 0)
  t.match(server.stats(), { running: 0, waiting: 0, sequences: { finished: 0, aborted: 3 } })
  t.equal(clock.pending, 0, 'no timer is left')
})

t.test('a slow fault stretches the time of its request', async (t) => {
  const clock = fakeClock()
  const server = await simulated(t, {
    clock,
    latencyMedianMs: 100,
    latencySigma: 0,
    faults: [{ kind: 'slow', factor: 5, ms: 10 }],
  })
  const asked = post(server, '/v1/completions', { prompt: 'x' })
  await until(() => server.stats().running === 1)
  clock.advance(509)
  t.equal(server.stats().running, 1)
  clock.advance(1)
  await asked
  t.equal(server.stats().busyMs, 510)
})

t.test('prompt tokens that the prefix cache lacks cost time', async (t) => {
  const server = await simulated(t, { prefillMsPerToken: 0.01 })
  await post(server, '/v1/completions', { prompt: 'x'.repeat(6400) })
  const first = server.stats().busyMs
  t.ok(Math.abs(first - 16) < 1e-9)
  await post(server, '/v1/completions', { prompt: 'x'.repeat(6400) })
  t.equal(server.stats().busyMs, first, 'all of it was found')
})

t.test('a stream takes its time, and stops when the client goes', async (t) => {
  const clock = fakeClock()
  const server = await simulated(t, {
    clock,
    latencyMedianMs: 100,
    latencySigma: 0,
    policy: 'constant',
    constant: 'ab cdefg',
  })
  const client = new AbortController()
  const response = fetch(`${server.url}/v1/completions`, {
    method: 'POST',
    body: JSON.stringify({ prompt: 'x', stream: true }),
    signal: client.signal,
  })
  await until(() => server.stats().running === 1)
  clock.advance(30)
  const reader = (await response).body?.getReader()
  t.match(Buffer.from((await reader?.read())?.value ?? []).toString(), /"text":"ab c"/)
  client.abort()
  await until(() => server.stats().inFlight === 0)
  t.equal(clock.pending, 0)
})

t.test('attempts are counted across the servers of a fleet, within a bound', async (t) => {
  const attempts = new Attempts(2)
  t.same([attempts.next(1), attempts.next(1), attempts.next(2), attempts.next(3)], [0, 1, 0, 0])
  t.equal(attempts.next(1), 0, 'the oldest was forgotten')
})

async function until(isTrue: () => boolean): Promise<void> {
  while (!isTrue()) await new Promise((resolve) => setImmediate(resolve))
}
