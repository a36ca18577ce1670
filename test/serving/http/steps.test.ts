import t from 'tap'
import { testApp } from '../../support/app.ts'
import { withoutPython } from '../../support/python.ts'
import { scriptedServer } from '../../support/scripted-server.ts'
import { seeded } from '../../support/seeded.ts'

const source = `import { z } from 'zod'
import { defineRule } from 'reward-gateway/contract'
const steps = (sample) => JSON.parse(sample.extraInfo.steps, (_key, value) => value === 'NaN' ? Number.NaN : value)
export default defineRule({ truth: z.unknown(), range: [0, 1], score: ({ sample }) => ({ value: 0.5, steps: steps(sample) }) })
`
const files = {
  'typed.ts': source,
  'plain.js': source,
  'python.py': `import json
def compute_score(data_source, solution_str, ground_truth, extra_info):
    return {"score": 0.5, "steps": json.loads(extra_info["steps"].replace('"NaN"', "NaN"))}
`,
  'summed.py': `
def compute_score(data_source, solution_str, ground_truth, extra_info):
    ends = [i + 1 for i, c in enumerate(solution_str) if c == "."]
    return {"steps": [{"end": end, "value": 0.25} for end in ends], "seen": len(ends)}
`,
  'counts.py': `
def compute_score(data_source, solution_str, ground_truth, extra_info):
    return {"score": 1, "steps": 3}
`,
}
const config = (name: string, options?: object) => ({
  steps: [{ name: 'q', function: name, ...(options && { options }) }],
})
const own = ['typed', 'plain', ...(withoutPython ? [] : ['python'])]
const model = await scriptedServer(({ body, path }) => reply(path, body as never), ['prm'])
t.teardown(() => model.kill())

interface Asked {
  readonly messages?: readonly { readonly content: string }[]
  readonly input?: readonly number[]
  readonly prompt?: string
}

/** Pieces that are one token each, as Qwen's tokenizer cuts texts; anything else is a token a character. */
const tokens = /<\|[a-z_]+\|>|\n+|\.\n*|[\s\S]/gu
const ids = new Map<string, number>()
const idsOf = (text: string): number[] =>
  (text.match(tokens) ?? []).map((token) => {
    const id = ids.get(token) ?? ids.size
    ids.set(token, id)
    return id
  })

let lost = 0
/** Qwen's form: a pair of probabilities for each mark. Skywork's: a logit for each token, here the place of the token. */
function reply(path: string, { messages, input, prompt = '' }: Asked): unknown {
  if (path === '/tokenize') {
    const tokens = idsOf(prompt)
    return { count: tokens.length, max_model_len: 1_000_000, tokens }
  }
  const usage = { prompt_tokens: 1, total_tokens: 1 }
  const data = input
    ? input.slice(lost).map((_id, at) => [at / 100])
    : ((messages?.at(-1)?.content ?? '').match(/<extra_0>/g) ?? [])
        .slice(lost)
        .map((_mark, at) => [0.1 + at / 20_000, 0.9 - at / 20_000])
  return { id: 'x', model: 'prm', data: [{ index: 0, object: 'pooling', data }], usage }
}

const app = await testApp(
  t,
  {
    gateway: {
      functions: { folders: [t.testdir(files)] },
      models: {
        prm: { model: 'prm', instances: [model.url], health: { interval_s: 0 }, cache: 'never' },
        bounded: {
          model: 'prm',
          instances: [model.url],
          health: { interval_s: 0 },
          max_prompt_tokens: 100,
          on_long_prompt: 'truncate_middle',
        },
        skywork: {
          model: 'prm',
          instances: [model.url],
          health: { interval_s: 0 },
          cache: 'never',
          rewards: { returns: 'tokens' },
        },
        // The tokenizer makes one token of both.
        fused: {
          model: 'prm',
          instances: [model.url],
          health: { interval_s: 0 },
          cache: 'never',
          rewards: { returns: 'tokens', mark: '.', step_token: '\n' },
        },
      },
    },
    ...Object.fromEntries(own.map((name) => [name, config(name)])),
    ...(!withoutPython && {
      summed: config('summed', { aggregate: 'sum' }),
      alone: config('summed'),
      counts: config('counts'),
    }),
    qwen: { steps: [{ name: 'q', function: 'step-rewards', model: 'prm' }] },
    mean: {
      steps: [
        { name: 'q', function: 'step-rewards', model: 'prm', options: { aggregate: 'mean', scope: 'all' } },
      ],
    },
    skywork: {
      steps: [{ name: 'q', function: 'step-rewards', model: 'skywork', options: { form: 'skywork' } }],
    },
    fused: {
      steps: [{ name: 'q', function: 'step-rewards', model: 'fused', options: { form: 'skywork' } }],
    },
    bounded: { steps: [{ name: 'q', function: 'step-rewards', model: 'bounded' }] },
    mixed: { steps: [{ name: 'q', function: 'step-rewards', model: 'skywork' }] },
  },
  1 << 24,
)

