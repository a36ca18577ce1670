import t from 'tap'
import { testApp } from '../../support/app.ts'

const echo = (name: string, rest: object = {}) => ({ name, function: 'echo-rule', ...rest })
const rewards = {
  one: { steps: [echo('rule')] },
  sum: { steps: [echo('rule'), echo('more', { options: { plus: 1 }, weight: 0.5 })] },
  product: { steps: [echo('rule'), echo('more', { options: { plus: 1 }, op: 'mul' })] },
  exact: {
    steps: [
      { name: 'exact', function: 'exact-match', data_source: ['text', 'other'] },
      { name: 'number', function: 'numeric-match', data_source: '!text' },
    ],
  },
  group: { steps: [{ name: 'rank', function: 'rank-rule' }] },
  lenient: { steps: [echo('rule')], on_invalid: -1 },
}
const app = await testApp(t, {
  ...rewards,
  gateway: {
    functions: { threads: 1 },
    trainers: { azure: { on_invalid: 'fail' }, axolotl: { on_invalid: 0.25 } },
  },
})

const post = async (url: string, payload: object | string) => {
  const text = typeof payload === 'string' ? payload : JSON.stringify(payload)
  const headers = { 'content-type': 'application/json' }
  const response = await app.inject({ method: 'POST', url: `/wire/${url}`, headers, payload: text })
  t.match(response.headers['content-type'], /^application\/json/, url)
  // As Python's json reads it: OpenRLHF's logs contain NaN instead of missing numbers.
  if (!url.startsWith('openrlhf')) t.notMatch(response.body, /NaN/)
  t.notMatch(response.body, /Infinity/)
  const strict = response.body.replaceAll(/(?<=[[,])NaN(?=[\],])/g, '"NaN"')
  return { status: response.statusCode, body: JSON.parse(strict) }
}

const chat = (prompt: string, response: string) =>
  `<|im_start|>user\n${prompt}<|im_end|>\n<|im_start|>assistant\n${response}`
const refused = { status: 502, body: { error: { code: 'RG_SAMPLES_FAILED', message: /on_invalid/ } } }

t.test('OpenRLHF: lists of rewards and of logs with constant keys', async (t) => {
  const good = await post('openrlhf/one', {
    query: [chat('2 - 1?', '1<|im_end|>')],
    prompts: [chat('2 - 1?', '')],
    labels: [''],
  })
  t.strictSame(good, {
    status: 200,
    body: { rewards: [1], extra_logs: { rule: [1], rule_scored: [1], invalid: [0] } },
  })
  const old = await post('openrlhf/one/get_reward', { query: [chat('a', '1'), chat('b', '0<|im_end|>')] })
  t.strictSame(old.body.rewards, [1, 0])
  const labels = ['4', '{"ground_truth": "b", "data_source": "text"}', '{"data_source":"text"}']
  const query = [chat('2 + 2?', '4'), chat('Letter?', 'b'), chat('Letter?', 'b')]
  t.match(await post('openrlhf/exact', { query: query.slice(0, 2), labels: labels.slice(0, 2) }), {
    body: { rewards: [1, 1], extra_logs: { exact_scored: [0, 1], number_scored: [1, 0] } },
  })
  t.match(await post('openrlhf/exact', { query, labels }), {
    ...refused,
    body: { error: { problems: [{ path: 'samples.2', message: /^bad_sample/ }] } },
  })
})

t.test('a format that cannot express invalid (M38)', async (t) => {
  const query = [chat('a', 'throw')]
  const sent = { prompt: 'a', response: 'throw', label: null }

  t.test('gets an error where no number is configured', async (t) => {
    for (const [url, body] of [
      ['openrlhf/one', { query }],
      ['slime/one', sent],
      ['llama-factory/one', { model: 'm', messages: [chat('a', '1'), chat('a', 'throw')] }],
      ['open-instruct/one', { program: 'throw', tests: [] }],
      ['azure/lenient', { sample: { output_text: 'throw' }, item: {}, trace_id: 't' }],
      ['eval-protocol/one', { messages: [{ role: 'assistant', content: 'throw' }] }],
    ] as const)
      t.match(await post(url, body), refused, url)
  })

  t.test('gets the configured number and a flag', async (t) => {
    t.strictSame((await post('openrlhf/lenient', { query })).body, {
      rewards: [-1],
      extra_logs: { rule: ['NaN'], rule_scored: [0], invalid: [1] },
    })
    t.equal((await post('slime/lenient', sent)).body, -1)
    t.strictSame((await post('slime/lenient?shape=dict', sent)).body, {
      rule: null,
      rule_scored: 0,
      invalid: 1,
      score: -1,
    })
  })
})

