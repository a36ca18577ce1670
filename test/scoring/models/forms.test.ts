import t from 'tap'
import { systemClock } from '../../../src/core/clock.ts'
import { configOf, failureOf, judge, question } from '../../support/models.ts'
import { completion, hang, json } from '../../support/scripted-server.ts'

const chat = (content: string) => [
  { role: 'user', content: 'question' },
  { role: 'assistant', content },
]

t.test('the openai backend sends what such servers know, with the key from the environment', async (t) => {
  const { ask, server } = await judge(
    t,
    [
      (seen) =>
        seen.body.input
          ? { model: 'gpt-5-2026-01-01', data: [{ index: 0, embedding: [1] }] }
          : { ...completion(seen, 'Yes'), model: 'gpt-5-2026-01-01' },
    ],
    { backend: 'openai', model: 'openai/gpt-5', api_key_env: 'KEY' },
    { env: { KEY: 'secret' } },
  )
  const { answer } = await ask(chat('a'), {
    sampling: { temperature: 0, top_k: 5, min_p: 0.1, thinking: true, logprobs: 1 },
    reply: { schema: { type: 'object' } },
  })
  t.equal(answer.text, 'Yes')
  t.equal(server.seen[0]?.headers.authorization, 'Bearer secret')
  t.strictSame(server.seen[0]?.body, {
    model: 'openai/gpt-5',
    messages: chat('a'),
    temperature: 0,
    logprobs: true,
    top_logprobs: 1,
    response_format: {
      type: 'json_schema',
      json_schema: { name: 'verdict', schema: { type: 'object' }, strict: true },
    },
  })
  await ask('plain', { reply: { choice: ['Yes'] } })
  t.strictSame(server.seen[1]?.body, { model: 'openai/gpt-5', prompt: 'plain', max_tokens: 1024 })
  t.strictSame((await ask(['a'] as never, { ask: 'embed' })).answer, [[1]] as never)
  t.match(await failureOf(ask('q', { ask: 'classify' })), { kind: 'judge_rejected', retryable: false })
  server.script = (seen) => {
    const top = [{ token: 'A', logprob: 0 }]
    const logprobs = { content: [{ token: 'A', logprob: 0, top_logprobs: top }] }
    return { ...completion(seen, 'A', { logprobs }), model: 'gpt-5' }
  }
  const choice = { question: chat('b'), labels: ['A', 'B'] }
  t.strictSame((await ask(choice as never, { ask: 'choose' })).answer, { A: 1, B: 0 } as never)
})

t.test('the openai backend refuses the answer of another model', async (t) => {
  const { ask, server } = await judge(t, [hang], {
    backend: 'openai',
    model: 'openai/gpt-6-luna',
    served_model_aliases: ['my-deployment'],
    retry: { max: 0 },
    breaker: { failures: 1000 },
  })
  const others = [
    'claude',
    'gpt-6',
    'gpt-6-lun',
    'gpt-6-luna-mini',
    'gpt-6-luna-mini-2026-01-01',
    'gpt-6-luna-32k',
    'gpt-6-lunar',
    'not-gpt-6-luna',
    'azure/gpt-6-luna',
    'openai/gpt-6-luna/mini',
    '',
    undefined,
  ]
  for (const model of others) {
    server.script = (seen) => ({ ...completion(seen, 'Yes'), model })
    t.match(await failureOf(ask(`q ${model}`)), { kind: 'judge_unreachable' }, String(model))
  }
  const own = [
    'openai/gpt-6-luna',
    'gpt-6-luna',
    'gpt-6-luna-2026-08-06',
    'gpt-6-luna-0806',
    'gpt-6-luna-20260806',
    'gpt-6-luna@20260806',
    'gpt-6-luna-002',
    'gpt-6-luna-preview-05-20',
    'gpt-6-luna-1106-preview',
    'gpt-6-luna-20260806-v1:0',
    'gpt-6-luna-v2',
    'gpt-6-luna:latest',
    'proxy/openai/gpt-6-luna',
    'my-deployment',
  ]
  for (const model of own) {
    server.script = (seen) => ({ ...completion(seen, 'Yes'), model })
    t.equal((await ask(`q ${model}`)).answer.text, 'Yes', model)
  }
})

t.test('an address may have a path of its own', async (t) => {
  const { server, models } = await judge(t, [(seen) => completion(seen, 'Yes')])
  const under = models.next({ judge: configOf([`${server.url}/openai/`]) })
  t.teardown(() => under.close())
  await under.ask(question('q', systemClock.now() + 60_000))
  t.equal(server.seen[0]?.path, '/openai/v1/completions')
})

