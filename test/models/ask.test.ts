import t from 'tap'
import { failureOf, judge } from '../support/models.ts'
import { completion, hang, json, type Script, type Seen } from '../support/scripted-server.ts'

const says =
  (text: string, more: object = {}): Script =>
  (seen) =>
    completion(seen, text, more)

t.test('a conversation goes to the chat endpoint with the sampling of model and question', async (t) => {
  const { ask, server } = await judge(t, [says('Yes')], { sampling: { temperature: 0.7, max_tokens: 64 } })
  const answered = await ask([{ role: 'user', content: 'Is 2 even?' }], {
    sampling: { temperature: 0, seed: 5, stop: ['\n'], logprobs: 3, thinking: false },
    reply: { choice: ['Yes', 'No'] },
    draw: 2,
  })
  t.match(answered, {
    answer: { text: 'Yes', finishReason: 'stop' },
    source: 'call',
    attempts: 1,
    instance: server.url,
    tokens: { prompt: 7, completion: 2 },
  })
  const { path, body } = server.seen[0] as Seen
  t.equal(path, '/v1/chat/completions')
  t.strictSame(body, {
    model: 'm',
    messages: [{ role: 'user', content: 'Is 2 even?' }],
    temperature: 0,
    max_tokens: 64,
    seed: 7,
    stop: ['\n'],
    logprobs: true,
    top_logprobs: 3,
    chat_template_kwargs: { enable_thinking: false, thinking: false },
    structured_outputs: { choice: ['Yes', 'No'] },
  })
})

t.test('a plain prompt goes to the completions endpoint, with room for a verdict', async (t) => {
  const { ask, server } = await judge(t, [says('Yes')])
  t.equal((await ask('Is 2 even?', { reply: { schema: { type: 'object' } } })).answer.text, 'Yes')
  const { path, body } = server.seen[0] as Seen
  t.equal(path, '/v1/completions')
  t.strictSame(body, {
    model: 'm',
    prompt: 'Is 2 even?',
    max_tokens: 1024,
    structured_outputs: { json: { type: 'object' } },
  })
})

t.test('scalar scores and embeddings are read in the order of what was asked', async (t) => {
  const { ask, server } = await judge(t, [
    (seen) =>
      seen.path === '/classify'
        ? { model: 'm', data: [{ index: 0, label: 'x', probs: [-1.5], num_classes: 1 }], usage: {} }
        : {
            model: 'm',
            data: [
              { index: 1, embedding: [2] },
              { index: 0, embedding: [1, 0] },
            ],
          },
  ])
  t.equal((await ask('a', { ask: 'classify' })).answer, -1.5 as never)
  t.equal((await ask([{ role: 'user', content: 'a' }], { ask: 'classify' })).answer, -1.5 as never)
  t.strictSame((await ask(['a', 'b'] as never, { ask: 'embed' })).answer, [[1, 0], [2]] as never)
  t.strictSame(
    server.seen.map(({ path, body }) => [path, body]),
    [
      ['/classify', { model: 'm', input: ['a'], use_activation: false }],
      ['/classify', { model: 'm', messages: [{ role: 'user', content: 'a' }], use_activation: false }],
      ['/v1/embeddings', { model: 'm', input: ['a', 'b'] }],
    ],
  )
})

t.test('a text that was cut off says so', async (t) => {
  const { ask } = await judge(t, [says('Because', { finish_reason: 'length' })])
  t.strictSame((await ask('q')).answer, { text: 'Because', finishReason: 'length' })
})