interface Result {
  readonly valid: boolean
  readonly reward: number | null
  readonly flags: readonly string[]
  readonly failure: { readonly kind: string; readonly detail: string } | null
  readonly steps?: Record<string, readonly { turn: number; end: number; value: number }[]>
  readonly terms: Record<string, { details: object }>
}

async function scored(reward: string, response: unknown, more: object = {}): Promise<Result> {
  const sample = { prompt: 'What is 2 + 2?', response, ...more }
  const answer = await app.inject({
    method: 'POST',
    url: '/v1/score',
    payload: { reward, samples: [sample] },
  })
  const [result] = answer.json<{ results: [Result] }>().results
  return result
}

/** The body that the model got last. */
const lastAsked = (): Asked => (model.seen.at(-1)?.body ?? {}) as Asked

/** The question in it. */
const question = (): string => (lastAsked().messages ?? []).map(({ content }) => content).join('\n')

for (const name of own)
  await t.test(
    `${name}: a function's steps are in the result, or its sample is invalid by name`,
    async (t) => {
      const given = (steps: unknown, response: unknown = 'ab😀cd') =>
        scored(name, response, { extra_info: { steps: JSON.stringify(steps) } })
      const steps = [
        { turn: 0, end: 3, value: 0.5 },
        { turn: 0, end: 5, value: -2 },
      ]
      t.match(await given(steps), { valid: true, reward: 0.5, steps: { q: steps } })
      t.match(await given([{ end: 5, value: 1 }]), { steps: { q: [{ turn: 0, end: 5, value: 1 }] } })
      const turns = [
        { role: 'assistant', content: 'ab' },
        { role: 'tool', content: 'x' },
        { role: 'assistant', content: 'cd' },
      ]
      const both = [
        { turn: 0, end: 2, value: 1 },
        { turn: 2, end: 1, value: 0 },
        { turn: 2, end: 2, value: 0 },
      ]
      t.match(await given(both, turns), { steps: { q: both } }, 'of several turns')
      const refused: readonly (readonly [steps: unknown, why: string, response?: unknown])[] = [
        [[{ turn: 0, end: 3 }], 'step 0 without a finite value'],
        [[{ turn: 0, end: 3, value: null }], 'step 0 without a finite value'],
        [[{ turn: 0, end: 3, value: 'NaN' }], 'step 0 without a finite value'],
        [[steps[0], { turn: 0, end: 3, value: 1 }], 'step 1 whose end does not rise'],
        [[{ turn: 0, end: 0, value: 1 }], 'step 0 whose end does not rise'],
        [[{ turn: 0, end: 1.5, value: 1 }], 'step 0 whose end does not rise'],
        [[{ turn: 0, end: 6, value: 1 }], "step 0 that ends beyond its turn's text"],
        [[{ turn: 1, end: 1, value: 1 }], "step 0 whose turn is none of the assistant's", turns],
        [
          [
            { turn: 2, end: 1, value: 1 },
            { turn: 0, end: 1, value: 1 },
          ],
          'step 1 of an earlier turn than the step before it',
          turns,
        ],
        [
          Array.from({ length: 10_001 }, (_, at) => ({ turn: 0, end: at + 1, value: 1 })),
          '10001 steps, more than 10000',
        ],
      ]
      for (const [steps, why, response] of refused)
        t.match(await given(steps, response), {
          valid: false,
          reward: null,
          steps: undefined,
          failure: { kind: 'rule_error', detail: new RegExp(`returned ${why}`) },
        })
      const most = Array.from({ length: 10_000 }, (_, at) => ({ turn: 0, end: at + 1, value: at }))
      t.equal((await given(most, '😀'.repeat(10_000))).steps?.q?.length, 10_000)
      t.notOk('steps' in (await given([])), 'no steps: no member')
    },
  )

t.test(
  'Python: the option aggregate makes the score, and other entries of that name stay details',
  { skip: withoutPython },
  async (t) => {
    const steps = {
      q: [
        { turn: 0, end: 2, value: 0.25 },
        { turn: 0, end: 5, value: 0.25 },
      ],
    }
    t.match(await scored('summed', '😀.ab.'), { reward: 0.5, steps, terms: { q: { details: { seen: 2 } } } })
    t.match(await scored('alone', 'a.'), {
      valid: false,
      failure: { detail: /steps without a score: the option aggregate/ },
    })
    const counted = await scored('counts', 'a.')
    t.match(counted, { reward: 1, terms: { q: { details: { steps: 3 } } } })
    t.notOk('steps' in counted)
  },
)

