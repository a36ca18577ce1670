import t, { type Test } from 'tap'
import type { SglangFlags, SimulatedServer, SimulatedServerOptions } from '../../src/simulator/index.ts'
import { fakeClock } from '../support/clock.ts'
import { get, judgement, post, simulated, until } from '../support/simulated.ts'
import { isRefused, wireCall } from '../support/wire.ts'

const right = judgement('How many apples has Ann?', '#### 42')
const known = { answers: { 'apples has Ann': 42 } }
const release = '/release_memory_occupation'
const resume = '/resume_memory_occupation'

const sglang = (
  t: Parameters<typeof simulated>[0],
  flags: SglangFlags = {},
  more: SimulatedServerOptions = {},
) => simulated(t, { engine: 'sglang', sglang: flags, ...known, ...more })

/** The order cuts the connection, and from then on the port refuses. */
async function diesOf(
  t: Test,
  server: SimulatedServer,
  order: () => Promise<unknown>,
  reason: RegExp,
): Promise<void> {
  await t.rejects(order())
  t.match(server.stats().diedOf, reason)
  t.equal(server.state, 'dead')
  t.ok(await isRefused(server))
  server.restart()
  await until(() => server.state === 'ready')
  t.equal(server.stats().diedOf, null)
  t.match((await post(server, '/generate', { text: right })).json, { text: '1' }, 'a new process is whole')
}

t.test('SGLang: the arguments stand flat in /server_info', async (t) => {
  const usual = await sglang(t)
  const { json } = await get(usual, '/server_info')
  t.match(json, { enable_memory_saver: true, enable_weights_cpu_backup: false, version: /^0\.5/ })
  const told = await sglang(t, { enableMemorySaver: false, enableWeightsCpuBackup: true })
  t.match((await get(told, '/get_server_info')).json, {
    model_path: '/models/simulated-judge',
    enable_memory_saver: false,
    enable_weights_cpu_backup: true,
  })
})

t.test('SGLang: dies where it is resumed while awake', async (t) => {
  const server = await sglang(t)
  await diesOf(t, server, () => post(server, resume, {}), /KeyError: 'kv_cache'/)
})

t.test('SGLang: dies where it is released twice, paused or not', async (t) => {
  const server = await sglang(t)
  await post(server, release, {})
  await diesOf(t, server, () => post(server, release, {}), /not active/)
  await post(server, '/pause_generation', {})
  await post(server, release, {})
  await diesOf(t, server, () => post(server, release, {}), /not active/)
})

t.test('SGLang: dies of any question, and of /health, while asleep', async (t) => {
  const server = await sglang(t)
  for (const ask of [
    () => get(server, '/health'),
    () => get(server, '/health_generate'),
    () => post(server, '/generate', { text: 'x' }),
    () => post(server, '/v1/completions', { prompt: 'x', stream: true }),
    () => post(server, '/classify', { text: 'x' }),
  ]) {
    await post(server, release, { tags: ['kv_cache'] })
    await diesOf(t, server, ask, /illegal memory access/)
  }
})

t.test('SGLang: without health generation /health is harmless, a question is not', async (t) => {
  const server = await sglang(t, { healthGeneration: false })
  await post(server, release, {})
  t.equal((await get(server, '/health')).status, 200)
  await diesOf(t, server, () => post(server, '/generate', { text: 'x' }), /illegal memory/)
})

t.test('SGLang: dies where it is released while something runs, its client there or gone', async (t) => {
  const clock = fakeClock()
  const server = await sglang(t, {}, { clock, latencyMedianMs: 60_000 })
  const call = await wireCall(t, server, '/generate', { text: 'x' })
  await until(() => server.stats().running === 1)
  t.equal((await get(server, '/flush_cache')).status, 400)
  await t.rejects(post(server, release, {}))
  t.match(server.stats(), { diedOf: /only when server is idle/, running: 0 })
  await until(() => call.isClosed)

  server.restart()
  clock.advance(0)
  await until(() => server.state === 'ready')
  const left = await wireCall(t, server, '/generate', { text: 'x' })
  await until(() => server.stats().running === 1)
  clock.advance(1500)
  left.leave()
  await until(() => clock.pending === 2)
  clock.advance(2499)
  t.equal(server.stats().running, 1, 'it has not looked yet')
  clock.advance(1)
  await until(() => server.stats().running === 0)
  t.equal((await post(server, release, {})).status, 200, 'idle, it sleeps')
  await post(server, resume, {})

  const again = await wireCall(t, server, '/generate', { text: 'x' })
  await until(() => server.stats().running === 1)
  again.leave()
  await until(() => clock.pending === 2)
  await t.rejects(post(server, release, {}))
  t.match(server.stats().diedOf, /only when server is idle/)
})