t.test('slime: the body is the reward, or an object for --reward-key', async (t) => {
  const sent = { prompt: [{ role: 'user', content: '2 - 1?' }], response: '1', label: '1' }
  t.strictSame(await post('slime/one', sent), { status: 200, body: 1 })
  t.strictSame((await post('slime/one?reward_key=acc&run=r1', sent)).body, {
    rule: 1,
    rule_scored: 1,
    invalid: 0,
    acc: 1,
  })
  t.equal((await post('slime/exact', { ...sent, label: { ground_truth: '1', data_source: 'text' } })).body, 1)
  t.match(await post('slime/one?shpae=dict', sent), { status: 400, body: { error: { message: /shpae/ } } })
})

t.test('LLaMA-Factory: a mini batch of decoded texts', async (t) => {
  const messages = [chat('a', '1<|im_end|>'), chat('b', '0<|im_end|><|endoftext|><|endoftext|>')]
  for (const path of ['', '/v1/score/evaluation'])
    t.match(await post(`llama-factory/one${path}`, { model: 'model', messages }), {
      status: 200,
      body: { scores: [1, 0] },
    })
  t.match(await post('llama-factory/lenient', { model: 'm', messages: ['no template'] }), {
    body: { scores: [-1] },
  })
  t.match(await post('llama-factory/one?template=none', { messages: ['1'] }), { body: { scores: [1] } })
})

const verify = (response: string, row: object = {}) => ({
  ...row,
  responses_create_params: { input: [{ role: 'user', content: 'Say a number.' }] },
  response: {
    id: 'resp',
    output: [
      { type: 'reasoning', summary: [] },
      { type: 'message', role: 'assistant', content: [{ type: 'output_text', text: response }] },
    ],
  },
})

t.test('NeMo Gym: a session is seeded with an empty reply', async (t) => {
  t.strictSame((await post('nemo-gym/sum/seed_session', { anything: 1 })).body, {})
})

t.test('NeMo Gym: the request comes back with a reward that its components add up to', async (t) => {
  const sent = verify('0.3', { question: 'q', rule: 'kept' })
  const summed = (await post('nemo-gym/sum/verify', sent)).body
  t.match(summed, { ...sent, mask_sample: false, failure_kind: null, failure_reason: null, more: 1.3 })
  t.strictSame(summed.reward_components, { rule: 0.3, more: 0.65 })
  t.equal(summed.reward, 0.95)
  const product = (await post('nemo-gym/product/verify', sent)).body
  t.strictSame(product.reward_components, { reward: product.reward })
})

t.test('NeMo Gym: a row without a reward is masked, with the reason', async (t) => {
  const masked = (await post('nemo-gym/sum/verify', verify('throw', { instance_config: { a: 1 } }))).body
  t.match(masked, {
    reward: 0,
    reward_components: { rule: 0, more: 0 },
    mask_sample: true,
    instance_config: { a: 1, mask_sample: true },
    failure_kind: 'verifier_error',
    failure_reason: /^rule_error: /,
    _ng_failure_class: 'verifier_error',
  })
})

t.test('NeMo Gym, Axolotl: the ground truth and data source of a row are found', async (t) => {
  const row = { expected_answer: 'b', data_source: 'text', verifier_metadata: { level: 3 } }
  t.equal((await post('nemo-gym/exact/verify', verify('b', row))).body.reward, 1)
  t.equal((await post('axolotl/exact/verify', verify('b', row))).body.reward, 1)
})

t.test('Axolotl: a row without a reward gets the configured number', async (t) => {
  t.equal((await post('axolotl/one/verify', verify('throw'))).body.reward, 0.25)
})

t.test('Open-Instruct, Azure and eval-protocol get replies in their formats', async (t) => {
  for (const path of ['', '/test_program', '/test_program_stdio']) {
    const sent = { program: '1', tests: ['assert x'], max_execution_time: 1.0 }
    t.strictSame((await post(`open-instruct/one${path}`, sent)).body, { results: [1], runtimes: [0] })
  }
  const item = {
    messages: [{ role: 'user', content: 'Letter?' }],
    reference_answer: 'b',
    data_source: 'text',
  }
  for (const sample of [
    { output_text: 'b' },
    { choices: [{ message: { role: 'assistant', content: 'b' } }] },
  ])
    t.strictSame((await post('azure/exact', { sample, item, trace_id: 'trace_1' })).body, { score: 1 })
  const messages = [
    { role: 'user', content: 'Letter?' },
    { role: 'assistant', content: 'b' },
  ]
  const body = { messages, ground_truth: 'b', data_source: 'text' }
  t.match((await post('eval-protocol/exact', body)).body, {
    score: 1,
    is_score_valid: true,
    metrics: { exact: { score: 1, is_score_valid: true }, number: { is_score_valid: false, reason: 'off' } },
  })
  const kwargs = { data_source: 'text' }
  t.equal((await post('eval-protocol/exact/evaluate', { messages, ground_truth: 'b', kwargs })).body.score, 1)
  const invalid = { messages: [{ role: 'assistant', content: 'throw' }] }
  t.match((await post('eval-protocol/one/evaluate', invalid)).body, {
    score: 0,
    is_score_valid: false,
    error: /^rule_error/,
  })
})

