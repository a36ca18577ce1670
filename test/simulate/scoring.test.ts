import t from 'tap'
import { judgement, post, simulated } from '../support/simulated.ts'

const answers = { 'apples has Ann': 42 }
const question = 'How many apples has Ann?'

t.test('score pairs one text with many, or many with as many', async (t) => {
  const server = await simulated(t, { answers })
  const one = await post(server, '/score', { text_1: question, text_2: ['#### 41', '#### 42'] })
  t.ok(one.json.data[1].score > one.json.data[0].score + 0.5)
  const two = await post(server, '/v1/score', { queries: [question, question], documents: ['42', '41'] })
  t.ok(two.json.data[0].score > two.json.data[1].score)
  t.match(await post(server, '/score', { text_1: ['a', 'b'], text_2: ['a', 'b', 'c'] }), { status: 400 })
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
  const server = await simulated(t, { answers })
  const ids: number[] = []
  for (const prompt of ['yes', 'no', 'Certainly']) {
    const { json } = await post(server, '/tokenize', { prompt })
    t.equal(json.count, 1, `${prompt} is one token`)
    ids.push(json.tokens[0])
  }
  const ask = async (answer: string, more: object) => {
    const items = [judgement(question, answer, 'Reply yes or no.')]
    const body = { query: '', items, label_token_ids: ids.slice(0, 2), ...more }
    return (await post(server, '/generative_scoring', body)).json.data[0].score
  }
  const [yes, no] = [await ask('42', {}), await ask('42', { label_token_ids: [ids[1], ids[0]] })]
  t.ok(yes > 0.75, String(yes))
  t.ok(Math.abs(yes + no - 1) < 1e-9)
  t.ok((await ask('41', {})) < 0.25)
  t.ok((await ask('42', { apply_softmax: false, item_first: true })) < yes, 'some goes to other tokens')
  for (const wrong of [[], [-1], [1e9], 'yes']) {
    const body = { query: 'x', items: ['y'], label_token_ids: wrong }
    t.match(await post(server, '/generative_scoring', body), { status: 400 }, String(wrong))
  }
})