t.test('SGLang: paused, it survives a release, questions and probes', async (t) => {
  const clock = fakeClock()
  const server = await sglang(t, { enableWeightsCpuBackup: true }, { clock, decodeMsPerToken: 10 })
  const long = post(server, '/generate', { text: right })
  await until(() => server.stats().running === 1)

  await t.test('a pause aborts what is generated', async (t) => {
    t.match((await post(server, '/pause_generation', {})).json, { status: 'ok' })
    t.match((await long).json, { text: '', meta_info: { finish_reason: { type: 'abort' } } })
  })

  await t.test('a paused server can be released', async (t) => {
    t.equal((await post(server, release, {})).text, 'null')
    t.equal(server.stats().isSleeping, true)
  })

  const health = get(server, '/health')
  const asked = post(server, '/generate', { text: right })
  await until(() => server.stats().inFlight === 2 && clock.pending === 1)

  await t.test('a question waits before the scheduler, and a probe ends after 20 s', async (t) => {
    t.match(server.stats(), { running: 0, waiting: 0 })
    clock.advance(20_000)
    t.equal((await health).status, 503)
  })

  await t.test('the question is answered once the server is resumed and continued', async (t) => {
    await post(server, resume, {})
    await post(server, '/continue_generation', {})
    await until(() => server.stats().running === 1)
    clock.advance(10)
    t.match((await asked).json, { text: '1' })
    t.match(server.stats(), { sleeps: 1, wakes: 1, isSleeping: false, diedOf: null })
  })
})

t.test('SGLang: continued before it is resumed, it dies of the questions that waited', async (t) => {
  const server = await sglang(t)
  await post(server, '/pause_generation', {})
  await post(server, release, {})
  const asked = post(server, '/generate', { text: 'x' })
  const fails = t.rejects(asked)
  await until(() => server.stats().inFlight === 1)
  await post(server, '/continue_generation', {}).catch(() => null)
  await fails
  t.equal(server.state, 'dead')
})

t.test('SGLang: without a copy the weights come back as zeros', async (t) => {
  const server = await sglang(t, {}, { prefixCacheBlocks: 64 })
  const choice = { text: right, sampling_params: { regex: '(1|0)' } }
  t.equal((await post(server, '/generate', choice)).json.text, '1')
  await post(server, release, {})
  await post(server, resume, {})
  t.equal(server.stats().weights, 'zero')

  await t.test('and every answer is the same', async (t) => {
    const short = { text: right, sampling_params: { max_new_tokens: 3 } }
    t.match((await post(server, '/generate', short)).json, {
      text: '!!!',
      meta_info: { completion_tokens: 3, finish_reason: { type: 'length' } },
    })
    t.equal((await post(server, '/generate', choice)).json.text, '0')
    t.same((await post(server, '/classify', { text: right })).json.embedding, [0])
  })

  await t.test('and all labels are equally likely', async (t) => {
    const chat = await post(server, '/v1/chat/completions', {
      messages: [{ role: 'user', content: right }],
      structured_outputs: { choice: ['1', '0'] },
      logprobs: true,
      top_logprobs: 2,
    })
    t.equal(chat.json.choices[0].message.content, '0')
    const { top_logprobs: top } = chat.json.choices[0].logprobs.content[0]
    t.equal(top[0].logprob, top[1].logprob)
  })

  await t.test('and /health sees nothing of it', async (t) => {
    t.equal((await get(server, '/health')).status, 200)
  })

  await t.test('until they are read again from their own path', async (t) => {
    t.match(await post(server, '/update_weights_from_disk', { model_path: 'other' }), {
      status: 400,
      json: { success: false },
    })
    const { model_path } = (await get(server, '/model_info')).json
    t.match((await post(server, '/update_weights_from_disk', { model_path })).json, { success: true })
    t.equal((await post(server, '/generate', choice)).json.text, '1')
  })
})

