import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { createApp } from '../../../src/serving/http/app.ts'
import { openMetrics } from '../../../src/serving/telemetry/metrics/metrics.ts'
import { testApp } from '../../support/app.ts'
import { testGateway } from '../../support/gateway.ts'

const exact = {
  steps: [
    { name: 'exact', function: 'exact-match', data_source: '!other' },
    { name: 'other', function: 'numeric-match', data_source: 'other' },
  ],
}
const rewards = { exact, free: { steps: [{ name: 'rule', function: 'echo-rule' }] } }

const plain = await testApp(t, rewards)

const folder = t.testdir({
  'truths.jsonl': [
    { prompt: 'Letter?', ground_truth: 'b', extra_info: { level: 1 } },
    { prompt: 'Number?', ground_truth: '7', data_source: 'none', extra_info: { level: 2 } },
  ]
    .map((line) => JSON.stringify(line))
    .join('\n'),
})
const wires = ['eval-protocol', 'openrlhf', 'slime'].map((name) => [
  name,
  { ground_truth_file: 'truths.jsonl' },
])
writeFileSync(join(folder, 'gateway.json'), JSON.stringify({ trainers: Object.fromEntries(wires) }))
const gateway = await testGateway(t, rewards, { configs: [join(folder, 'gateway.json')] })
const metrics = openMetrics({ version: 'test', inFlight: () => gateway.inFlight })
const knowing = await createApp({ gateway, metrics, bodyLimit: 1 << 20 })
t.teardown(async () => {
  await knowing.close()
  metrics.close()
})

async function post(app: typeof plain, url: string, payload: string | object) {
  const headers = { 'content-type': 'application/json' }
  const answer = await app.inject({ method: 'POST', url: `/wire/${url}`, headers, payload })
  return { status: answer.statusCode, body: answer.json() }
}

const noTruth = {
  status: 502,
  body: { error: { problems: [{ message: /^bad_sample: .*ground_truth: the row has none/ }] } },
}
const unknown = {
  body: { error: { problems: [{ message: /^bad_sample: the prompt is not in the ground truth file/ }] } },
}

// The bodies that eval_protocol.RewardFunction(mode="remote") of 0.3.33 posts, as they arrived: it was called with the
// messages alone, with a conversation that begins with the answer, and with a truth and a keyword.
const filled =
  '{"messages": [{"role": "user", "content": "Letter?"}, {"role": "assistant", "content": "b"}], "ground_truth": [{"role": "user", "content": "Letter?"}]}'
const filledEmpty = '{"messages": [{"role": "assistant", "content": "b"}], "ground_truth": []}'
const given =
  '{"messages": [{"role": "user", "content": "Letter?"}, {"role": "assistant", "content": "b"}], "ground_truth": "b", "trace": "t"}'

t.test('eval-protocol: the messages that its client fills in are no ground truth (M48)', async (t) => {
  t.match(await post(plain, 'eval-protocol/exact', filled), noTruth)
  t.match(await post(plain, 'eval-protocol/exact', filledEmpty), noTruth)
  t.match(await post(plain, 'eval-protocol/exact', given), { status: 200, body: { score: 1 } })
  for (const path of ['', '/reward', '/evaluate'])
    t.match(await post(knowing, `eval-protocol/exact${path}`, filled), {
      status: 200,
      body: { score: 1, is_score_valid: true },
    })
  t.match(await post(knowing, 'eval-protocol/exact', filled.replaceAll('Letter', 'Lettre')), unknown)
  t.match(await post(knowing, 'eval-protocol/exact', filledEmpty), unknown)
  const wrong = given.replace('"ground_truth": "b"', '"ground_truth": "c"')
  t.match(await post(knowing, 'eval-protocol/exact', wrong), { body: { score: 0 } })
})

t.test('eval-protocol: only what equals the messages before the last one is filled in (M48)', async (t) => {
  const messages = [
    { role: 'system', content: 's' },
    { role: 'user', content: [{ type: 'text', text: 'Letter?' }], name: 'u' },
    { role: 'assistant', content: 'b' },
  ]
  const send = (ground_truth: unknown, more: object = {}) =>
    post(knowing, 'eval-protocol/exact', { messages, ground_truth, ...more })
  t.match(await send(messages.slice(0, 2)), { body: { score: 1 } })
  t.match(await send(null), { body: { score: 1 } })
  t.match(await send(messages), { status: 502 })
  t.match(await send(messages.slice(1, 2)), { status: 502 })
  t.match(await send([...messages.slice(0, 1), { role: 'user', content: 'Number?' }]), { status: 502 })
  t.match(await send(messages.slice(0, 2), { kwargs: { answer: 'c' } }), { body: { score: 0 } })
})

t.test('ground truths are looked up if other fields arrive without one (M48)', async (t) => {
  const more = filled.replace(/}$/, ', "trace": "t", "kwargs": {"level": 3}}')
  t.match(await post(knowing, 'eval-protocol/exact', more), { body: { score: 1 } })
  const query = ['<|im_start|>user\nNumber?<|im_end|>\n<|im_start|>assistant\n7.0']
  for (const label of [
    '{"data_source": "other"}',
    { data_source: 'other' },
    { data_source: 'other', ground_truth: null },
  ]) {
    t.match((await post(knowing, 'openrlhf/exact', { query, labels: [label] })).body.rewards, [1])
    t.match(await post(knowing, 'slime/exact', { prompt: 'Number?', response: '7.0', label }), { body: 1 })
    t.match(await post(knowing, 'slime/exact', { prompt: 'What?', response: '7.0', label }), unknown)
  }
  t.match(await post(knowing, 'slime/exact', { prompt: 'Number?', response: '7.0', label: '' }), { body: 0 })
  t.match(await post(plain, 'slime/exact', { prompt: 'Number?', response: '7.0', label: {} }), {
    status: 502,
  })
})
