import t from 'tap'
import { dataUrl, imagePart, png } from '../support/images.ts'
import { chat, get, judgement, post, simulated } from '../support/simulated.ts'

const answers = { 'apples has Ann': 42 }
const question = 'How many apples has Ann?'
const right = judgement(question, 'She has 6 * 7 = 42 apples.\n#### 42')
const wrong = judgement(question, 'She has 6 * 7 = 41 apples.\n#### 41')

/** A judge of every kind that knows one answer; a test that counts has a server of its own. */
const judge = await simulated(t, { answers })

t.test('a judge says 1 of a right answer and 0 of a wrong one', async (t) => {
  const counted = await simulated(t, { answers })
  t.equal(await chat(counted, right), '1')
  t.equal(await chat(counted, wrong), '0')
  const stats = counted.stats()
  t.match(stats, {
    requests: { '/v1/chat/completions': 2 },
    sequences: { finished: 2, aborted: 0 },
    inFlight: 0,
  })
  t.ok(stats.promptTokens > 60)
})

t.test('a chat reply has the shape of vLLM, with choices, usage and logprobs as asked', async (t) => {
  const server = await simulated(t, { model: 'judge', answers })
  const { json } = await post(server, '/v1/chat/completions', {
    model: 'judge',
    messages: [{ role: 'user', content: [{ type: 'text', text: right }] }],
    n: 2,
    logprobs: true,
    top_logprobs: 2,
    structured_outputs: { choice: ['yes', 'no'] },
  })
  t.match(json, { object: 'chat.completion', model: 'judge', usage: { completion_tokens: 2 } })
  t.equal(json.choices.length, 2)
  t.match(json.choices[1], {
    index: 1,
    finish_reason: 'stop',
    message: { role: 'assistant', content: 'yes' },
  })
  const [token] = json.choices[0].logprobs.content
  t.same(
    token.top_logprobs.map(({ token }: { token: string }) => token),
    ['yes', 'no'],
  )
  const mass = token.top_logprobs.reduce(
    (sum: number, { logprob }: { logprob: number }) => sum + Math.exp(logprob),
    0,
  )
  t.ok(Math.abs(mass - 1) < 1e-9, 'two labels share the whole probability')
})

t.test('the parts of a message count: an image as a token for 28 by 28 pixels', async (t) => {
  const tokens = async (...parts: object[]) => {
    const content = [{ type: 'text', text: right }, ...parts]
    const { status, json } = await post(judge, '/v1/chat/completions', {
      messages: [{ role: 'user', content }],
    })
    return status === 200 ? json.usage.prompt_tokens : status
  }
  const [none, small, large] = [
    await tokens(),
    await tokens(imagePart(dataUrl(png(56, 56)))),
    await tokens(imagePart(dataUrl(png(280, 280)))),
  ]
  t.ok(small - none >= 4 && small - none < 30)
  t.ok(Math.abs(large - small - 96) < 8)
  t.equal(await tokens(imagePart('data:image/png;base64,AAAA')), 400)
})

t.test('max_tokens cuts a reply with finish_reason length, a stop text ends it', async (t) => {
  const server = await simulated(t, { policy: 'constant', constant: 'The verdict is: right. END of it' })
  const ask = (more: object) =>
    post(server, '/v1/chat/completions', { messages: [{ role: 'user', content: 'x' }], ...more })
  t.match((await ask({ max_tokens: 2 })).json.choices[0], {
    finish_reason: 'length',
    message: { content: 'The verd' },
  })
  t.match((await ask({ stop: ['END', 'nowhere'] })).json.choices[0], {
    finish_reason: 'stop',
    stop_reason: 'END',
    message: { content: 'The verdict is: right. ' },
  })
})

t.test('completions take one prompt or many, and keep their order', async (t) => {
  const { json } = await post(judge, '/v1/completions', { prompt: [right, wrong, right], logprobs: 2, n: 1 })
  t.same(
    json.choices.map(({ text, index }: { text: string; index: number }) => [index, text]),
    [
      [0, '1'],
      [1, '0'],
      [2, '1'],
    ],
  )
  t.same(Object.keys(json.choices[0].logprobs.top_logprobs[0]).sort(), ['0', '1'])
  t.equal((await post(judge, '/v1/completions', { prompt: wrong })).json.choices[0].text, '0')
})

t.test('a batch of conversations gives one choice for each', async (t) => {
  const messages = [wrong, right].map((content) => [{ role: 'user', content }])
  const { json } = await post(judge, '/v1/chat/completions/batch', { messages })
  t.same(
    json.choices.map(({ message }: { message: { content: string } }) => message.content),
    ['0', '1'],
  )
})