t.test('SGLang: the cache alone released, or a copy kept, loses nothing', async (t) => {
  const server = await sglang(t)
  await post(server, release, { tags: ['kv_cache'] })
  await post(server, resume, { tags: ['kv_cache'] })
  t.match((await post(server, '/generate', { text: right })).json, { text: '1' })
  const copied = await sglang(t, { enableWeightsCpuBackup: true })
  await post(copied, release, {})
  await post(copied, resume, {})
  t.match(copied.stats(), { weights: 'sound' })
  t.match((await post(copied, '/generate', { text: right })).json, { text: '1' })
})

t.test('SGLang: weights can be read anew between their memory and the cache’s', async (t) => {
  const server = await sglang(t)
  await post(server, '/pause_generation', {})
  await post(server, release, {})
  await post(server, resume, { tags: ['weights'] })
  await post(server, '/update_weights_from_disk', { model_path: '/models/simulated-judge' })
  await post(server, resume, { tags: ['kv_cache'] })
  await post(server, '/continue_generation', {})
  t.match((await post(server, '/generate', { text: right })).json, { text: '1' })
})

t.test('SGLang: without a memory saver a release frees nothing and harms nobody', async (t) => {
  const server = await sglang(t, { enableMemorySaver: false })
  await post(server, release, {})
  await post(server, release, {})
  t.match((await post(server, '/generate', { text: right })).json, { text: '1' })
  await post(server, resume, {})
  t.match(server.stats(), { weights: 'sound', diedOf: null })
})

t.test('SGLang: a hang leaves /health unanswered for 20 s where it writes a token', async (t) => {
  const clock = fakeClock()
  const server = await sglang(t, {}, { clock, faults: [{ kind: 'hang', recovery: 'answer' }] })
  const health = get(server, '/health')
  await until(() => clock.pending === 1)
  clock.advance(20_000)
  t.equal((await health).status, 503)
})

t.test('a server of both kinds dies of SGLang’s orders as well', async (t) => {
  const server = await simulated(t, known)
  t.equal((await get(server, '/health')).status, 200)
  await post(server, release, {})
  await diesOf(t, server, () => get(server, '/health'), /illegal memory/)
})

const vllmJudge = async (t: Test) => {
  const server = await simulated(t, { engine: 'vllm', ...known })
  const verdict = async (): Promise<string> => {
    const body = { messages: [{ role: 'user', content: right }], max_tokens: 8 }
    return (await post(server, '/v1/chat/completions', body)).json.choices[0].message.content
  }
  return { server, verdict }
}

t.test('vLLM: asleep at level 1 it keeps its weights', async (t) => {
  const { server, verdict } = await vllmJudge(t)
  t.equal(await verdict(), '1')
  await post(server, '/sleep?level=1', {})
  await post(server, '/wake_up', {})
  t.equal(await verdict(), '1')
})

t.test('vLLM: asleep at level 2 it loses its weights, and looks well', async (t) => {
  const { server, verdict } = await vllmJudge(t)
  await post(server, '/sleep?level=2', {})
  await post(server, '/wake_up', {})
  t.equal(server.stats().weights, 'garbage')
  t.not(await verdict(), '1')
  t.equal((await get(server, '/health')).status, 200)
})

t.test('vLLM: lost weights can be loaded again while it is awake', async (t) => {
  const { server, verdict } = await vllmJudge(t)
  await post(server, '/sleep?level=2', {})
  const reload = { method: 'reload_weights' }
  t.equal((await post(server, '/collective_rpc', reload)).status, 500, 'asleep it has no memory for them')
  await post(server, '/wake_up', {})
  t.equal((await post(server, '/collective_rpc', {})).status, 400)
  await post(server, '/collective_rpc', reload)
  t.equal(await verdict(), '1')
})
