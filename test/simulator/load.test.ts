import t from 'tap'
import type { SimulatedServer } from '../../src/simulator/index.ts'
import { fakeClock } from '../support/clock.ts'
import { get, post, simulated, until } from '../support/simulated.ts'

const path = '/v1/completions'

/** A gauge or counter as it stands in /metrics. */
async function metric(server: SimulatedServer, name: string): Promise<number> {
  const { text } = await get(server, '/metrics')
  const [, value] = new RegExp(`^${name}\\{[^}]*\\} (\\S+)$`, 'm').exec(text) ?? []
  return Number(value)
}

t.test('a sequence takes the time of the tokens that it reads and writes', async (t) => {
  const said = 'abcd'.repeat(50)
  const server = await simulated(t, {
    policy: 'constant',
    constant: said,
    prefillTokensPerS: 1e6,
    decodeMsPerToken: 0.1,
  })
  await post(server, path, { prompt: 'x' })
  t.ok(Math.abs(server.stats().busyMs - 5) < 1e-6, String(server.stats().busyMs))
  await post(server, path, { prompt: 'x', max_tokens: 10 })
  t.ok(Math.abs(server.stats().busyMs - 6) < 1e-6, String(server.stats().busyMs))
})

t.test('prompts are read one after another, beside what is being written', async (t) => {
  const clock = fakeClock()
  const server = await simulated(t, {
    clock,
    policy: 'constant',
    constant: 'abcd',
    prefillTokensPerS: 100,
    decodeMsPerToken: 500,
    prefixCacheBlocks: 0,
  })
  const ended: number[] = []
  const asked = [1, 2, 3].map((index) =>
    post(server, path, { prompt: `${index}`.repeat(400) }).then(() => ended.push(clock.now())),
  )
  await until(() => server.stats().running === 3)
  while (ended.length < 3) {
    clock.advance(100)
    for (let turn = 0; turn < 50; turn++) await new Promise((resolve) => setImmediate(resolve))
  }
  await Promise.all(asked)
  t.same(ended, [1500, 2500, 3500], 'a second for each prompt, in turn, and half of one to write')
})

t.test('the running batch has a limit, the metrics tell the line behind it', async (t) => {
  const clock = fakeClock()
  const server = await simulated(t, {
    clock,
    policy: 'constant',
    constant: 'abcd'.repeat(16),
    decodeMsPerToken: 10,
    maxNumSeqs: 2,
    prefixCacheBlocks: 64,
  })
  const asked = [1, 2, 3].map((index) => post(server, path, { prompt: `${index}`.repeat(64) }))
  await until(() => server.stats().waiting === 1)
  t.equal(await metric(server, 'vllm:num_requests_running'), 2)
  t.equal(await metric(server, 'vllm:num_requests_waiting'), 1)
  t.equal(await metric(server, 'vllm:kv_cache_usage_perc'), 64 / 1024, '32 tokens each of 64 * 16')
  t.equal(await metric(server, 'sglang:token_usage'), 64 / 1024)
  clock.advance(160)
  await Promise.all(asked.slice(0, 2))
  await until(() => server.stats().running === 1)
  t.equal(await metric(server, 'sglang:num_running_reqs'), 1)
  clock.advance(160)
  await Promise.all(asked)
  t.equal(await metric(server, 'vllm:num_requests_running'), 0)
  t.equal(await metric(server, 'vllm:kv_cache_usage_perc'), 0)
})

t.test('SGLang: gauges are those of the last batch, and stay when it is idle', async (t) => {
  const clock = fakeClock()
  const server = await simulated(t, { engine: 'sglang', clock, latencyMedianMs: 100, maxNumSeqs: 2 })
  const asked = [1, 2, 3].map((index) => post(server, path, { prompt: `${index}` }))
  await until(() => server.stats().waiting === 1)
  clock.advance(50)
  const later = post(server, path, { prompt: '4' })
  await until(() => server.stats().waiting === 2)
  clock.advance(50)
  await until(() => server.stats().waiting === 0)
  t.equal(await metric(server, 'sglang:num_running_reqs'), 2)
  clock.advance(100)
  await Promise.all([...asked, later])
  t.match(server.stats(), { running: 0 })
  t.equal(await metric(server, 'sglang:num_running_reqs'), 1, 'the last batch had one')
  t.equal(await metric(server, 'sglang:num_queue_reqs'), 0)
  t.equal(await metric(server, 'sglang:generation_tokens_total'), 16, 'a token each 25 ms')
})

t.test('a server of one engine has its endpoints and metrics alone', async (t) => {
  const vllm = await simulated(t, { engine: 'vllm' })
  const sglang = await simulated(t, { engine: 'sglang' })
  t.notMatch((await get(vllm, '/metrics')).text, 'sglang:')
  t.notMatch((await get(sglang, '/metrics')).text, 'vllm:')
  t.equal((await post(vllm, '/generate', { text: 'x' })).status, 404)
  t.equal((await get(vllm, '/server_info')).status, 404)
  t.equal((await post(sglang, '/sleep', {})).status, 404)
  for (const server of [vllm, sglang]) {
    t.equal((await post(server, '/v1/completions', { prompt: 'x' })).status, 200)
    t.equal((await get(server, '/health')).status, 200)
  }
})
