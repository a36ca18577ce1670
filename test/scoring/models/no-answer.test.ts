import t from 'tap'
import { type Asker, failureOf, judge } from '../../support/models.ts'
import { completion, type Script } from '../../support/scripted-server.ts'

const chat = [{ role: 'user', content: 'Is 2 even?' }]

/** A choice of /v1/chat/completions with `1` in it, and what makes it no answer. */
const choice = (message: object, more: object = {}) => ({
  index: 0,
  finish_reason: 'stop',
  message: {
    role: 'assistant',
    content: '1',
    refusal: null,
    tool_calls: [],
    function_call: null,
    ...message,
  },
  ...more,
})

const call = { id: 'x', type: 'function', function: { name: 'grade', arguments: '{"score": 1}' } }

const noAnswers: readonly (readonly [string, object, string])[] = [
  ['refused', choice({ refusal: 'I cannot grade that.' }), 'judge_rejected'],
  ['filtered', choice({}, { finish_reason: 'content_filter' }), 'judge_rejected'],
  [
    'a tool called',
    choice({ content: null, tool_calls: [call] }, { finish_reason: 'tool_calls' }),
    'judge_unparseable',
  ],
  ['a tool called beside content', choice({ tool_calls: [call] }), 'judge_unparseable'],
  ['a function called', choice({ function_call: call.function }), 'judge_unparseable'],
  ['a function called, as it says', choice({}, { finish_reason: 'function_call' }), 'judge_unparseable'],
  ['refused in another form', choice({ refusal: { reason: 'unsafe' } }), 'judge_rejected'],
  [
    'filtered beside its end',
    choice({}, { content_filter_results: { hate: { filtered: true, severity: 'high' } } }),
    'judge_rejected',
  ],
  ['tools called as an object', choice({ tool_calls: { 0: call } }), 'judge_unparseable'],
  ['an error within the message', choice({ error: { message: 'x' } }), 'judge_unreachable'],
  ['ended as repetition', choice({}, { finish_reason: 'repetition' }), 'judge_unparseable'],
  ['aborted', choice({}, { finish_reason: 'abort' }), 'judge_unreachable'],
  ['failed', choice({}, { finish_reason: 'error' }), 'judge_unreachable'],
  ['not ended', choice({}, { finish_reason: null }), 'judge_unreachable'],
]

const says =
  (one: object): Script =>
  (seen) => ({ ...completion(seen, ''), choices: [one] })

t.test('a text that is not a complete answer does not count (M17)', async (t) => {
  for (const [what, one, kind] of noAnswers) {
    const { ask } = await judge(t, [says(one)], { retry: { max: 0 } })
    t.match(await failureOf(ask(chat)), { kind }, what)
  }
  const { ask } = await judge(t, [says(choice({}))])
  t.match((await ask(chat)).answer, { text: '1', finishReason: 'stop' }, 'the same choice without it is one')
})

t.test(
  'where another server may do better, it is asked; a refusal is not asked for again (M17)',
  async (t) => {
    for (const [what, one, kind] of noAnswers) {
      const { ask, servers } = await judge(
        t,
        [says(one), says(choice({}))],
        { retry: { budget: 1 } },
        { random: () => 0 },
      )
      const [first, second] = servers
      if (kind === 'judge_rejected') t.match(await failureOf(ask(chat)), { kind }, what)
      else t.equal((await ask(chat)).instance, second?.url, what)
      t.equal(first?.seen.length, 1)
      t.equal(second?.seen.length, kind === 'judge_rejected' ? 0 : 1, what)
    }
  },
)

t.test('no text can make a judge eject its server (M17)', async (t) => {
  for (const [what, one, kind] of noAnswers) {
    const { ask, models } = await judge(t, [says(one)], { retry: { max: 0 }, breaker: { failures: 1 } })
    await failureOf(ask(chat))
    const isOut = kind === 'judge_unreachable'
    t.equal(models.snapshot()[0]?.instances[0]?.state, isOut ? 'ejected' : 'ready', what)
  }
})

t.test('an invalid choice of a batch reply fails no other question (M17)', async (t) => {
  const bad = new Set<string>()
  const { ask } = await judge(
    t,
    [
      (seen) => {
        const asked: unknown[] = Array.isArray(seen.body.messages[0])
          ? seen.body.messages.map((turns: { content: string }[]) => turns[0]?.content)
          : [seen.body.messages[0].content]
        const choices = asked.map((text, index) =>
          choice(bad.has(String(text)) ? { refusal: 'no' } : { content: String(text) }, { index }),
        )
        return { ...completion(seen, ''), choices }
      },
    ],
    { batch: { generate: true, max_size: 8 } },
  )
  bad.add('q2')
  const texts = ['q0', 'q1', 'q2', 'q3']
  const asked = await Promise.all(
    texts.map((content) =>
      ask([{ role: 'user', content }]).then(
        ({ answer }) => answer.text,
        (error) => error.failure.kind,
      ),
    ),
  )
  t.strictSame(asked, ['q0', 'q1', 'judge_rejected', 'q3'])
})