t.test('a scalar model is asked at the endpoint that its config names', async (t) => {
  const asked = async (endpoint: string, data: unknown[], more: object = {}) => {
    const { ask, server } = await judge(t, [() => ({ model: 'm', data })], {
      classify: { endpoint, ...more },
      batch: { max_size: 1 },
      retry: { max: 0 },
    })
    const outcome = await ask(chat('answer'), { ask: 'classify' }).then(
      ({ answer }) => answer as unknown,
      (error) => error.failure.kind as unknown,
    )
    return [server.seen[0]?.path, server.seen[0]?.body, outcome]
  }
  t.strictSame(await asked('pooling', [{ index: 0, data: [0.25] }], { activation: true }), [
    '/pooling',
    { model: 'm', messages: chat('answer'), use_activation: true },
    0.25,
  ])
  t.equal((await asked('pooling', [{ index: 0, data: [[0.5], [0.75]] }]))[2], 0.75)
  t.strictSame(await asked('score', [{ index: 0, score: -3 }]), [
    '/score',
    { model: 'm', text_1: ['question'], text_2: ['answer'], use_activation: false },
    -3,
  ])
  t.equal((await asked('classify', [{ index: 0, probs: [0.1, 0.9] }]))[2], 'judge_rejected')
  t.equal((await asked('classify', [{ index: 0, probs: [0.1, 0.9] }], { label: 1 }))[2], 0.9)
  t.equal((await asked('classify', [{ index: 0, probs: [0.1, 0.9] }], { label: 2 }))[2], 'judge_unreachable')
  t.equal((await asked('classify', [{ index: 0, probs: null }]))[2], 'judge_unreachable')
})

t.test('a cross encoder needs two texts', async (t) => {
  const { ask, server } = await judge(t, [hang], { classify: { endpoint: 'score' } })
  t.match(await failureOf(ask('one', { ask: 'classify' })), { kind: 'judge_rejected' })
  t.equal(server.seen.length, 0)
})

t.test('a process reward model gives one number per step, from the configured column', async (t) => {
  const { ask, server } = await judge(t, [hang], {
    rewards: { task: 'token_classify', activation: false, column: 1 },
    retry: { max: 0 },
    breaker: { failures: 99 },
  })
  const rewards = async (data: unknown) => {
    server.script = () => ({ model: 'm', data: [{ index: 0, data }] })
    return ask(`q${server.seen.length}`, { ask: 'rewards' }).then(
      ({ answer }) => answer as unknown,
      (error) => error.failure.kind as unknown,
    )
  }
  t.strictSame(
    await rewards([
      [0.9, 0.1],
      [0.2, 0.8],
    ]),
    [0.1, 0.8],
  )
  t.strictSame(server.seen[0]?.body, {
    model: 'm',
    input: 'q0',
    task: 'token_classify',
    use_activation: false,
  })
  t.strictSame(await rewards([0.5, 0.6]), [0.5, 0.6])
  t.equal(await rewards([[0.5]]), 'judge_unreachable')
  t.equal(await rewards([[null, 'a']]), 'judge_unreachable')
  t.equal(await rewards('AAAA'), 'judge_unreachable')
})

t.test('the probability of a label is the sum over the tokens that begin it', async (t) => {
  const { ask, server } = await judge(t, [hang], { retry: { max: 0 }, breaker: { failures: 99 } })
  const choose = async (labels: string[], top: [string, number][]) => {
    const alternatives = top.map(([token, share]) => ({ token, logprob: Math.log(share) }))
    server.script = (seen) =>
      completion(seen, 'x', {
        logprobs: { content: [{ token: 'x', logprob: -9, top_logprobs: alternatives }] },
      })
    const input = { question: chat(String(server.seen.length)), labels }
    return ask(input as never, { ask: 'choose' }).then(
      ({ answer }) => answer as unknown,
      (error) => error.failure.kind as unknown,
    )
  }
  const near = (actual: unknown, wanted: Record<string, number>) => {
    for (const [label, share] of Object.entries(wanted))
      t.ok(Math.abs(((actual as Record<string, number>)[label] as number) - share) < 1e-9, label)
  }
  near(
    await choose(
      ['Yes', 'No'],
      [
        ['Yes', 0.5],
        [' Yes', 0.1],
        ['▁No', 0.2],
        ['Maybe', 0.2],
      ],
    ),
    { Yes: 0.75, No: 0.25 },
  )
  near(
    await choose(
      ['correct', 'incorrect'],
      [
        ['in', 0.3],
        ['corr', 0.1],
        ['c', 0.2],
      ],
    ),
    {
      correct: 0.5,
      incorrect: 0.5,
    },
  )
  near(await choose(['A', 'B'], [['A', 0.9]]), { A: 1, B: 0 })
  near(await choose(['__proto__', 'B'], [['B', 0.9]]), { B: 1 })
  t.equal(
    await choose(
      ['A', 'B'],
      [
        ['C', 0.99],
        ['A', 0.001],
      ],
    ),
    'judge_unparseable',
  )
  t.equal(
    await choose(
      ['Aa', 'Ab'],
      [
        ['A', 0.9],
        [' ', 0.1],
      ],
    ),
    'judge_unparseable',
  )
  t.match(server.seen[0]?.body, {
    max_tokens: 1,
    temperature: 0,
    logprobs: true,
    top_logprobs: 20,
    chat_template_kwargs: { enable_thinking: false },
  })
  server.script = (seen) => completion(seen, 'x')
  const bare = { question: chat('bare'), labels: ['A'] }
  t.match(await failureOf(ask(bare as never, { ask: 'choose' })), { kind: 'judge_unreachable' })
})

