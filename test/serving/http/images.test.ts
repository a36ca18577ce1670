import t from 'tap'
import { testApp } from '../../support/app.ts'
import { dataUrl, imagePart, paddedPng, png, sha256 } from '../../support/images.ts'
import { withoutPython } from '../../support/python.ts'
import { completion, scriptedServer } from '../../support/scripted-server.ts'

const folder = t.testdir({
  'sees.ts': `import { z } from 'zod'
import { defineModelReward, prompt } from 'reward-gateway/contract'
export default defineModelReward({ ask: 'generate', reply: { choice: ['1', '0'] }, truth: z.unknown(), range: [0, 1],
  rm_preprocess: ({ sample }) => prompt\`Q: \${sample.prompt} A: \${sample.response}\`, rm_postprocess: ({ text }) => Number(text) })
`,
  'whole.ts': `import { z } from 'zod'
import { defineModelReward, prompt, transcript } from 'reward-gateway/contract'
export default defineModelReward({ ask: 'generate', truth: z.unknown(), range: [0, 1],
  rm_preprocess: ({ sample }) => prompt\`Q: \${sample.prompt} Rollout: \${transcript(sample)}\`, rm_postprocess: ({ text }) => Number(text) })
`,
  'scalar.ts': `import { z } from 'zod'
import { chat, conversation, defineModelReward, prompt } from 'reward-gateway/contract'
export default defineModelReward({ ask: 'classify', truth: z.unknown(), range: [-100, 100],
  rm_preprocess: ({ sample }) => chat(...conversation(sample), { role: 'assistant', content: prompt\`\${sample.response}\` }), rm_postprocess: (score) => score })
`,
  'foreign.ts': `import { z } from 'zod'
import { defineModelReward, prompt } from 'reward-gateway/contract'
export default defineModelReward({ ask: 'generate', truth: z.unknown(), range: [0, 1],
  rm_preprocess: ({ sample }) => ({ ...prompt\`Q: \${sample.response}\${''}\`, mayBeEmpty: [1], images: [{ at: 1, sha256: '${'ab'.repeat(32)}' }] }), rm_postprocess: ({ text }) => Number(text) })
`,
  'shows.ts': `import { z } from 'zod'
import { defineRule } from 'reward-gateway/contract'
export default defineRule({ truth: z.unknown(), range: [0, 1], score: ({ sample }) => ({ value: 1, details: { prompt: sample.prompt } }) })
`,
  'py_shows.py': `import json
def reward(prompts, completions, **columns):
    return len(json.dumps(prompts[0]))
`,
})

/** Answers every question with 1. */
const judge = await scriptedServer(
  (seen) =>
    seen.path === '/classify'
      ? { model: 'judge', data: [{ index: 0, data: [2.5], probs: [2.5], num_classes: 1 }], usage: {} }
      : completion(seen, '1'),
  ['judge'],
)
t.teardown(() => judge.kill())

const others = await Promise.all([0, 1].map(() => scriptedServer((seen) => completion(seen, '1'), ['judge'])))
t.teardown(() => Promise.all(others.map((other) => other.kill())))

const model = (more: object = {}) => ({
  model: 'judge',
  instances: [judge.url],
  health: { interval_s: 0 },
  ...more,
})
const judged = (name: string, more: object = {}) => ({
  steps: [{ name: 'q', function: name, model: 'judge', ...more }],
})
const mebi = 1024 * 1024
const app = await testApp(
  t,
  {
    gateway: {
      functions: { folders: [folder] },
      models: {
        judge: model({ cache: 'never' }),
        cached: model({ cache: 'always' }),
        fetches: model({ cache: 'never', images: { hosts: ['images.example.org', 'other.example:8080'] } }),
        small: model({ cache: 'never', images: { max_per_sample: 2, max_bytes: 2000, max_pixels: 10_000 } }),
        sglang: model({ cache: 'never', backend: 'sglang' }),
        openai: model({ cache: 'never', backend: 'openai' }),
        short: model({ cache: 'never', max_prompt_tokens: 400, on_long_prompt: 'truncate_middle' }),
        together: model({ cache: 'never', batch: { generate: true } }),
        near: model({
          cache: 'never',
          instances: [judge, ...others].map(({ url }) => url),
          balance: 'prefix_affinity',
        }),
      },
    },
    sees: judged('sees'),
    cached: judged('sees', { model: 'cached' }),
    fetches: judged('sees', { model: 'fetches' }),
    'fetches-all': judged('whole', { model: 'fetches' }),
    small: judged('sees', { model: 'small' }),
    sglang: judged('sees', { model: 'sglang' }),
    openai: judged('sees', { model: 'openai' }),
    short: judged('sees', { model: 'short' }),
    together: judged('sees', { model: 'together' }),
    near: judged('sees', { model: 'near' }),
    whole: judged('whole'),
    blind: judged('sees', { ignore: 'image' }),
    scalar: judged('scalar'),
    foreign: judged('foreign'),
    stock: judged('yes-no-judge'),
    pairs: judged('pairwise-judge'),
    shows: { steps: [{ name: 'q', function: 'shows' }] },
    python: { steps: [{ name: 'q', function: 'py_shows', options: { range: [0, 1e6] } }] },
  },
  64 * mebi,
)

