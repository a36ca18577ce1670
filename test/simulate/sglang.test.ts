import t from 'tap'
import { get, judgement, post, simulated } from '../support/simulated.ts'

const answers = { 'apples has Ann': 42 }
const right = judgement('How many apples has Ann?', '#### 42')
const wrong = judgement('How many apples has Ann?', '#### 41')

t.test('generate answers one text with an object, several with a list', async (t) => {
  const server = await simulated(t, { answers })
  const { json } = await post(server, '/generate', { text: right, sampling_params: { temperature: 0 } })
  t.match(json, { text: '1', meta_info: { finish_reason: { type: 'stop' }, completion_tokens: 1 } })
  const both = await post(server, '/generate', { text: [right, wrong] })
  t.same(
    both.json.map(({ text }: { text: string }) => text),
    ['1', '0'],
  )
  t.equal((await post(server, '/generate', { text: right, sampling_params: { n: 3 } })).json.length, 3)
  t.match(await post(server, '/generate', {}), { status: 400, json: { error: { message: /text/ } } })
})

t.test('generate knows stop, length, structured output and logprobs by SGLang’s names', async (t) => {
  const plain = await simulated(t, { policy: 'constant', constant: 'Right. END' })
  const stopped = await post(plain, '/generate', { text: 'x', sampling_params: { stop: 'END' } })
  t.match(stopped.json, { text: 'Right. ', meta_info: { finish_reason: { type: 'stop', matched: 'END' } } })
  const cut = await post(plain, '/generate', { text: 'x', sampling_params: { max_new_tokens: 1 } })
  t.match(cut.json, { text: 'Righ', meta_info: { finish_reason: { type: 'length', length: 1 } } })

  const server = await simulated(t, { answers })
  const regex = await post(server, '/generate', { text: right, sampling_params: { regex: 'Score: [01]' } })
  t.equal(regex.json.text, 'Score: 1')
  const schema = JSON.stringify({ type: 'object', properties: { correct: { type: 'boolean' } } })
  const shaped = await post(server, '/generate', { text: wrong, sampling_params: { json_schema: schema } })
  t.same(JSON.parse(shaped.json.text), { correct: false })
  const body = { text: right, return_logprob: true, top_logprobs_num: 2, return_text_in_logprobs: true }
  const { meta_info: meta } = (await post(server, '/generate', body)).json
  t.match(meta.output_token_logprobs, [[Number, 49, '1']])
  t.equal(meta.output_top_logprobs[0].length, 2)
  const ids = await post(server, '/generate', { ...body, return_text_in_logprobs: false })
  t.equal(ids.json.meta_info.output_token_logprobs[0][2], null)
})

t.test('a stream of generate repeats the text so far', async (t) => {
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

t.test('a reward model gives its number where an embedding would stand', async (t) => {
  const server = await simulated(t, { answers })
  const { json } = await post(server, '/classify', { text: [right, wrong] })
  t.ok(json[0].embedding[0] > 1 && json[1].embedding[0] < -1)
  const one = await post(server, '/encode', { text: 'Once upon a time' })
  t.equal(one.json.embedding.length, 256)
})

t.test('memory is released and resumed; a released server shows no health', async (t) => {
  const server = await simulated(t)
  t.equal((await get(server, '/health_generate')).status, 200)
  t.equal((await post(server, '/release_memory_occupation', {})).text, 'null')
  const probe = get(server, '/health_generate')
  await until(() => server.stats().waiting === 1)
  t.equal((await post(server, '/flush_cache', {})).status, 400, 'somebody waits')
  await post(server, '/resume_memory_occupation', { tags: ['weights', 'kv_cache'] })
  t.equal((await probe).status, 200)
  t.equal((await get(server, '/flush_cache')).status, 200)
  await post(server, '/release_memory_occupation', {})
  await post(server, '/resume_memory_occupation', {})
  t.match(server.stats(), { sleeps: 2, wakes: 2, isSleeping: false })
})

t.test('the model is described', async (t) => {
  const server = await simulated(t, { model: 'scalar', runner: 'pooling' })
  t.match((await get(server, '/get_model_info')).json, { model_path: 'scalar', is_generation: false })
})

async function until(isTrue: () => boolean): Promise<void> {
  while (!isTrue()) await new Promise((resolve) => setImmediate(resolve))
}
