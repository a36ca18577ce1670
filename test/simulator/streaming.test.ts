import t from 'tap'
import { fakeClock } from '../support/clock.ts'
import { post, simulated, until } from '../support/simulated.ts'
import { wireCall } from '../support/wire.ts'

const said = { policy: 'constant', constant: 'It is right.' } as const
const chat = '/v1/chat/completions'
const messages = [{ role: 'user', content: 'x' }]

t.test('a chat stream', async (t) => {
  const server = await simulated(t, { ...said, model: 'm' })
  const call = await wireCall(t, server, chat, {
    messages,
    stream: true,
    logprobs: true,
    top_logprobs: 1,
    stream_options: { include_usage: true },
  })
  await until(() => call.text.includes('[DONE]'))
  const [role, ...rest] = call.events
  const usage = rest.pop()
  const end = rest.pop()

  await t.test('is an event stream whose chunks have one id', async (t) => {
    t.match(call.text, /content-type: text\/event-stream/i)
    t.equal(new Set(call.events.map(({ id }) => id)).size, 1)
  })

  await t.test('begins with the role', async (t) => {
    t.match(role, {
      id: /^chatcmpl-/,
      object: 'chat.completion.chunk',
      model: 'm',
      choices: [{ index: 0, delta: { role: 'assistant', content: '' }, finish_reason: null }],
    })
  })

  await t.test('goes on with the text in deltas, each with its logprobs', async (t) => {
    t.same(
      rest.map(({ choices }) => choices[0].delta),
      ['It i', 's ri', 'ght.'].map((content) => ({ content })),
    )
    t.same(
      rest.map(({ choices }) => choices[0].logprobs.content.map(({ token }: { token: string }) => token)),
      [['It i'], ['s ri'], ['ght.']],
    )
    t.match(rest[0].choices[0].logprobs.content[0], { logprob: Number, bytes: [73, 116, 32, 105] })
  })

  await t.test('ends with the reason to end', async (t) => {
    t.match(end, { choices: [{ delta: { content: '' }, finish_reason: 'stop', stop_reason: null }] })
  })

  await t.test('has its usage in a chunk of its own where the request asks for it', async (t) => {
    t.same(usage?.choices, [])
    t.match(usage, { usage: { completion_tokens: 3, prompt_tokens: Number } })
    t.notOk(role.usage)
  })
})

t.test('without include_usage there is none; choices and prompts have their index', async (t) => {
  const server = await simulated(t, said)
  const call = await wireCall(t, server, '/v1/completions', {
    prompt: ['a', 'b'],
    n: 2,
    max_tokens: 1,
    logprobs: 1,
    stream: true,
  })
  await until(() => call.text.includes('[DONE]'))
  t.notMatch(call.text, 'usage')
  t.same(
    call.events.filter(({ choices }) => choices[0].finish_reason).map(({ choices }) => choices[0]),
    [0, 1, 2, 3].map((index) => ({
      index,
      text: '',
      logprobs: null,
      finish_reason: 'length',
      stop_reason: null,
    })),
  )
  t.match(call.events[0], {
    id: /^cmpl-/,
    object: 'text_completion',
    choices: [{ text: 'It i', logprobs: { tokens: ['It i'], text_offset: [0] } }],
  })
})

t.test('usage runs along where it is asked for, and thoughts are deltas of their own', async (t) => {
  const server = await simulated(t, { policy: 'arithmetic', reasoningParser: true, thinking: true })
  const call = await wireCall(t, server, chat, {
    messages: [{ role: 'user', content: 'Question: 1 + 1?\nAnswer: 1 + 1 = 2' }],
    stream: true,
    stream_options: { include_usage: true, continuous_usage_stats: true },
  })
  await until(() => call.text.includes('[DONE]'))
  t.same(call.events[0].usage.completion_tokens, 0)
  const deltas = call.events.flatMap(({ choices }) => choices.map(({ delta }: { delta: object }) => delta))
  const joined = (name: string) => deltas.map((delta) => delta[name] ?? '').join('')
  t.ok(joined('reasoning_content').length > 3)
  t.equal(joined('content'), '1')
})

