import t from 'tap'
import { fakeClock } from '../support/clock.ts'
import { get, judgement, post, simulated, until } from '../support/simulated.ts'

const ask = { messages: [{ role: 'user', content: 'Question: 1 + 1?\nAnswer: 1 + 1 = 2' }] }

t.test('a sleeping server says so', async (t) => {
  const server = await simulated(t)
  t.same((await get(server, '/is_sleeping')).json, { is_sleeping: false })
  t.equal((await post(server, '/sleep?level=1', {})).status, 200)
  t.same((await get(server, '/is_sleeping')).json, { is_sleeping: true })
  t.equal((await post(server, '/sleep?level=9', {})).status, 400, 'there is no such level')
})

t.test('a sleeping server answers nobody until it is woken', async (t) => {
  const server = await simulated(t)
  await post(server, '/sleep?level=1', {})
  const asked = post(server, '/v1/chat/completions', ask)
  await until(() => server.stats().waiting === 1)
  await post(server, '/wake_up?tags=weights', {})
  t.equal(server.stats().isSleeping, true, 'half awake is asleep')
  await post(server, '/wake_up?tags=kv_cache', {})
  t.equal((await asked).json.choices[0].message.content, '1')
  t.match(server.stats(), { isSleeping: false, sleeps: 1, wakes: 1 })
  await post(server, '/wake_up', {})
  t.equal(server.stats().wakes, 1, 'who is awake cannot wake')
})

t.test('falling asleep aborts what runs, or waits for it', async (t) => {
  const clock = fakeClock()
  const server = await simulated(t, { clock, latencyMedianMs: 100, latencySigma: 0, sleepMs: 50 })
  const cut = post(server, '/v1/chat/completions', ask)
  await until(() => server.stats().running === 1)
  const asleep = post(server, '/sleep', {})
  t.match((await cut).json.choices[0], { finish_reason: 'abort', message: { content: '' } })
  await until(() => clock.pending === 1)
  clock.advance(50)
  await asleep
  t.match((await get(server, '/metrics')).text, /finished_reason="abort"\} 1/)

  const awake = post(server, '/wake_up', {})
  await until(() => clock.pending === 1)
  clock.advance(50)
  await awake
  const kept = post(server, '/v1/chat/completions', ask)
  await until(() => server.stats().running === 1)
  const later = post(server, '/sleep?mode=wait', {})
  await until(() => server.stats().isSleeping)
  clock.advance(100)
  t.equal((await kept).json.choices[0].finish_reason, 'stop')
  await until(() => clock.pending === 1)
  clock.advance(50)
  t.equal((await later).status, 200)
})

t.test('requests are aborted by id, the client still gets a reply', async (t) => {
  const clock = fakeClock()
  const server = await simulated(t, { clock, latencyMedianMs: 100, latencySigma: 0 })
  const first = post(server, '/v1/chat/completions', { ...ask, request_id: 'one' })
  const second = post(server, '/classify', { input: 'x', rid: 'two' })
  const third = post(server, '/v1/completions', { prompt: 'x', stream: true })
  await until(() => server.stats().running === 3)
  t.equal((await post(server, '/abort_requests', {})).status, 400)
  await post(server, '/abort_requests', { request_ids: ['one', 'nobody'] })
  t.equal((await first).json.choices[0].finish_reason, 'abort')
  await post(server, '/abort_request', { rid: 'two' })
  t.equal((await second).status, 500)
  await post(server, '/abort_request', { abort_all: true })
  t.match((await third).text, /"finish_reason":"abort"/)
  t.match(server.stats(), { running: 0, sequences: { finished: 0, aborted: 3 } })
})

t.test('the prefix cache is forgotten on reset and in sleep', async (t) => {
  const server = await simulated(t)
  const body = { prompt: 'x'.repeat(640) }
  const hits = async () => {
    const before = server.stats().prefixCache.hits
    await post(server, '/v1/completions', body)
    return server.stats().prefixCache.hits - before
  }
  t.equal(await hits(), 0)
  t.equal(await hits(), 160)
  await post(server, '/reset_prefix_cache', {})
  t.equal(await hits(), 0)
  await post(server, '/sleep', {})
  await post(server, '/wake_up', {})
  t.equal(await hits(), 0)
})