interface Result {
  readonly reward: number | null
  readonly valid: boolean
  readonly failure: { readonly kind: string; readonly detail: string } | null
  readonly flags: readonly string[]
  readonly terms: { readonly q: { readonly details: Readonly<Record<string, unknown>> } }
  readonly asks?: Readonly<Record<string, readonly { readonly question: string }[]>>
}

async function send(payload: object): Promise<readonly Result[]> {
  const answer = await app.inject({ method: 'POST', url: '/v1/score', payload })
  if (answer.statusCode !== 200) throw new Error(answer.body)
  return answer.json().results
}

const one = async (reward: string, sample: object, more: object = {}): Promise<Result> =>
  (await send({ reward, samples: [{ response: 'a cat', ...sample }], ...more }))[0] as Result

const asked = (): { readonly role: string; readonly content: unknown }[] =>
  judge.seen.at(-1)?.body.messages ?? []

const ask = (...parts: object[]) => [{ role: 'user', content: parts }]
const text = (value: string): object => ({ type: 'text', text: value })
const cat = png(40, 30)
const dog = png(50, 20)

t.test(
  'the images of a conversation stand in the question where they stood, for each kind of server',
  async (t) => {
    const prompt = ask(
      text('Is this '),
      imagePart(dataUrl(cat), { detail: 'low' }),
      text('or this a cat?'),
      imagePart(dataUrl(dog)),
    )
    for (const reward of ['sees', 'sglang', 'openai', 'together']) {
      const result = await one(reward, { prompt })
      t.match(result, { valid: true, reward: 1, flags: [] }, reward)
      t.equal(judge.seen.at(-1)?.path, '/v1/chat/completions')
      const [{ content } = { content: null }, ...others] = asked()
      t.strictSame(others, [])
      t.match(content, [
        { type: 'text', text: /^Q: ⟦(\w+)\nIs this \n\1⟧$/ },
        { type: 'image_url', image_url: { url: dataUrl(cat), detail: 'low' } },
        { type: 'text', text: /^⟦(\w+)\nor this a cat\?\n\1⟧$/ },
        { type: 'image_url', image_url: { url: dataUrl(dog) } },
        { type: 'text', text: /^ A: ⟦(\w+)\na cat\n\1⟧$/ },
      ])
    }
  },
)

t.test(
  'roles of several turns stay the author’s, and shipped judges show the images of the question',
  async (t) => {
    const turns = [
      { role: 'user', content: [imagePart(dataUrl(cat))] },
      { role: 'assistant', content: 'A cat.' },
      { role: 'user', content: 'Sure?' },
    ]
    t.match(await one('sees', { prompt: turns }), { valid: true })
    t.match(asked()[0]?.content, [
      { text: 'Q: [user]\n' },
      { type: 'image_url' },
      { text: /^\n\[assistant\]\n⟦(\w+)\nA cat\.\n\1⟧\n\[user\]\n⟦/ },
    ])
    const prompt = ask(imagePart(dataUrl(cat)), text('What is it?'))
    t.match(await one('stock', { prompt }), { valid: true, reward: 1, flags: [] })
    t.match(
      asked().flatMap(({ content }) => content),
      [{ type: 'text' }, { type: 'image_url' }, { type: 'text' }],
    )
    t.match(await one('stock', { prompt: ask(imagePart(dataUrl(cat))), rm_prompt: 'Is it a cat?' }), {
      valid: true,
    })
    t.match(JSON.stringify(asked()), /Is it a cat\?/)
    const pair = {
      reward: 'pairs',
      samples: [
        { prompt, response: 'a' },
        { prompt, response: 'b' },
      ],
    }
    for (const { failure } of await send(pair))
      t.equal(failure?.kind, 'judge_unparseable', 'a reply of 1 is none of its verdicts')
    t.match(JSON.stringify(asked()), /image_url/)
  },
)

