import t from 'tap'
import { drained } from '../../../src/core/slices.ts'
import { closing, opening } from '../../../src/scoring/engine/guard/guarded-question.ts'
import {
  bodyOf,
  knownText,
  questionJson,
  quoted,
  RenderedMessage,
} from '../../../src/scoring/models/interface/question-json.ts'
import { failureOf, judge } from '../../support/models.ts'
import { completion, hang, json, type Script, type Seen } from '../../support/scripted-server.ts'
import { seeded } from '../../support/seeded.ts'
import { brokenReplies } from './broken-replies.ts'

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

t.test('a plain prompt goes to the completions endpoint, with enough tokens for a verdict', async (t) => {
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
              { index: 1, embedding: [2, 0] },
              { index: 0, embedding: [1, 0] },
            ],
          },
  ])
  t.equal((await ask('a', { ask: 'classify' })).answer, -1.5 as never)
  t.equal((await ask([{ role: 'user', content: 'a' }], { ask: 'classify' })).answer, -1.5 as never)
  t.strictSame((await ask(['a', 'b'] as never, { ask: 'embed' })).answer, [
    [1, 0],
    [2, 0],
  ] as never)
  t.strictSame(
    server.seen.map(({ path, body }) => [path, body]),
    [
      ['/classify', { model: 'm', input: 'a', use_activation: false }],
      ['/classify', { model: 'm', messages: [{ role: 'user', content: 'a' }], use_activation: false }],
      ['/v1/embeddings', { model: 'm', input: ['a', 'b'] }],
    ],
  )
})

t.test('a truncated text is marked as truncated', async (t) => {
  const { ask } = await judge(t, [says('Because', { finish_reason: 'length' })])
  t.strictSame((await ask('q')).answer, { text: 'Because', finishReason: 'length' })
})

t.test('refusals are classified by whose fault they are', async (t) => {
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

// Not run against a real SGLang: the forms are those of its documentation and of its own tests.
t.test('SGLang gets plain prompts at /generate with its own parameters', async (t) => {
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

t.test(
  'SGLang gets conversations at its OpenAI endpoint, with its own constraints on the reply',
  async (t) => {
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
    server.script = () => [{ embedding: [1, 2] }]
    t.match(await failureOf(ask('two', { ask: 'classify' })), { kind: 'judge_rejected' })
    t.match(await failureOf(ask(input, { ask: 'classify' })), { kind: 'judge_rejected' })
  },
)

t.test("a reply that breaks the server's API is never an answer", async (t) => {
  for (const { backend, ask: kind, isChat, bodies } of brokenReplies) {
    const { ask, server } = await judge(t, [hang], {
      backend,
      retry: { max: 0 },
      breaker: { failures: 1000 },
    })
    for (const [at, body] of bodies.entries()) {
      const text = typeof body === 'string' ? body : JSON.stringify(body)
      server.script = (_seen, response) => void response.end(text)
      const input = isChat ? [{ role: 'user', content: `q${at}` }] : `q${at}`
      const failure = await failureOf(ask(input, { ask: kind }))
      t.match(failure, { kind: 'judge_unreachable', retryable: true }, `${backend} ${kind}: ${text}`)
    }
  }
})

const seed = Number(process.env.SEED ?? Math.floor(Math.random() * 2 ** 31))
t.comment(`SEED=${seed}`)
const random = seeded(seed)
const below = (limit: number): number => Math.floor(random() * limit)

const units = [
  'a',
  'plain words ',
  '"',
  '\\',
  '\n',
  '\0',
  '\u2028',
  'é',
  '字',
  '⟦',
  '👩‍⚕️',
  '\ud83d',
  '\ude00',
  '\\u27e6',
]

const textOf = (length: number): string => {
  let text = ''
  while (text.length < length) text += (units[below(units.length)] ?? '').repeat(1 + below(9))
  return text
}

const read = (input: Parameters<typeof questionJson>[0]): unknown =>
  JSON.parse(String(bodyOf(['{"it":', ...questionJson(input), '}']))).it

t.test('a request body holds exactly the question, whatever its characters and length', (t) => {
  // Around the length of a part, that of a body of one text, and beyond the first buffer.
  const lengths = [0, 1, 60, 64, 65, 8190, 8191, 8192, 8193, 16_400, 40_000, 2 ** 20]
  for (const length of lengths) {
    const [text, other] = [textOf(length), textOf(below(200))]
    const pieces = [knownText(other), opening('0123456789ab'), text, closing('0123456789ab'), '']
    const messages = [{ role: 'system', content: other }, new RenderedMessage('user', pieces)]
    t.equal(messages[1]?.content, [other, '⟦0123456789ab\n', text, '\n0123456789ab⟧'].join(''))
    if (JSON.stringify(read(messages)) !== JSON.stringify(messages))
      t.fail(`messages, ${length}, SEED=${seed}`)
    if (read(text) !== text) t.fail(`a text, ${length}, SEED=${seed}`)
    const long = [new RenderedMessage('user', [drained(quoted(text))])]
    if (JSON.stringify(read(long)) !== JSON.stringify(long)) t.fail(`a long value, ${length}, SEED=${seed}`)
  }
  t.strictSame(read([]), [])
  t.end()
})

t.test('a surrogate pair that is split between parts stays a pair', async (t) => {
  const text = `${'a'.repeat(8191)}😀${'b'.repeat(20_000)}`
  t.equal(read(text), text)
  t.equal(
    read('x'.repeat(3_000_000)),
    'x'.repeat(3_000_000),
    'more than the buffer that parts are gathered in',
  )
})

t.test('each character of a question is written as JSON.stringify writes it', async (t) => {
  const units = Array.from({ length: 0x10000 }, (_, code) => String.fromCharCode(code))
  const texts = [...units, ...units.map((unit) => `a\n${unit}\n`), '', '\u{1f600}', 'é\n"\\']
  const wrong = texts.filter((text) => questionJson(text).join('') !== JSON.stringify(text))
  t.same(
    wrong.map((text) => JSON.stringify(text)),
    [],
  )
})