t.test('embeddings of one question with different lengths are not an answer (M17)', async (t) => {
  const vectors: number[][] = [[1, 2], [1]]
  const script: Script = () => ({
    model: 'm',
    data: vectors.map((embedding, index) => ({ index, embedding })),
  })
  for (const backend of ['vllm', 'sglang', 'openai']) {
    const { ask } = await judge(t, [script], { backend, retry: { max: 0 } })
    t.match(
      await failureOf(ask(['a', 'b'] as never, { ask: 'embed' })),
      { kind: 'judge_unreachable' },
      backend,
    )
  }
})

t.test('a text may hold anything that looks like a key of the reply (M17)', async (t) => {
  const texts = [
    ':',
    '":',
    '": "',
    '\\',
    '\\":',
    'a":1,"a":2',
    '{"a":1,"a":2}',
    ' : ',
    '"text":"text":',
    '": \\"',
  ]
  const { ask } = await judge(t, [(seen) => completion(seen, seen.body.prompt)])
  for (const text of texts) t.equal((await ask(text)).answer.text, text)
})

t.test(
  'probabilities that do not form a distribution give neither a choice nor a number (M18)',
  async (t) => {
    const tops: readonly (readonly [string, readonly (readonly [string, number])[], boolean])[] = [
      [
        'a distribution',
        [
          ['1', Math.log(0.6)],
          ['0', Math.log(0.4)],
        ],
        true,
      ],
      [
        'rounded up a little',
        [
          ['1', 1e-6],
          ['0', -30],
        ],
        true,
      ],
      [
        'rounded to 16 bits',
        [
          ['1', -0.6914],
          ['0', -0.6914],
        ],
        true,
      ],
      [
        'one text of several tokens',
        [
          ['1', -1],
          ['1', -2],
          ['1', -9],
          ['0', -2],
        ],
        true,
      ],
      [
        'fragments of characters',
        Array.from({ length: 20 }, (_, at) => [at === 0 ? '1' : '\ufffd', -4] as const),
        true,
      ],
      [
        'logits',
        [
          ['1', 5],
          ['0', 3],
        ],
        false,
      ],
      [
        'more than all',
        [
          ['1', -0.1],
          ['0', -0.1],
        ],
        false,
      ],
      ['one token fifty times', Array(50).fill(['1', Math.log(0.02)]), false],
      ['one token twenty times, with little', Array(20).fill(['1', Math.log(0.01)]), false],
    ]
    for (const [what, top, isOne] of tops) {
      const alternatives = top.map(([token, logprob]) => ({ token, logprob }))
      const content = [{ token: '1', logprob: Math.min(0, top[0]?.[1] ?? 0), top_logprobs: alternatives }]
      const { ask } = await judge(t, [(seen) => completion(seen, '1', { logprobs: { content } })], {
        retry: { max: 0 },
      })
      const asked = choose(ask)
      if (isOne) t.ok(((await asked) as { '1': number })['1'] <= 1, what)
      else t.match(await failureOf(asked), { kind: 'judge_unreachable' }, what)
    }
  },
)

t.test('scores of labels that add up to more than 1 are no choice (M18)', async (t) => {
  const scores = new Map([
    [49, 0.9],
    [48, 0.9],
  ])
  const { ask } = await judge(
    t,
    [
      ({ path, body }) =>
        path === '/tokenize'
          ? {
              tokens: Array.from(body.prompt ?? 'x', (letter: string) => letter.charCodeAt(0)),
              max_model_len: 99,
            }
          : { model: 'm', data: [{ index: 0, score: scores.get(body.label_token_ids[0]) }] },
    ],
    { choose: { endpoint: 'generative_scoring' }, retry: { max: 0 } },
  )
  t.match(await failureOf(choose(ask, 'plain')), { kind: 'judge_unreachable' })
  scores.set(48, 0.1)
  t.match(await choose(ask, 'plain'), { 1: 0.9, 0: 0.1 })
})

const choose = (ask: Asker, question: unknown = chat): Promise<unknown> =>
  ask({ question, labels: ['1', '0'] } as never, { ask: 'choose' }).then(({ answer }) => answer)