const answers = { 'apples has Ann': 42 }
const right = judgement('How many apples has Ann?', '#### 42')
const wrong = judgement('How many apples has Ann?', '#### 41')
const judge = await simulated(t, { answers })

t.test('SGLang: generate answers one text with an object, several with a list', async (t) => {
  const { json } = await post(judge, '/generate', { text: right, sampling_params: { temperature: 0 } })
  t.match(json, { text: '1', meta_info: { finish_reason: { type: 'stop' }, completion_tokens: 1 } })
  const both = await post(judge, '/generate', { text: [right, wrong] })
  t.same(
    both.json.map(({ text }: { text: string }) => text),
    ['1', '0'],
  )
  t.equal((await post(judge, '/generate', { text: right, sampling_params: { n: 3 } })).json.length, 3)
  t.match(await post(judge, '/generate', {}), { status: 400, json: { error: { message: /text/ } } })
})

t.test('SGLang: generate knows stop, length, structured output and logprobs by SGLang’s names', async (t) => {
  const plain = await simulated(t, { policy: 'constant', constant: 'Right. END' })
  const stopped = await post(plain, '/generate', { text: 'x', sampling_params: { stop: 'END' } })
  t.match(stopped.json, { text: 'Right. ', meta_info: { finish_reason: { type: 'stop', matched: 'END' } } })
  const cut = await post(plain, '/generate', { text: 'x', sampling_params: { max_new_tokens: 1 } })
  t.match(cut.json, { text: 'Righ', meta_info: { finish_reason: { type: 'length', length: 1 } } })

  const regex = await post(judge, '/generate', { text: right, sampling_params: { regex: 'Score: [01]' } })
  t.equal(regex.json.text, 'Score: 1')
  const schema = JSON.stringify({ type: 'object', properties: { correct: { type: 'boolean' } } })
  const shaped = await post(judge, '/generate', { text: wrong, sampling_params: { json_schema: schema } })
  t.same(JSON.parse(shaped.json.text), { correct: false })
  const body = { text: right, return_logprob: true, top_logprobs_num: 2, return_text_in_logprobs: true }
  const { meta_info: meta } = (await post(judge, '/generate', body)).json
  t.match(meta.output_token_logprobs, [[Number, 49, '1']])
  t.equal(meta.output_top_logprobs[0].length, 2)
  const ids = await post(judge, '/generate', { ...body, return_text_in_logprobs: false })
  t.equal(ids.json.meta_info.output_token_logprobs[0][2], null)
})

t.test('SGLang: a stream of generate repeats the text so far', async (t) => {
  const server = await simulated(t, { policy: 'constant', constant: 'ab cdefg' })
  const { text } = await post(server, '/generate', { text: 'x', stream: true })
  const events = text
    .trim()
    .split('\n\n')
    .map((event) => event.replace('data: ', ''))
  t.equal(events.pop(), '[DONE]')
  t.same(
    events.map((event) => JSON.parse(event).text),
    ['ab c', 'ab cdefg', 'ab cdefg'],
  )
  t.match(JSON.parse(events.at(-1) ?? ''), { meta_info: { finish_reason: { type: 'stop' } } })
})

t.test('SGLang: a reward model gives its number where an embedding would stand', async (t) => {
  const { json } = await post(judge, '/classify', { text: [right, wrong] })
  t.ok(json[0].embedding[0] > 1 && json[1].embedding[0] < -1)
  const one = await post(judge, '/encode', { text: 'Once upon a time' })
  t.equal(one.json.embedding.length, 256)
})

t.test('SGLang: the model is described', async (t) => {
  const server = await simulated(t, { model: 'scalar', runner: 'pooling' })
  t.match((await get(server, '/get_model_info')).json, { model_path: '/models/scalar', is_generation: false })
})