t.test('scalar models of vLLM get the conversation with its images', async (t) => {
  t.match(await one('scalar', { prompt: ask(imagePart(dataUrl(cat)), text('What?')) }), {
    valid: true,
    reward: 2.5,
  })
  const { path, body } = judge.seen.at(-1) ?? {}
  t.equal(path, '/classify')
  t.match(body, {
    messages: [
      {
        role: 'user',
        content: [
          { type: 'image_url', image_url: { url: dataUrl(cat) } },
          { type: 'text', text: 'What?' },
        ],
      },
      { role: 'assistant', content: 'a cat' },
    ],
    use_activation: false,
  })
})

t.test('a request holds an image once for all rows that refer to it', async (t) => {
  const images = { [sha256(cat)]: dataUrl(cat), [sha256(dog)]: dataUrl(dog) }
  const forms = [
    imagePart(`sha256:${sha256(cat)}`),
    { type: 'input_image', image_url: `sha256:${sha256(cat).toUpperCase()}` },
    { type: 'image', sha256: sha256(cat) },
    { type: 'image', image: `sha256:${sha256(cat)}` },
    imagePart(dataUrl(cat)),
  ]
  const samples = forms.map((part, at) => ({ prompt: ask(part, text('What?')), response: `a cat ${at}` }))
  const results = await send({ reward: 'sees', samples, images })
  t.strictSame(
    results.map(({ valid, failure }) => valid || failure),
    forms.map(() => true),
  )
  const urls = judge.seen.slice(-forms.length).map(({ body }) => body.messages[0].content[1].image_url.url)
  t.strictSame(
    urls,
    forms.map(() => dataUrl(cat)),
  )
  const [first, second] = await send({
    reward: 'sees',
    samples: [
      { prompt: ask(imagePart(`sha256:${sha256(dog)}`)), response: 'a' },
      { prompt: ask(imagePart(`sha256:${'0'.repeat(64)}`)), response: 'a' },
    ],
    images: { [sha256(dog)]: dataUrl(cat) },
  })
  t.match(first?.failure, { kind: 'bad_sample', detail: /^prompt\.0: images\.\w{12} has other bytes/ })
  t.match(second?.failure, { kind: 'unseen_content', detail: /^prompt\.0 .*its bytes were not sent/ })
})

t.test('what a model does not take is bad_sample by name, and no judge is asked', async (t) => {
  const before = judge.seen.length
  const fails = async (reward: string, detail: RegExp, ...parts: object[]) => {
    const { failure } = await one(reward, { prompt: ask(...parts, text('What?')) })
    t.match(failure, { kind: 'bad_sample', detail })
  }
  const small = imagePart(dataUrl(cat))
  await fails('small', /3 images; the model 'small' takes 2 \(images\.max_per_sample\)/, small, small, small)
  await fails(
    'small',
    /of 2001 bytes; the model takes 2000 \(images\.max_bytes\)/,
    imagePart(dataUrl(paddedPng(1, 1, 2001))),
  )
  await fails(
    'small',
    /101 x 100 pixels; the model takes 10000/,
    imagePart(dataUrl(paddedPng(101, 100, 500))),
  )
  await fails(
    'sees',
    /4294967295 x 4294967295 pixels/,
    imagePart(dataUrl(paddedPng(0xffffffff, 0xffffffff, 500))),
  )
  await fails('sees', /does not say its width/, imagePart(dataUrl(paddedPng(0, 100, 500))))
  await fails('sees', /does not say its width/, imagePart(dataUrl(cat.subarray(0, 20))))
  await fails(
    'sees',
    /no PNG, JPEG, WebP or GIF/,
    imagePart(dataUrl(Buffer.from('<svg xmlns="http://www.w3.org/2000/svg"/>'))),
  )
  await fails('sees', /no PNG, JPEG, WebP or GIF/, imagePart(dataUrl(Buffer.alloc(3000, 7), 'image/jpeg')))
  await fails('sees', /is no address that servers fetch: paths/, imagePart('/etc/passwd'))
  await fails('sees', /is no address that servers fetch: paths/, imagePart('file:///etc/passwd'))
  for (const part of [{ type: 'image' }, imagePart('data:image/png,%89PNG')])
    t.match(await one('sees', { prompt: ask(part, text('What?')) }), {
      failure: { kind: 'unseen_content', detail: /its bytes were not sent/ },
    })
  t.equal(judge.seen.length, before)
})