t.test('hostile and malformed bodies are refused with a place and a reason', async (t) => {
  const cases: [string, object | string, number, RegExp][] = [
    ['openrlhf/one', { query: 'text' }, 400, /query/],
    ['openrlhf/one', { query: [chat('a', '1')], labels: ['1', '2'] }, 400, /labels: has 2 entries/],
    ['openrlhf/one', { query: [] }, 400, /query/],
    ['openrlhf/onne', { query: ['1'] }, 404, /did you mean 'one'/],
    ['openrlhf/group', { query: [chat('a', '1')] }, 400, /whole groups/],
    ['slime/one', '{"response": ', 400, /not valid JSON/],
    ['slime/one', '[1]', 400, /body/],
    ['nemo-gym/one/verify', { response: {} }, 400, /output/],
    ['azure/one', { sample: {}, item: {} }, 400, /output_text/],
    ['eval-protocol/one', { messages: [{ role: 'user', content: '1' }] }, 400, /assistant/],
    ['llama-factory/one', { messages: ['1'.repeat(10), 'x'] }, 502, /no reward/],
    [
      'slime/one',
      { response: '1', label: `${'['.repeat(5000)}${']'.repeat(5000)}`.replace(/^/, '') },
      200,
      /^/,
    ],
  ]
  for (const [url, payload, status, message] of cases) {
    const response = await post(url, payload)
    t.equal(response.status, status, `${url} ${JSON.stringify(payload).slice(0, 60)}`)
    if (status !== 200) t.match(response.body, { error: { message, request_id: String } })
  }
  const deep = `{"response":"1","label":${'['.repeat(5000)}${']'.repeat(5000)}}`
  t.match(await post('slime/one', deep), {
    ...refused,
    body: { error: { problems: [{ message: /nested/ }] } },
  })
  const proto = '{"response":"1","label":{"ground_truth":1,"__proto__":{"x":1},"constructor":1}}'
  t.match(await post('slime/one', proto), refused)
  t.equal(({} as { x?: number }).x, undefined)
})

t.test("Python's NaN is not a ground truth, and an integer that would be rounded is refused", async (t) => {
  t.equal((await post('slime/one', '{"prompt":"a","response":"1","label":NaN}')).body, 1)
  t.match(await post('slime/one', '{"prompt":"a","response":"1","label":12345678901234567890}'), {
    body: { error: { problems: [{ message: /label: an integer beyond 2\^53/ }] } },
  })
  t.match(
    await post(
      'nemo-gym/one/verify',
      JSON.stringify(verify('1', { loss: 0 })).replace('"loss":0', '"loss":NaN'),
    ),
    {
      body: { reward: 1, loss: null },
    },
  )
})

t.test('a label that is an object holds the ground truth and more, or is the ground truth', async (t) => {
  const score = async (label: unknown) =>
    (await post('slime/exact', { prompt: 'a', response: 'b', label })).body
  t.equal(await score({ ground_truth: 'b', data_source: 'text', rm_prompt: 'p', extra_info: { a: [1] } }), 1)
  t.match(await score({ ground_truth: 'b', data_sorce: 'text' }), {
    error: { problems: [{ message: /no 'data_sorce'.*did you mean 'data_source'/ }] },
  })
  const long = '{"ground_truth": 12345678901234567890, "data_source": "text"}'
  t.match(await score(long), { error: { problems: [{ message: /label.ground_truth: an integer beyond/ }] } })
  t.match(await score({ answer: 'b' }), { error: { problems: [{ message: /bad_sample/ }] } })
  t.match(await score('{"ground_truth": "b", "data_source": 7}'), {
    error: { problems: [{ message: /data_source/ }] },
  })
})

t.test('an identical retry gets the same reply and is not scored again', async (t) => {
  const counted = async () => {
    const { body } = await app.inject('/metrics')
    const lines = body
      .split('\n')
      .filter((line) => line.startsWith('reward_gateway_samples_total{reward="sum"'))
    return lines.reduce((sum, line) => sum + Number(line.split(' ')[1]), 0)
  }
  const before = await counted()
  const sent = { prompt: 'a', response: '0.5', label: 'retried' }
  const answers = await Promise.all(Array.from({ length: 10 }, () => post('slime/sum', sent)))
  for (const answer of answers) t.equal(answer.body, 1.25)
  t.equal((await post('slime/sum', sent)).body, 1.25)
  t.equal(await counted(), before + 1)
  await post('slime/sum', { ...sent, label: 'another' })
  t.equal(await counted(), before + 2)
})
