import t from 'tap'
import { testApp } from '../../support/app.ts'

const step = (name: string, options: object = {}) => ({ steps: [{ name: 'q', function: name, options }] })

const app = await testApp(t, {
  gateway: {},
  overlong: step('overlong-penalty', { max_length: 200, buffer: 100, unit: 'characters' }),
  'overlong-final': step('overlong-penalty', {
    max_length: 200,
    buffer: 100,
    unit: 'characters',
    scope: 'final',
  }),
  'overlong-tokens': step('overlong-penalty', { max_length: 200, buffer: 100 }),
  repetition: step('repetition-penalty'),
  'repetition-final': step('repetition-penalty', { scope: 'final' }),
  language: step('language-consistency', { language: 'en' }),
  'language-final': step('language-consistency', { language: 'en', scope: 'final' }),
  tags: step('format-tags'),
  'tags-each': step('format-tags', { credit: 'each' }),
  'tags-final': step('format-tags', { scope: 'final' }),
})

interface Result {
  readonly reward: number | null
  readonly valid: boolean
  readonly failure: { readonly kind: string; readonly detail: string } | null
  readonly flags: readonly string[]
  readonly terms: { readonly q: { readonly details: Readonly<Record<string, unknown>> } }
}

async function score(reward: string, ...samples: object[]): Promise<readonly Result[]> {
  const answer = await app.inject({ method: 'POST', url: '/v1/score', payload: { reward, samples } })
  return answer.json().results
}

const one = async (reward: string, sample: object): Promise<Result> =>
  (await score(reward, { prompt: 'Weather in Bonn?', ...sample }))[0] as Result

/** A rollout whose first turn says this, and whose last one gives the answer. */
const after = (content: string, more: object = {}, last = 'It is sunny in Bonn today.') => [
  { role: 'assistant', content, ...more },
  { role: 'tool', content: 'sonnig und warm, sonnig und warm, sonnig und warm '.repeat(20) },
  { role: 'assistant', content: last },
]

t.test('no turn of the policy is free of the rules of form (issue: free zone)', async (t) => {
  const call = { function: { name: 'note', arguments: { text: 'x'.repeat(300) } } }
  const freeZones: Readonly<Record<string, readonly [string, readonly object[], number]>> = {
    'a long turn': ['overlong', after('abcde '.repeat(60)), -1],
    'long reasoning': ['overlong', after('', { reasoning_content: 'abcde '.repeat(60) }), -1],
    'a long call': ['overlong', after('', { tool_calls: [call] }), -1],
    'a turn that repeats itself': ['repetition', after('wait and see '.repeat(50)), -0.9],
    'turns that repeat each other': [
      'repetition',
      Array.from({ length: 40 }, () => ({ role: 'assistant', content: 'I look it up and see.' })),
      -0.9,
    ],
    'a turn in another language': [
      'language',
      after('Ich denke zuerst ein wenig über das Wetter in Bonn nach.'),
      0.5,
    ],
    'a turn without tags': ['tags', after('no tags', {}, '<think>a</think><answer>b</answer>'), 0],
    'text beside the tags of a turn': [
      'tags',
      after('<think>a</think>and more', {}, '<think>a</think><answer>b</answer>'),
      0,
    ],
    'a turn without thinking': [
      'tags',
      after('<answer>b</answer>', {}, '<think>a</think><answer>b</answer>'),
      0,
    ],
  }
  for (const [name, [reward, response, most]] of Object.entries(freeZones)) {
    const found = await one(reward, { response })
    t.ok(found.valid && (found.reward ?? 1) <= most, `${name}: paid ${found.reward}`)
    const last = await one(`${reward}-final`, { response })
    t.ok(last.valid && (last.reward ?? -1) > most, `${name}, scope: final: paid ${last.reward}`)
  }
})

t.test('what tools said is not held against the policy', async (t) => {
  for (const reward of ['overlong', 'repetition'])
    t.equal((await one(reward, { response: after('') })).reward, 0)
  t.equal((await one('language', { response: after('I look it up.') })).reward, 1)
})

t.test('format-tags: a turn that calls a tool may hold its thinking only', async (t) => {
  const last = '<think>a</think><answer>b</answer>'
  t.equal((await one('tags', { response: after('<think>a</think>', {}, last) })).reward, 1)
  t.equal((await one('tags', { response: after('', {}, last) })).reward, 1)
  const wrong = await one('tags-each', { response: after('x', {}, last) })
  t.match(wrong, { reward: 3 / 4, terms: { q: { details: { reason: 'turn 1' } } } })
})

t.test('overlong-penalty takes the tokens that the trainer counts for the rollout', async (t) => {
  const tokens = { prompt: 5, response: 200 }
  t.equal((await one('overlong-tokens', { response: after(''), tokens })).reward, -1)
  const counted = { response: 'a', tokens, extra_info: { response_length: 100 } }
  t.equal((await one('overlong-tokens', counted)).reward, 0, 'extra_info takes precedence')
})