const entries: readonly (readonly [string, 'vllm' | 'sglang', string, unknown, object])[] = [
  ['class', 'vllm', 'classify', 'q', { index: 0, probs: [0.9] }],
  ['score', 'vllm', 'classify', 'q', { index: 0, score: 0.9 }],
  ['steps', 'vllm', 'rewards', 'q', { index: 0, data: [[0.1], [0.9]] }],
  ['vector', 'vllm', 'embed', ['q'], { index: 0, embedding: [1, 0] }],
  ['score', 'sglang', 'classify', 'q', { embedding: [0.5], meta_info: { finish_reason: null } }],
  ['score', 'sglang', 'classify', 'q', { embedding: [0.5], meta_info: { finish_reason: { type: 'stop' } } }],
]

t.test('a number next to an error, or from aborted work, does not count (M17)', async (t) => {
  for (const [what, backend, kind, input, entry] of entries) {
    let more: object = {}
    const { ask } = await judge(
      t,
      [() => (backend === 'vllm' ? { model: 'm', data: [{ ...entry, ...more }] } : [{ ...entry, ...more }])],
      { backend, retry: { max: 0 }, breaker: { failures: 99 } },
    )
    const asked = () => ask(input as string, { ask: kind as 'generate', key: JSON.stringify(more) })
    const harms: object[] = [{ error: 'out of memory' }, { error: { code: 500 } }, { object: 'error' }]
    if (backend === 'sglang')
      harms.push(
        { meta_info: { error: 'x' } },
        { meta_info: { finish_reason: { type: 'timeout' } } },
        { meta_info: { finish_reason: 'abort' } },
      )
    for (more of harms)
      t.match(
        await failureOf(asked()),
        { kind: 'judge_unreachable' },
        `${backend} ${what} ${JSON.stringify(more)}`,
      )
    more = {}
    t.ok(await asked(), `${backend} ${what} without it is an answer`)
  }
})

t.test('an empty list of steps is not an answer, since its product would be 1 (M17)', async (t) => {
  const { ask } = await judge(t, [() => ({ model: 'm', data: [{ index: 0, data: [] }] })], {
    backend: 'vllm',
    retry: { max: 0 },
  })
  t.match(await failureOf(ask('q', { ask: 'rewards' as 'generate' })), { kind: 'judge_unreachable' })
})

t.test('probability missing from a short list of alternatives is not taken for zero (M17)', async (t) => {
  let token: object = {}
  const { ask } = await judge(t, [(seen) => completion(seen, '1', { logprobs: { content: [token] } })], {
    retry: { max: 0 },
    breaker: { failures: 99 },
  })
  const choose = async (said: string, share: number, top: readonly (readonly [string, number])[]) => {
    const alternatives = top.map(([token, share]) => ({ token, logprob: Math.log(share) }))
    token = { token: said, logprob: Math.log(share), top_logprobs: alternatives }
    const input = { question: chat, labels: ['1', '0'] } as never
    return ask(input, { ask: 'choose' as 'generate', key: JSON.stringify(token) }).then(
      ({ answer }) => (answer as unknown as Record<string, number>)['1'],
      (error) => error.failure.kind as string,
    )
  }
  const cases: Readonly<
    Record<string, readonly [...Parameters<typeof choose>, found: number | 'judge_unreachable']>
  > = {
    'half may be the other label': ['1', 0.5, [['1', 0.5]], 'judge_unreachable'],
    'as much may be the other label': [
      'x',
      0.9,
      [
        ['x', 0.9],
        ['1', 0.05],
      ],
      'judge_unreachable',
    ],
    'it said what has no place beside': ['0', 0.6, [['1', 0.99]], 'judge_unreachable'],
    'two probabilities of one': [
      '1',
      0.05,
      [
        ['1', 0.99],
        ['0', 0.007],
      ],
      'judge_unreachable',
    ],
    'what is left is little': ['1', 0.97, [['1', 0.97]], 1],
    'a forced label': ['1', 1, [['1', 1]], 1],
    'less than the last of the list': [
      '1',
      0.9,
      [
        ['1', 0.9],
        ['x', 0.09],
        ['y', 0.001],
      ],
      1,
    ],
    'every label is listed': [
      '1',
      0.5,
      [
        ['1', 0.5],
        ['0', 0.5],
      ],
      0.5,
    ],
  }
  for (const [why, [said, share, top, found]] of Object.entries(cases))
    t.equal(await choose(said, share, top), found, why)
})