t.test('a reply that is not what its server promises is never an answer', async (t) => {
  const good = { model: 'm', choices: [{ text: 'Yes', finish_reason: 'stop' }] }
  const bad: [string, unknown][] = [
    ['garbage', '<html>busy</html>'],
    ['half a body', JSON.stringify(good).slice(0, -9)],
    ['null', 'null'],
    ['an array', '[]'],
    ['an error with status 200', { error: { message: 'no' } }],
    ['an error object with status 200', { object: 'error', message: 'no', code: 400 }],
    ['an error beside an answer', { ...good, error: { message: 'no' } }],
    ['another model', { ...good, model: 'other' }],
    ['no model', { ...good, model: undefined }],
    ['no choice', { ...good, choices: [] }],
    ['two choices', { ...good, choices: [good.choices[0], good.choices[0]] }],
    ['a text that is a number', { ...good, choices: [{ text: 1, finish_reason: 'stop' }] }],
    ['no text', { ...good, choices: [{ finish_reason: 'stop' }] }],
    ['an end that is not told', { ...good, choices: [{ text: 'Yes', finish_reason: null }] }],
    ['a server that stops', { ...good, choices: [{ text: 'Ye', finish_reason: 'abort' }] }],
    ['a choice that is no object', { ...good, choices: ['Yes'] }],
    ['an empty body', ''],
    ['NaN', '{"model":"m","choices":[{"text":NaN,"finish_reason":"stop"}]}'],
  ]
  const { ask, server } = await judge(t, [hang], { retry: { max: 0 }, breaker: { failures: 1000 } })
  for (const [what, body] of bad) {
    server.script = (_seen, response) =>
      void response.end(typeof body === 'string' ? body : JSON.stringify(body))
    t.match(await failureOf(ask(what)), { kind: 'judge_unreachable', retryable: true }, what)
  }
})

t.test('a score that is not one finite number is never an answer', async (t) => {
  const { ask, server } = await judge(t, [hang], { retry: { max: 0 }, breaker: { failures: 1000 } })
  const entry = (probs: unknown) => ({ model: 'm', data: [{ index: 0, probs }] })
  const bad = [
    entry([]),
    entry('1'),
    entry([null]),
    '{"model":"m","data":[{"index":0,"probs":[1e999]}]}',
    { model: 'm', data: [] },
    { model: 'm', data: [{ index: 1, probs: [1] }] },
    { model: 'm', data: [{ index: 'a', probs: [1] }] },
    { model: 'm', data: [null] },
    { model: 'm', data: {} },
    { model: 'm' },
  ]
  for (const [at, body] of bad.entries()) {
    server.script = (_seen, response) =>
      void response.end(typeof body === 'string' ? body : JSON.stringify(body))
    t.match(await failureOf(ask(`q${at}`, { ask: 'classify' })), { kind: 'judge_unreachable' })
  }
})

t.test('what the server refuses is told apart by whose fault it is', async (t) => {
  const long = { error: { message: "This model's maximum context length is 2048 tokens.", code: 400 } }
  const cases = [
    [400, long, 'prompt_too_long', false, 1],
    [400, { error: { message: 'bad', param: 'input_tokens' } }, 'prompt_too_long', false, 1],
    [400, { error: { message: 'no such field' } }, 'judge_rejected', false, 1],
    [401, {}, 'judge_rejected', false, 1],
    [404, {}, 'judge_rejected', false, 3],
    [408, {}, 'judge_timeout', true, 3],
    [429, {}, 'overloaded', true, 3],
    [500, {}, 'judge_unreachable', true, 3],
    [302, {}, 'judge_unreachable', true, 3],
  ] as const
  const { ask, server } = await judge(t, [hang], { retry: { pause_ms: 1 }, breaker: { failures: 1000 } })
  for (const [status, body, kind, retryable, calls] of cases) {
    const before = server.seen.length
    server.script = (_seen, response) => json(response, body, status)
    const failure = await failureOf(ask(`${status} ${JSON.stringify(body)}`))
    t.match(failure, { kind, retryable }, `${status}`)
    t.equal(server.seen.length - before, calls, `${status}: calls made`)
    t.equal(failure.attempts?.length, calls)
    t.notMatch(failure.detail, 'maximum context', 'the words of the server stay out')
  }
})
