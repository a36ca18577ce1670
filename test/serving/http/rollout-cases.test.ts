/** What new users and trainers' own code once sent, and got a reward for that the reward had not seen. */
import t from 'tap'
import { testApp } from '../../support/app.ts'
import { scriptedServer } from '../../support/scripted-server.ts'

const files = {
  'ask.ts': `import { defineModelReward, prompt } from 'reward-gateway/contract'
import { z } from 'zod'
export default defineModelReward({ ask: 'generate', truth: z.unknown(), range: [0, 1],
  rm_preprocess: ({ sample }) => prompt\`Question: \${sample.prompt}\\nAnswer: \${sample.response}\`,
  rm_postprocess: ({ text }) => Number(text) })
`,
  'blind.ts': `import { defineModelReward, lastUserText, prompt } from 'reward-gateway/contract'
import { z } from 'zod'
export default defineModelReward({ ask: 'generate', truth: z.unknown(), range: [0, 1],
  rm_preprocess: ({ sample }) => prompt\`Question: \${lastUserText(sample)}\\nAnswer: \${sample.response}\`,
  rm_postprocess: ({ text }) => Number(text) })
`,
  'peek.ts': `import { defineRule } from 'reward-gateway/contract'
import { z } from 'zod'
export default defineRule({ truth: z.any(), range: [0, 1], score: ({ sample }) => ({ value: 1, details: { sample: JSON.stringify(sample) } }) })
`,
  'rank.ts': `import { defineGroupRule } from 'reward-gateway/contract'
import { z } from 'zod'
export default defineGroupRule({ truth: z.unknown(), range: [0, 1], score: (rows) => rows.map((_, at) => at / rows.length) })
`,
}

const folder = t.testdir({
  ...files,
  'truths.jsonl': `${JSON.stringify({ prompt: '<image>what colour?', ground_truth: 'red' })}\n`,
})
const asked: string[] = []
const judge = await scriptedServer(
  ({ body }) => {
    asked.push(JSON.stringify((body as { messages: unknown }).messages))
    const message = { role: 'assistant', content: '1' }
    const usage = { prompt_tokens: 1, completion_tokens: 1, total_tokens: 2 }
    return { id: 'x', model: 'judge', choices: [{ index: 0, message, finish_reason: 'stop' }], usage }
  },
  ['judge'],
)
t.teardown(() => judge.kill())

const step = (name: string, more: object = {}) => ({ steps: [{ name: 'q', function: name, ...more }] })
const app = await testApp(t, {
  gateway: {
    functions: { folders: [folder] },
    models: { judge: { model: 'judge', instances: [judge.url], health: { interval_s: 0 }, cache: 'never' } },
    trainers: { 'llama-factory': { ground_truth_file: `${folder}/truths.jsonl` } },
  },
  ask: step('ask', { model: 'judge' }),
  blind: step('blind', { model: 'judge' }),
  stock: step('yes-no-judge', { model: 'judge' }),
  exact: step('exact-match'),
  peek: step('peek'),
  rank: step('rank'),
})

async function post(url: string, payload: object): Promise<{ text: string; status: number; asked: number }> {
  asked.length = 0
  const answer = await app.inject({ method: 'POST', url, payload })
  return { text: answer.body, status: answer.statusCode, asked: asked.length }
}

async function score(reward: string, ...samples: object[]) {
  const { text } = await post('/v1/score', { reward, samples })
  return JSON.parse(text).results
}

const image = {
  type: 'image_url',
  image_url: {
    url: 'data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==',
  },
}
const cat = { role: 'assistant', content: 'a cat' }

