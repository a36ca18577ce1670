import t, { type Test } from 'tap'
import { startSimulatedServer } from '../../../src/simulator/index.ts'
import type { SimulatedServerOptions } from '../../../src/simulator/options.ts'
import { openPolicy, type Policy, type PolicyOptions } from '../../../src/workbench/rollout/policy.ts'

const solver: SimulatedServerOptions = {
  model: 'actor',
  policy: 'solver',
  successRate: 1,
  answers: { '2 + 3': 5 },
}
const serve = async (t: Test, more: SimulatedServerOptions = {}) => {
  const server = await startSimulatedServer({ ...solver, ...more })
  t.teardown(() => server.close())
  return server
}
const open = async (t: Test, urls: readonly string[], more: Partial<PolicyOptions> = {}) => {
  const policy = await openPolicy({
    urls,
    model: null,
    backend: 'openai',
    concurrency: 4,
    timeoutS: 5,
    waitS: 1,
    env: {},
    ...more,
  })
  t.teardown(() => policy.close())
  return policy
}
const never = new AbortController().signal
const ask = (
  policy: Policy,
  prompt: Parameters<Policy['ask']>[0]['prompt'],
  key = '',
  signal = never,
  more = {},
) => policy.ask({ prompt, key, sampling: { temperature: 1, max_tokens: 64, seed: 7, ...more }, signal })

t.test('the model is the one that all servers list, and all of them answer', async (t) => {
  const [one, two] = await Promise.all([serve(t), serve(t)])
  const policy = await open(t, [one.url, `${two.url}/v1`, one.url])
  t.match(policy, { model: 'actor', limit: 8 })
  const answers = await Promise.all(Array.from({ length: 8 }, (_, i) => ask(policy, `2 + 3? ${i}`, `${i}`)))
  for (const answer of answers) t.match(answer, { text: /#### 5$/, finishReason: 'stop', tokens: Number })
  for (const { stats } of [one, two]) t.ok(stats().sequences.finished > 0)
  t.match(await ask(policy, [{ role: 'user', content: '2 + 3?' }], 'chat'), { text: /#### 5$/ })
})

t.test('a seed determines the answer, and a truncated answer is marked', async (t) => {
  const server = await serve(t, { successRate: 0.5 })
  const policy = await open(t, [server.url])
  const short = (key: string) => ask(policy, '2 + 3?', key, never, { max_tokens: 5 })
  const [first, again] = [await short('a'), await short('b')]
  t.strictSame(first, again)
  t.match(first, { finishReason: 'length', tokens: 5 })
})

t.test('every backend keeps the stop text of an answer on request', async (t) => {
  const server = await serve(t)
  const stopped = { stop: ['####'], max_tokens: 64, seed: 1 }
  for (const backend of ['openai', 'vllm', 'sglang'] as const) {
    const policy = await open(t, [server.url], { backend })
    for (const prompt of ['2 + 3?', [{ role: 'user', content: '2 + 3?' }]]) {
      const key = `${backend} ${typeof prompt}`
      t.notMatch(await ask(policy, prompt, key, never, stopped), { text: /####/ }, key)
      const kept = await ask(policy, prompt, `${key} kept`, never, {
        ...stopped,
        include_stop_str_in_output: true,
      })
      t.match(kept, { text: /####$/, finishReason: 'stop' }, key)
    }
  }
})

t.test('a failed request is a failure with its reason, never an answer', async (t) => {
  const broken = await serve(t, { faults: [{ kind: '500', rate: 1 }] })
  const policy = await open(t, [broken.url], { model: 'actor' })
  t.match(await ask(policy, '2 + 3?'), { kind: 'policy_failed', retryable: true, detail: /500/ })
  const small = await serve(t, { maxModelLen: 4 })
  const narrow = await open(t, [small.url])
  t.match(await ask(narrow, 'a prompt of many words '.repeat(20)), {
    kind: 'policy_failed',
    retryable: false,
    detail: /window/,
  })
  await t.rejects(ask(narrow, '2?', '', AbortSignal.abort(new Error('gone'))), { message: 'gone' })
})

t.test('an unknown model and wrong settings are refused immediately', async (t) => {
  const [one, other] = await Promise.all([serve(t), serve(t, { model: 'another' })])
  await t.rejects(open(t, [one.url, other.url]), { code: 'RG_MODEL_FAILED', message: /serves another/ })
  await t.rejects(open(t, ['http://127.0.0.1:9']), {
    code: 'RG_MODEL_FAILED',
    message: /127.0.0.1:9\/v1\/models/,
  })
  await t.rejects(open(t, ['ftp://x']), { code: 'RG_COMMAND_INVALID' })
  await t.rejects(open(t, [one.url], { concurrency: 0 }), {
    code: 'RG_COMMAND_INVALID',
    message: /max_in_flight/,
  })
  await t.rejects(open(t, [one.url], { apiKeyEnv: 'NO_KEY' }), { message: /NO_KEY is not set/ })
})