t.test('each type is read by its first bytes, whatever the data URL says', async (t) => {
  const bytes = (hex: string) => Buffer.from(hex.replaceAll(' ', '').padEnd(240, '0'), 'hex')
  const files = {
    'image/gif': Buffer.concat([Buffer.from('GIF89a\x28\x00\x1e\x00', 'latin1'), Buffer.alloc(40)]),
    'image/jpeg': bytes('ffd8ff e00004 4142 ffee0003 41 ff ffc0000b 08 001e 0028 03'),
    'image/webp': Buffer.concat([
      Buffer.from('RIFF____WEBPVP8X\x0a\0\0\0\0\0\0\0\x27\0\0\x1d\0\0', 'latin1'),
      Buffer.alloc(40),
    ]),
  }
  for (const [type, file] of Object.entries(files)) {
    t.match(await one('sees', { prompt: ask(imagePart(dataUrl(file, 'image/x'))) }), { valid: true }, type)
    t.match(asked()[0]?.content, [{}, { image_url: { url: dataUrl(file, type) } }])
  }
  const odd = cat.toString('base64url')
  await one('sees', { prompt: ask(imagePart(`data:image/png;base64,${odd}`)) })
  t.match(
    asked()[0]?.content,
    [{}, { image_url: { url: dataUrl(cat) } }],
    'and sent as every reader reads it',
  )
})

t.test('addresses reach the judge only from listed hosts and only from the question', async (t) => {
  const url = 'https://images.example.org/a.png?x=1'
  t.match(await one('fetches', { prompt: ask(imagePart(url)) }), { valid: true })
  t.match(asked()[0]?.content, [{}, { type: 'image_url', image_url: { url } }])
  t.match(await one('fetches', { prompt: ask(imagePart('http://OTHER.example:8080\\@evil.example/a')) }), {
    valid: true,
  })
  t.match(asked()[0]?.content, [{}, { image_url: { url: 'http://other.example:8080/@evil.example/a' } }])
  const before = judge.seen.length
  const refused = async (reward: string, sample: object) => (await one(reward, sample)).failure
  for (const odd of [
    'https://evil.example/a.png',
    'https://images.example.org.evil.example/a.png',
    'https://images.example.org:444/a.png',
    'https://other.example/a.png',
    'http://169.254.169.254/latest/meta-data',
  ])
    t.match(
      await refused('fetches', { prompt: ask(imagePart(odd)) }),
      { kind: 'bad_sample', detail: /host that is not in/ },
      odd,
    )
  t.match(
    await refused('sees', { prompt: ask(imagePart(url)) }),
    { detail: /images\.hosts/ },
    'none by default',
  )
  t.match(await refused('fetches', { prompt: ask(imagePart('https://a:b@images.example.org/')) }), {
    detail: /a user or a password/,
  })
  const wrote = { detail: /never passed on/ }
  const said = (role: string) => [
    { role, content: [imagePart(url)] },
    { role: 'assistant', content: 'a' },
  ]
  for (const role of ['tool', 'user', 'assistant'])
    t.match(
      await refused('fetches-all', { prompt: 'q', response: said(role) }),
      wrote,
      `${role} of the rollout`,
    )
  t.match(
    await refused('fetches', { prompt: [...said('tool'), ...ask(text('q'))] }),
    wrote,
    'tool of the prompt',
  )
  t.equal(judge.seen.length, before)
  const shown = [
    { role: 'tool', content: [imagePart(dataUrl(cat))] },
    { role: 'assistant', content: 'a' },
  ]
  t.match(await one('whole', { prompt: 'q', response: shown }), { valid: true }, 'bytes of tools are shown')
})

