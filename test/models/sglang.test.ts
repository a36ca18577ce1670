import t from 'tap'
import { systemClock } from '../../src/clock.ts'
import type { AskError, AskRequest } from '../../src/models/models.ts'
import { openModels } from '../../src/models/open-models.ts'
import { startSimulatedServer } from '../../src/simulate/index.ts'
import { configOf, failureOf, judge, question } from '../support/models.ts'
import { hang } from '../support/scripted-server.ts'

// Not run against a real SGLang: the forms are those of its documentation and of its own tests.

t.test('plain prompts go to /generate in its own words', async (t) => {
  const { ask, server } = await judge(
    t,
    [
      () => ({
        text: 'Yes',
        meta_info: {
          finish_reason: { type: 'stop', matched: 2 },
          prompt_tokens: 5,
          completion_tokens: 1,
          output_token_logprobs: [[-0.1, 9454, 'Yes']],
          output_top_logprobs: [
            [
              [-0.1, 9454, 'Yes'],
              [-2.4, 2753, 'No'],
            ],
          ],
        },
      }),
    ],
    { backend: 'sglang' },
  )
  const answered = await ask('q', {
    sampling: {
      temperature: 0.5,
      top_p: 0.9,
      seed: 3,
      max_tokens: 4,
      stop: ['\n'],
      logprobs: 2,
      thinking: true,
    },
    reply: { choice: ['Yes', 'No (a)'] },
  })
  t.match(answered, {
    answer: {
      text: 'Yes',
      finishReason: 'stop',
      logprobs: [{ token: 'Yes', logprob: -0.1, top: [{ token: 'Yes' }, { token: 'No', logprob: -2.4 }] }],
    },
    tokens: { prompt: 5, completion: 1 },
  })
  t.equal(server.seen[0]?.path, '/generate')
  t.strictSame(server.seen[0]?.body, {
    text: 'q',
    sampling_params: {
      temperature: 0.5,
      top_p: 0.9,
      stop: ['\n'],
      max_new_tokens: 4,
      sampling_seed: 3,
      regex: '(Yes|No \\(a\\))',
    },
    return_logprob: true,
    top_logprobs_num: 2,
    return_text_in_logprobs: true,
  })
  await ask('r', { reply: { schema: { type: 'object' } } })
  t.match(server.seen[1]?.body, {
    sampling_params: { json_schema: '{"type":"object"}', max_new_tokens: 1024 },
  })
})

t.test('conversations go to its OpenAI form, with its own way of forcing a reply', async (t) => {
  const { ask, server } = await judge(
    t,
    [
      (seen) => ({
        model: seen.body.model,
        choices: [{ message: { content: '1' }, finish_reason: 'stop' }],
      }),
    ],
    { backend: 'sglang' },
  )
  const input = [{ role: 'user', content: 'q' }]
  t.equal((await ask(input, { reply: { regex: '[01]' } })).answer.text, '1')
  await ask(input, { reply: { schema: { type: 'object' } } })
  await ask(input, { reply: { choice: ['0'] } })
  t.match(server.seen[0]?.body, { regex: '[01]' })
  t.match(server.seen[1]?.body, { response_format: { type: 'json_schema' } })
  t.match(server.seen[2]?.body, { regex: '(0)' })
})

t.test('a reply of /generate or /classify that is not whole is never an answer', async (t) => {
  const { ask, server } = await judge(t, [hang], {
    backend: 'sglang',
    retry: { max: 0 },
    breaker: { failures: 99 },
  })
  const texts = [
    {},
    [],
    { text: 1, meta_info: {} },
    { text: 'a', meta_info: { finish_reason: null } },
    { text: 'a', meta_info: { finish_reason: { type: 'abort' } } },
    { text: 'a', meta_info: { finish_reason: { type: 'stop' }, output_token_logprobs: [[null, 1, 'a']] } },
    { text: 'a', meta_info: { finish_reason: { type: 'stop' }, output_token_logprobs: [3] } },
  ]
  for (const [at, body] of texts.entries()) {
    server.script = () => body
    t.match(await failureOf(ask(`q${at}`)), { kind: 'judge_unreachable' })
  }
  const scores = [
    {},
    [],
    [{}],
    [{ embedding: [] }],
    [{ embedding: [null] }],
    [{ embedding: [1] }, { embedding: [2] }],
  ]
  for (const [at, body] of scores.entries()) {
    server.script = () => body
    t.match(await failureOf(ask(`q${at}`, { ask: 'classify' })), { kind: 'judge_unreachable' })
  }
  server.script = () => [{ embedding: [1, 2] }]
  t.match(await failureOf(ask('two', { ask: 'classify' })), { kind: 'judge_rejected' })
  const chat = [{ role: 'user', content: 'q' }]
  t.match(await failureOf(ask(chat, { ask: 'classify' })), { kind: 'judge_rejected' })
})

t.test('the simulated server answers every ask', async (t) => {
  const [generate, pooling] = await Promise.all([
    startSimulatedServer({ runner: 'generate', model: 'm' }),
    startSimulatedServer({ runner: 'pooling', model: 'm' }),
  ])
  const models = openModels(
    {
      judge: configOf([generate.url], { backend: 'sglang', count_tokens: 'tokenize' }),
      scalar: configOf([pooling.url], { backend: 'sglang' }),
    },
    { clock: systemClock },
  )
  t.teardown(async () => {
    await models.close()
    await Promise.all([generate.close(), pooling.close()])
  })
  const ask = (request: Partial<AskRequest>) =>
    models.ask({ ...question(request.input, systemClock.now() + 60_000), ...request })
  t.match((await ask({ input: 'Is 2 even?' })).answer, { text: String, finishReason: 'stop' })
  t.match((await ask({ input: [{ role: 'user', content: 'Is 2 even?' }] })).answer, { text: String })
  t.type((await ask({ model: 'scalar', ask: 'classify', input: 'a' })).answer, 'number')
  const many = ['b', 'c', 'd'].map((input) => ask({ model: 'scalar', ask: 'classify', input }))
  t.equal((await Promise.all(many)).length, 3)
  t.strictSame(((await ask({ model: 'scalar', ask: 'rewards', input: 'e' })).answer as number[]).length, 1)
  t.equal(((await ask({ model: 'scalar', ask: 'embed', input: ['a', 'b'] })).answer as unknown[]).length, 2)
  const patience = { deadline: systemClock.now() + 60_000, signal: new AbortController().signal }
  t.ok((await models.countTokens('judge', [{ role: 'user', content: 'one two' }], patience)) >= 2)
  t.equal(
    await ask({ ask: 'choose', input: { question: 'Is it? Answer Yes or No.', labels: ['Yes', 'No'] } }).then(
      ({ answer }) => Object.keys(answer as object).join(),
      (error: AskError) => error.failure.kind,
    ),
    'Yes,No',
  )
})