t.test('SGLang: a stream of generate has log probabilities so far, where asked', async (t) => {
  const server = await simulated(t, said)
  const call = await wireCall(t, server, '/generate', {
    text: 'x',
    stream: true,
    return_logprob: true,
    return_text_in_logprobs: true,
  })
  await until(() => call.text.includes('[DONE]'))
  t.same(
    call.events.map(({ text, meta_info: meta }) => [
      text,
      meta.completion_tokens,
      meta.output_token_logprobs.map(([, , token]: unknown[]) => token).join('|'),
    ]),
    [
      ['It i', 1, 'It i'],
      ['It is ri', 2, 'It i|s ri'],
      ['It is right.', 3, 'It i|s ri|ght.'],
      ['It is right.', 3, 'It i|s ri|ght.'],
    ],
  )
})

t.test('tokens come at the rate of the server, in a slot that is taken until the last', async (t) => {
  const clock = fakeClock()
  const server = await simulated(t, { ...said, clock, decodeMsPerToken: 20, prefillMsPerToken: 10 })
  const call = await wireCall(t, server, '/v1/completions', { prompt: 'four', stream: true })
  await until(() => server.stats().running === 1)
  clock.advance(9)
  t.equal(call.events.length, 0)
  for (const [ms, events] of [
    [1, 1],
    [20, 2],
    [20, 3],
  ] as const) {
    await until(() => clock.pending === 1)
    clock.advance(ms)
    await until(() => call.events.length === events)
    t.equal(server.stats().running, 1)
  }
  await until(() => clock.pending === 1)
  clock.advance(20)
  await until(() => call.text.includes('[DONE]'))
  t.match(server.stats(), { running: 0, busyMs: 70, sequences: { finished: 1 }, generationTokens: 3 })
})

t.test('a stream stalls after so many tokens: for ever, for a time, or until it breaks', async (t) => {
  const clock = fakeClock()
  const server = await simulated(t, { ...said, clock })
  for (const path of [chat, '/v1/completions', '/generate']) {
    const open = () => wireCall(t, server, path, { messages, prompt: 'x', text: 'x', stream: true })
    const role = path === chat ? 1 : 0

    server.set({ kind: 'stall', tokens: 2 })
    const silent = await open()
    await until(() => silent.events.length === 2 + role)
    t.match(server.stats(), { running: 1, inFlight: 1 }, 'it keeps its slot')
    silent.leave()
    if (path === '/generate') {
      await until(() => clock.pending === 1)
      clock.advance(4000)
    }
    await until(() => server.stats().inFlight === 0)
    t.equal(server.stats().running, 0)

    server.set({ kind: 'stall', tokens: 2, ms: 30_000 })
    const late = await open()
    await until(() => late.events.length === 2 + role && clock.pending === 1)
    clock.advance(30_000)
    await until(() => late.text.includes('[DONE]'))
    t.equal(late.events.length, 4 + role)

    server.set({ kind: 'stall', tokens: 1, ms: 30_000, recovery: 'drop' })
    const broken = await open()
    await until(() => broken.events.length === 1 + role && clock.pending === 1)
    clock.advance(30_000)
    await until(() => broken.isClosed)
    t.notMatch(broken.text, '[DONE]')

    server.set({ kind: 'half-body', tokens: 0 })
    const headOnly = await open()
    await until(() => headOnly.isClosed)
    t.match(headOnly.text, /^HTTP\/1.1 200/)
    t.equal(headOnly.events.length, 0)
  }
})

t.test('a stream that is aborted by request ends with what was written', async (t) => {
  const clock = fakeClock()
  const server = await simulated(t, { ...said, clock, decodeMsPerToken: 20 })
  const call = await wireCall(t, server, '/v1/completions', { prompt: 'x', stream: true, request_id: 'one' })
  await until(() => call.events.length === 1)
  await post(server, '/abort_requests', { request_ids: ['one'] })
  await until(() => call.text.includes('[DONE]'))
  t.match(call.events.at(-1), { choices: [{ finish_reason: 'abort' }] })
  t.match(server.stats(), { running: 0, generationTokens: 1, sequences: { aborted: 1 } })
})