t.test('a prompt of messages in a question is its turns, never [object Object]', async (t) => {
  const prompt = [
    { role: 'system', content: 'Be brief.' },
    { role: 'user', content: '2+2?' },
  ]
  t.match(await score('ask', { prompt, response: '4' }), [{ reward: 1, flags: [] }])
  t.notMatch(asked[0], /\[object/)
  t.match(asked[0], /\[system\].*Be brief\..*\[user\].*2\+2\?/)
})

t.test('a prompt of an image alone is seen, or nothing is scored', async (t) => {
  const sample = { prompt: [{ role: 'user', content: [image] }], response: 'a cat' }
  for (const reward of ['ask', 'stock']) {
    t.match(await score(reward, sample), [{ valid: true, reward: 1 }], reward)
    t.match(asked[0], image.image_url.url, reward)
  }
  t.match(await score('blind', sample), [{ valid: false, reward: null, failure: { kind: 'unseen_content' } }])
  t.equal(asked.length, 0)
})

t.test("a tool's words are not the policy's", async (t) => {
  const call = { id: 'c', function: { name: 'weather', arguments: '{}' } }
  const response = [
    { role: 'assistant', content: null, tool_calls: [call] },
    { role: 'tool', content: 'sunny [1]', tool_call_id: 'c' },
    { role: 'assistant', content: 'Sunny' },
  ]
  const [result] = await score('peek', { prompt: 'q', response })
  const { response: text, turns, toolCalls } = JSON.parse(result.terms.q.details.sample)
  t.equal(text, 'Sunny')
  t.strictSame(
    turns.map(({ role, content }: { role: string; content: string }) => [role, content]),
    [
      ['assistant', ''],
      ['tool', 'sunny [1]'],
      ['assistant', 'Sunny'],
    ],
  )
  t.match(toolCalls, [{ name: 'weather', result: 'sunny [1]' }])
})

const chat =
  '<|im_start|>user\n<|vision_start|><|image_pad|><|image_pad|><|vision_end|>what colour?<|im_end|>\n'

/** A question about an image, as each format sends it. */
const withImage: Readonly<Record<string, readonly [string, object]>> = {
  native: [
    '/v1/score',
    { reward: 'blind', samples: [{ prompt: [{ role: 'user', content: [image] }], response: [cat] }] },
  ],
  slime: [
    '/wire/slime/blind',
    {
      prompt: [{ role: 'user', content: [{ type: 'image' }, { type: 'text', text: 'q' }] }],
      response: 'a',
      label: '',
    },
  ],
  'nemo-gym': [
    '/wire/nemo-gym/blind/verify',
    {
      responses_create_params: {
        input: [{ role: 'user', content: [{ type: 'input_image', image_url: 'data:,' }] }],
      },
      response: { output: [cat] },
    },
  ],
  azure: [
    '/wire/azure/blind',
    { sample: { output_text: 'a' }, item: { messages: [{ role: 'user', content: [image] }] } },
  ],
  'eval-protocol': [
    '/wire/eval-protocol/blind/evaluate',
    { messages: [{ role: 'user', content: [{ type: 'text', text: 'q' }, image] }, cat] },
  ],
  openrlhf: [
    '/wire/openrlhf/blind',
    {
      query: [`${chat}<|im_start|>assistant\nred<|im_end|>`],
      prompts: [`${chat}<|im_start|>assistant\n`],
      labels: ['red'],
    },
  ],
  'openrlhf, another template': [
    '/wire/openrlhf/blind',
    { query: ['Q: <start_of_image>what? A: red'], prompts: ['Q: <start_of_image>what? A:'], labels: ['red'] },
  ],
  'llama-factory': [
    '/wire/llama-factory/blind',
    { messages: [`${chat}<|im_start|>assistant\nred<|im_end|>`] },
  ],
}

t.test('no format lets an image vanish: a judge that cannot see it gives no verdict', async (t) => {
  for (const [name, [url, body]] of Object.entries(withImage)) {
    const { text, asked } = await post(url, body)
    t.match(text, /unseen_content/, name)
    t.equal(asked, 0, name)
  }
})

t.test('a rule scores the answer to a question with an image, found without its tokens', async (t) => {
  const { text } = await post('/wire/llama-factory/exact', {
    messages: [`${chat}<|im_start|>assistant\nred<|im_end|>`],
  })
  t.match(JSON.parse(text), { scores: [1] })
})

t.test('answers to different problems without a prompt are no group', async (t) => {
  const rows = ['4', '5', '6'].map((truth) => ({ response: truth, ground_truth: truth }))
  const results = await score('rank', ...rows)
  t.strictSame(
    results.map(({ failure }: { failure: { kind: string } | null }) => failure?.kind),
    Array(3).fill('bad_sample'),
  )
})

t.test('NeMo Gym may verify an answer again unless a step compares it with others', async (t) => {
  const mode = async (reward: string) => {
    const answer = await app.inject({ method: 'GET', url: `/wire/nemo-gym/${reward}/reverify_mode` })
    return [answer.statusCode, answer.json()]
  }
  t.strictSame(await mode('exact'), [200, 'stateless'])
  t.strictSame(await mode('ask'), [200, 'stateless'])
  t.strictSame(await mode('rank'), [200, 'unknown'])
  t.match(await mode('exat'), [404, { error: { code: 'RG_REWARD_UNKNOWN' } }])
})

t.test("slime: a sample's status and metadata are read where a function sends them", async (t) => {
  const body = { prompt: 'q', response: [cat], label: 'a cat', metadata: { level: 3 } }
  t.equal((await post('/wire/slime/exact', { ...body, status: 'truncated' })).text, '1')
  t.match((await post('/wire/slime/exact', { ...body, status: 'failed' })).text, /env_error/)
  const { text } = await post('/wire/slime/peek?reward_key=r', {
    ...body,
    label: { ground_truth: 'a', extra_info: { level: 4 } },
  })
  t.match(text, /"r":1/)
})