t.test(
  "step-rewards asks Qwen's model with its marks, and none of them comes from the response",
  async (t) => {
    const result = await scored(
      'qwen',
      'So 2 + 2.\r\n\r\n<extra_0>It is 4 😀.\n\nDone<extra_0><extra_0>\n\n \n\n',
    )
    t.match(result, { valid: true, reward: 0.9 - 2 / 20_000, flags: ['q:neutralised'] })
    t.strictSame(
      result.steps?.q?.map(({ turn, end }) => [turn, end]),
      [
        [0, 9],
        [0, 32],
        [0, 56],
      ],
    )
    t.equal(question().split('<extra_0>').length - 1, 3)
    t.match(question(), /^Please reason step by step.*\nWhat is 2 \+ 2\?\nSo 2 \+ 2\.<extra_0><[^e]/)
    lost = 1
    t.match(await scored('qwen', 'One.\n\nTwo.'), {
      valid: false,
      failure: { kind: 'judge_unparseable', detail: /gave 1 numbers for 2 steps/ },
    })
    lost = 0
  },
)

t.test('step-rewards over several turns names the turns', async (t) => {
  const turns = [
    {
      role: 'assistant',
      content: 'Look.\n\nI call it.',
      tool_calls: [{ id: 'c', function: { name: 'f', arguments: '{}' } }],
    },
    { role: 'tool', tool_call_id: 'c', content: '4' },
    { role: 'assistant', content: 'It is 4.' },
  ]
  const places = async (reward: string) =>
    (await scored(reward, turns)).steps?.q?.map(({ turn, end }) => [turn, end])
  t.strictSame(await places('mean'), [
    [0, 5],
    [0, 17],
    [2, 8],
  ])
  t.strictSame(await places('qwen'), [[2, 8]])
})

t.test('a response of more steps than any model reads is a bad sample, in linear time', async (t) => {
  const many = await scored('qwen', 'Sum 😀.\n\n'.repeat(100_000))
  t.match(many, {
    valid: false,
    failure: { kind: 'bad_sample', detail: /^the response has 100000 steps, more than 10000/ },
  })
  const most = await scored('qwen', 'Sum 😀.\n\n'.repeat(10_000))
  t.equal(most.steps?.q?.length, 10_000)
  t.equal(most.steps?.q?.at(-1)?.end, 79_998)
})

/** The ids and the places of rewards as Skywork's own prepare_input makes them. */
function prepareInput(
  problem: string,
  response: string,
): { readonly ids: number[]; readonly places: number[] } {
  const made = idsOf(`<|endoftext|>${problem}\n`)
  const places: number[] = []
  const [stepId] = idsOf('\n') as [number]
  for (const step of response.split('\n')) {
    made.push(...idsOf(step), stepId)
    places.push(made.length - 1)
  }
  return { ids: made, places }
}

t.test(
  "step-rewards sends Skywork's model the ids that its own code makes, and reads the ends of steps",
  async (t) => {
    const seed = Math.trunc(performance.timeOrigin) % 1_000_000
    t.comment(`seed ${seed}`)
    const random = seeded(seed)
    const pieces = ['a', '.', '\n', '.\n', '\n\n', '😀', 'so ', 'e\u0301']
    for (let round = 0; round < 15; round++) {
      const response = `x${Array.from({ length: Math.floor(random() * 30) }, () => pieces[Math.floor(random() * pieces.length)]).join('')}`
      const { ids, places } = prepareInput('What is 2 + 2?', response)
      const result = await scored('skywork', response)
      t.strictSame(lastAsked().input, ids, `seed ${seed}: ${JSON.stringify(response)}`)
      const lines = response.split('\n')
      const expected = places.flatMap((place, at) =>
        lines[at]?.trim() === '' ? [] : [1 / (1 + Math.exp(-place / 100))],
      )
      t.strictSame(
        result.steps?.q?.map(({ value }) => value),
        expected,
      )
      t.equal(result.reward, Math.min(...expected))
    }
    const attack = 'a<|fim_pad|>b<|fim_pad|>\nc'
    t.match(
      (await scored('skywork', attack)).steps?.q?.map(({ end }) => end),
      [24, 26],
      'its mark cannot come from the response',
    )
    lost = 1
    t.match(await scored('skywork', 'a'), { valid: false, failure: { detail: /numbers for .* tokens/ } })
    lost = 0
    t.match(await scored('mixed', 'a'), {
      valid: false,
      failure: { kind: 'judge_rejected', detail: /not a conversation/ },
    })
  },
)

t.test('a question with steps is never cut to fit', async (t) => {
  t.match(await scored('bounded', 'One.\n\nTwo.'), { valid: true, steps: { q: [{ end: 4 }, { end: 10 }] } })
  const words = 'So it goes on. '.repeat(12)
  t.match(await scored('bounded', `${words}\n\n${words}`), {
    valid: false,
    failure: { kind: 'prompt_too_long' },
  })
  t.strictSame(
    (await scored('bounded', words.repeat(4))).flags,
    ['q:refused'],
    'an answer that is too long by itself',
  )
})

t.test('a mark and a step token that are not one token each fail by name, and score nothing', async (t) => {
  t.match(await scored('fused', 'One step.\n\nAnother.'), {
    valid: false,
    reward: null,
    failure: { detail: /rewards\.mark and rewards\.step_token must be one token each/ },
  })
})