t.test('a scalar reward model prefers the right answer, by input and by messages', async (t) => {
  const { json } = await post(judge, '/classify', { input: [right, wrong] })
  t.ok(json.data[0].probs[0] > 0.8 && json.data[1].probs[0] < 0.2)
  const rollout = (answer: string) => [
    { role: 'user', content: question },
    { role: 'assistant', content: answer },
  ]
  const raw = await post(judge, '/classify', { messages: rollout('42'), use_activation: false })
  t.ok(raw.json.data[0].probs[0] > 1)
  const low = await post(judge, '/pooling', { messages: rollout('41'), use_activation: false })
  t.ok(low.json.data[0].data[0] < -1)
})

t.test('embeddings have length 1, and similar texts are nearer than others', async (t) => {
  const server = await simulated(t, { dimensions: 64 })
  const input = ['The courier returns the meal.', 'The courier returned the meal', 'x = 12 / 7']
  const { json } = await post(server, '/v1/embeddings', { input })
  const [a, b, c] = json.data.map(({ embedding }: { embedding: number[] }) => embedding)
  const dot = (x: number[], y: number[]) => x.reduce((sum, value, i) => sum + value * (y[i] ?? 0), 0)
  t.ok(Math.abs(dot(a, a) - 1) < 1e-9)
  t.ok(dot(a, b) > 0.7 && dot(a, b) > dot(a, c) + 0.3)
  const packed = await post(server, '/v1/embeddings', { input: input[0], encoding_format: 'base64' })
  const floats = new Float32Array(
    Uint8Array.from(Buffer.from(packed.json.data[0].embedding, 'base64')).buffer,
  )
  t.ok(Math.abs((floats[0] ?? 0) - a[0]) < 1e-6)
})

t.test('an error has the status and the shape of vLLM', async (t) => {
  const server = await simulated(t, { model: 'judge', maxModelLen: 8 })
  const messages = [{ role: 'user', content: 'x' }]
  const bad: readonly (readonly [path: string, body: unknown, reply: object])[] = [
    [
      '/v1/chat/completions',
      { model: 'other', messages },
      { status: 404, json: { error: { type: 'NotFoundError', param: 'model', code: 404 } } },
    ],
    [
      '/v1/completions',
      { prompt: 'x'.repeat(33) },
      {
        status: 400,
        json: {
          error: {
            type: 'BadRequestError',
            param: 'input_tokens',
            code: 400,
            message: /maximum context length is 8 tokens/,
          },
        },
      },
    ],
    ...[{}, { messages: [] }, { messages: [1] }, { messages: [{ role: 'user', content: 1 }] }, []].map(
      (body) => ['/v1/chat/completions', body, { status: 400 }] as const,
    ),
    ['/v1/completions', { prompt: ['x', 1] }, { status: 400 }],
    ['/v1/completions', { prompt: 'x', max_tokens: 'many' }, { status: 400 }],
    ['/nowhere', {}, { status: 404, json: { detail: 'Not Found' } }],
  ]
  for (const [path, body, reply] of bad)
    t.match(await post(server, path, body), reply, `${path} ${JSON.stringify(body)}`)
  t.match(await get(server, '/classify'), { status: 405, json: { detail: 'Method Not Allowed' } })
  const broken = await fetch(`${server.url}/classify`, { method: 'POST', body: '{' })
  t.equal(broken.status, 400)
})

t.test('a server of one runner has only its endpoints', async (t) => {
  const scalar = await simulated(t, { runner: 'pooling' })
  t.equal((await post(scalar, '/v1/completions', { prompt: 'x' })).status, 404)
  t.equal((await post(scalar, '/classify', { input: 'x' })).status, 200)
})

t.test('health, version, models, load and metrics answer', async (t) => {
  const server = await simulated(t, { model: 'judge "1"' })
  t.equal((await get(server, '/health')).status, 200)
  t.match((await get(server, '/version')).json, { version: /^\d+\.\d+/ })
  t.match((await get(server, '/v1/models')).json.data[0], { id: 'judge "1"', max_model_len: 32768 })
  t.same((await get(server, '/load')).json, { server_load: 1 })
  await post(server, '/v1/completions', { prompt: 'one two three' })
  const { text } = await get(server, '/metrics')
  t.match(text, 'vllm:prompt_tokens_total{engine="0",model_name="judge \\"1\\""} 4')
  t.match(text, /^vllm:num_requests_running\{.*\} 0$/m)
  t.match(text, /^vllm:request_success_total\{.*finished_reason="stop"\} 1$/m)
})

t.test('a stream sends its text in pieces and ends with [DONE]', async (t) => {
  const server = await simulated(t, { policy: 'constant', constant: 'It is right.' })
  const body = {
    messages: [{ role: 'user', content: 'x' }],
    stream: true,
    stream_options: { include_usage: true },
  }
  const { text, headers } = await post(server, '/v1/chat/completions', body)
  t.match(headers.get('content-type'), /text\/event-stream/)
  const events = text
    .trim()
    .split('\n\n')
    .map((event) => event.replace('data: ', ''))
  t.equal(events.pop(), '[DONE]')
  const chunks = events.map((event) => JSON.parse(event))
  t.equal(chunks.map(({ choices }) => choices[0]?.delta.content ?? '').join(''), 'It is right.')
  t.equal(chunks.at(-2).choices[0].finish_reason, 'stop')
  t.equal(chunks.at(-1).usage.completion_tokens, 3)
  const plain = await post(server, '/v1/completions', { prompt: 'x', stream: true })
  t.match(plain.text, /"text":"It i"/)
})