t.test('a model that spent its tokens on thinking returns an empty, truncated text', async (t) => {
  const { ask } = await judge(t, [
    (seen) => ({
      model: seen.body.model,
      choices: [{ message: { content: null, reasoning_content: 'hm' }, finish_reason: 'length' }],
    }),
  ])
  t.strictSame((await ask(chat('a'))).answer, { text: '', finishReason: 'length' })
})

t.test('a reply over the limit is cut, and never an answer', async (t) => {
  const { ask } = await judge(
    t,
    [(_seen, response) => json(response, { model: 'm', choices: [{ text: 'a'.repeat(5000) }] })],
    { max_reply_bytes: 1024, retry: { max: 0 } },
  )
  t.match(await failureOf(ask('q')), { kind: 'judge_rejected' })
})

t.test('the lookup of a label outlives the question that began it', async (t) => {
  const { models, server } = await judge(t, [hang], {
    choose: { endpoint: 'generative_scoring' },
    retry: { max: 0 },
  })
  const gone = new AbortController()
  const choose = (text: string, more: object = {}) =>
    models.ask({
      ...question(text, systemClock.now() + 60_000),
      ask: 'choose',
      input: { question: text, labels: ['a', 'b'] },
      ...more,
    })
  const first = failureOf(choose('first', { signal: gone.signal }))
  await server.saw(2)
  const second = choose('second')
  server.script = ({ path, body }) => {
    if (path !== '/tokenize') {
      const score = body.label_token_ids[0] === 97 ? 0.75 : 0.25
      return { model: 'm', data: [{ index: 0, score }], usage: { prompt_tokens: 6, completion_tokens: 1 } }
    }
    return { tokens: Array.from(body.prompt as string, (letter) => letter.charCodeAt(0)), max_model_len: 99 }
  }
  gone.abort()
  t.match(await first, { kind: 'cancelled' })
  const { answer, attempts } = await second
  t.match(answer, { a: 0.75, b: 0.25 })
  t.equal(attempts, 2)
  await choose('third')
  t.equal(server.seen.filter(({ body }) => body.prompt === 'a').length, 2, 'a known label is not looked up')
  t.match(server.seen.at(-1)?.body, { model: 'm', items: [[100]], apply_softmax: false })
})

t.test('if one label cannot be scored, the others are cancelled', async (t) => {
  const { models, server } = await judge(
    t,
    [
      (seen, response) => {
        const { path, body } = seen
        if (path === '/tokenize')
          return {
            tokens: Array.from(body.prompt as string, (letter) => letter.charCodeAt(0)),
            max_model_len: 99,
          }
        if (body.label_token_ids[0] === 97) return hang(seen, response)
        // Once the other call is there, so that it is under way when this one fails.
        return server.saw(5).then(() => json(response, { error: { message: 'no' } }, 400))
      },
    ],
    { choose: { endpoint: 'generative_scoring' }, retry: { max: 0 } },
  )
  const asked = models.ask({
    ...question('q', systemClock.now() + 60_000),
    ask: 'choose',
    input: { question: 'q', labels: ['a', 'b'] },
  })
  t.match(await failureOf(asked), { kind: 'judge_rejected' })
  t.equal(models.snapshot()[0]?.instances[0]?.inFlight, 0)
  await server.seen.find(({ body }) => body.label_token_ids?.[0] === 97)?.closed
})