t.test('a step that ignores images shows none', async (t) => {
  const { valid, flags } = await one('blind', { prompt: ask(imagePart('/a/path'), text('What?')) })
  t.strictSame([valid, flags], [true, ['q:ignored:image']])
  t.match(asked(), [{ content: /^Q: ⟦\w+\nWhat\?/ }])
})

t.test('a question shows only images of its rows', async (t) => {
  t.match((await one('foreign', { prompt: 'q' })).failure, {
    kind: 'function_error',
    detail: /an image that its rows do not have/,
  })
})

t.test('cached answers and shared calls are those of the same image', async (t) => {
  const row = (bytes: Buffer) => ({
    prompt: ask(imagePart(dataUrl(bytes)), text('What?')),
    response: 'cached',
  })
  const before = judge.seen.length
  await send({ reward: 'cached', samples: [row(cat), row(cat), row(dog)] })
  t.equal(judge.seen.length, before + 2, 'single flight')
  await send({ reward: 'cached', samples: [row(dog), row(cat)] })
  t.equal(judge.seen.length, before + 2, 'cache')
  await send({ reward: 'cached', samples: [row(png(40, 30, 1))] })
  t.equal(judge.seen.length, before + 3, 'another image of the same size')
})

t.test('questions with images never share a call', async (t) => {
  const before = judge.seen.length
  const images = Array.from({ length: 16 }, (_, at) => imagePart(dataUrl(png(40, 30, at))))
  await send({ reward: 'together', samples: images.map((part) => ({ prompt: ask(part), response: 'a' })) })
  const paths = judge.seen.slice(before).map(({ path }) => path)
  t.strictSame(paths, Array(16).fill('/v1/chat/completions'))
})

t.test('with prefix_affinity, questions about an image go to the server that has seen it', async (t) => {
  const servers = [judge, ...others]
  const asked = async (width: number, response: string) => {
    const before = servers.map(({ seen }) => seen.length)
    await one('near', { prompt: ask(imagePart(dataUrl(png(width, 30))), text('What?')), response })
    return servers.findIndex(({ seen }, at) => seen.length > (before[at] ?? 0))
  }
  const chosen: number[] = []
  for (let width = 1; width <= 12; width += 1) {
    const first = await asked(width, 'a')
    t.equal(await asked(width, 'b'), first)
    chosen.push(first)
  }
  t.ok(new Set(chosen).size > 1, `images are spread: ${chosen}`)
})

t.test('a long text is cut to what the images leave of the prompt, and images never are', async (t) => {
  const response = 'word '.repeat(2000)
  const seen = await one('short', { prompt: ask(imagePart(dataUrl(png(280, 280)))), response })
  t.match(seen, { valid: true, flags: ['q:truncated'] })
  const { 1: image, 2: last } = (asked()[0]?.content ?? {}) as Readonly<
    Record<number, { readonly text: string }>
  >
  const rest = last?.text ?? ''
  t.match(image, { image_url: { url: dataUrl(png(280, 280)) } })
  t.match(rest, /the middle left out/)
  t.ok(rest.length < 4 * 300, 'the image takes 100 of 400 tokens')
})

t.test('functions, replies and records get handles of images, never bytes', async (t) => {
  const prompt = ask(imagePart(dataUrl(cat)), text('What?'))
  const handle = { type: 'image', sha256: sha256(cat), size: cat.length, mediaType: 'image/png' }
  const { terms } = await one('shows', { prompt })
  t.match(terms.q.details, { prompt: [{ parts: [handle, { type: 'text' }] }] })
  const { asks } = await one('sees', { prompt }, { explain: true })
  const question = asks?.q?.[0]?.question ?? ''
  t.match(JSON.parse(question), [
    { role: 'user', images: [{ sha256: sha256(cat), size: cat.length, mediaType: 'image/png' }] },
  ])
  t.notMatch(question, cat.toString('base64').slice(0, 40))
})

t.test('Python functions as well', { skip: withoutPython }, async (t) => {
  const big = paddedPng(30, 30, 300_000)
  const { reward } = await one('python', { prompt: ask(imagePart(dataUrl(big)), text('What?')) })
  t.ok((reward ?? 1e6) < 1000)
})