t.test('the same prefix on the same server is found in its cache', async (t) => {
  const server = await simulated(t)
  const prefix = 'You are a strict judge. '.repeat(40)
  await post(server, '/v1/completions', { prompt: `${prefix}one` })
  t.equal(server.stats().prefixCache.hits, 0)
  const { json } = await post(server, '/v1/completions', { prompt: `${prefix}two` })
  const { hits, queries } = server.stats().prefixCache
  t.equal(hits, 240, 'fifteen full blocks of 16 tokens')
  t.equal(queries, 482)
  t.equal(json.usage.prompt_tokens_details.cached_tokens, 240)
})

t.test('score pairs one text with many, or many with as many', async (t) => {
  const one = await post(judge, '/score', { text_1: question, text_2: ['#### 41', '#### 42'] })
  t.ok(one.json.data[1].score > one.json.data[0].score + 0.5)
  const two = await post(judge, '/v1/score', { queries: [question, question], documents: ['42', '41'] })
  t.ok(two.json.data[0].score > two.json.data[1].score)
  t.match(await post(judge, '/score', { text_1: ['a', 'b'], text_2: ['a', 'b', 'c'] }), { status: 400 })
})

t.test('rerank sorts documents, by likeness where nothing is right or wrong', async (t) => {
  const server = await simulated(t)
  const documents = ['The sky is blue.', 'A panda is what eats bamboo.', 'What is a panda? A bear.']
  const { json } = await post(server, '/rerank', { query: 'What is a panda?', documents, top_n: 2 })
  t.same(
    json.results.map(({ index }: { index: number }) => index),
    [2, 1],
  )
  t.equal(json.results[0].document.text, documents[2])
  t.equal((await post(server, '/v1/rerank', { query: 'x', documents })).json.results.length, 3)
})

t.test('a process reward model scores each step, low from the first wrong one', async (t) => {
  const server = await simulated(t, { policy: 'arithmetic' })
  const steps = ['1 + 1 = 2', '2 + 2 = 5', '5 + 1 = 6'].map((step) => `${step}<extra_0>`).join('\n')
  const { json } = await post(server, '/pooling', {
    messages: [
      { role: 'user', content: 'Add up.' },
      { role: 'assistant', content: steps },
    ],
  })
  const rights = json.data[0].data.map(([, right]: [number, number]) => right)
  t.equal(rights.length, 3)
  t.ok(rights[0] > 0.8 && rights[1] < 0.2 && rights[2] < 0.2, String(rights))
  t.ok(json.data[0].data.every(([wrong, right]: [number, number]) => Math.abs(wrong + right - 1) < 1e-9))
})

t.test('tokenize counts as usage does, and its ids can be asked about', async (t) => {
  const server = await simulated(t, { answers, maxModelLen: 1000 })
  const messages = [{ role: 'user', content: judgement(question, '#### 42') }]
  const counted = await post(server, '/tokenize', { messages })
  const asked = await post(server, '/v1/chat/completions', { messages })
  t.equal(counted.json.count, asked.json.usage.prompt_tokens)
  t.equal(counted.json.max_model_len, 1000)
  const strings = await post(server, '/tokenize', { prompt: 'one two', return_token_strs: true })
  t.same(strings.json.token_strs, ['one ', 'two'])
  t.match(await post(server, '/tokenize', { messages: 1 }), { status: 400 })
})

t.test('generative scoring gives the probability of the first label', async (t) => {
  const ids: number[] = []
  for (const prompt of ['yes', 'no', 'Certainly']) {
    const { json } = await post(judge, '/tokenize', { prompt })
    t.equal(json.count, 1, `${prompt} is one token`)
    ids.push(json.tokens[0])
  }
  const ask = async (answer: string, more: object) => {
    const items = [judgement(question, answer, 'Reply yes or no.')]
    const body = { query: '', items, label_token_ids: ids.slice(0, 2), ...more }
    return (await post(judge, '/generative_scoring', body)).json.data[0].score
  }
  const [yes, no] = [await ask('42', {}), await ask('42', { label_token_ids: [ids[1], ids[0]] })]
  t.ok(yes > 0.75, String(yes))
  t.ok(Math.abs(yes + no - 1) < 1e-9)
  t.ok((await ask('41', {})) < 0.25)
  t.ok((await ask('42', { apply_softmax: false, item_first: true })) < yes, 'some goes to other tokens')
  for (const wrong of [[], [-1], [1e9], 'yes']) {
    const body = { query: 'x', items: ['y'], label_token_ids: wrong }
    t.match(await post(judge, '/generative_scoring', body), { status: 400 }, String(wrong))
  }
})
