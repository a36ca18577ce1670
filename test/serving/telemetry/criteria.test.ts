import { createHash } from 'node:crypto'
import t, { type Test } from 'tap'
import type { Json } from '../../../src/core/sample/sample.ts'
import { createApp } from '../../../src/serving/http/app.ts'
import { openMetrics } from '../../../src/serving/telemetry/metrics/metrics.ts'
import { fakeClock } from '../../support/clock.ts'
import { testGateway } from '../../support/gateway.ts'
import { completion, type Seen, scriptedServer } from '../../support/scripted-server.ts'

const clock = fakeClock()

/** Replies to each criterion of a question as its text says behind the last colon; null: the call is refused. */
function asSaid({ body }: Seen): string | null {
  const question = (body.messages as readonly { readonly content: string }[])
    .map(({ content }) => content)
    .join('\n')
  const said = (text = '') => text.split(': ').at(-1) ?? ''
  const several = [...question.matchAll(/Criterion (c\d+) \([^\n]*\):\n⟦\w+\n([\s\S]*?)\n\w+⟧/g)]
  if (several.length > 0)
    return JSON.stringify(Object.fromEntries(several.map(([, key, text]) => [key, said(text)])))
  const [, text] = /Criterion:\n⟦\w+\n([\s\S]*?)\n\w+⟧/.exec(question) ?? []
  const answers = [...question.matchAll(/Answer (a\d+):\n/g)]
  if (answers.length > 0)
    return JSON.stringify(Object.fromEntries(answers.map(([, key]) => [key, said(text)])))
  return said(text) === 'broken' ? null : said(text)
}

/** A decision server that answers each criterion with the probability of yes that its text says; `refuse`: it does not. */
const decisions = await scriptedServer(({ body }) => ({
  model: 'm',
  answers: body.questions.map(({ name, instructions }: Record<string, string>) => {
    const said = instructions?.split(': ').at(-1)
    if (said === 'refuse') return { type: 'refusal', name }
    const yes = Number(said)
    const probabilities = [
      { value: true, probability: yes },
      { value: false, probability: 1 - yes },
    ]
    return { type: 'choice', name, choice: yes >= 0.5, probabilities, confidence: Math.max(yes, 1 - yes) }
  }),
  usage: {},
}))
const judge = await scriptedServer((seen, response) => {
  const text = asSaid(seen)
  if (text === 'hang') return undefined
  if (text === null) return void response.writeHead(400).end('{}')
  return completion(seen, text)
})
const contrary = await scriptedServer((seen) => completion(seen, asSaid(seen) === 'yes' ? 'no' : 'yes'))
t.teardown(() => Promise.all([decisions, judge, contrary].map((server) => server.kill())))

const modelAt = (url: string, more: object = {}) => ({
  backend: 'vllm',
  model: 'm',
  instances: [url],
  health: {},
  cache: 'never',
  retry: { max: 0 },
  ...more,
})
const models = {
  judge: modelAt(judge.url),
  contrary: modelAt(contrary.url),
  decider: modelAt(decisions.url, { decide: { wire: 'vllm' } }),
}
const step = (options: object = {}, more: object = {}) => ({
  name: 's',
  function: 'rubric-judge',
  model: 'judge',
  options,
  ...more,
})

/** The gateway of these rewards over HTTP: scores rows, and reads the figures of criteria at /metrics. */
async function observed(t: Test, steps: Readonly<Record<string, object>>) {
  const metrics = openMetrics({ version: 'test', clock, inFlight: () => 0 })
  const rewards = Object.fromEntries(
    Object.entries(steps).map(([name, one]) => [name, { models, steps: [one] }]),
  )
  const gateway = await testGateway(t, rewards, { events: metrics })
  const app = await createApp({ gateway, metrics, bodyLimit: 1 << 24 })
  t.teardown(async () => {
    await app.close()
    metrics.close()
  })
  const figures = async () => {
    const { body } = await app.inject('/metrics')
    const lines = body.matchAll(
      /^reward_gateway_criterion_verdicts_total\{reward="(\w+)",step="s",criterion="(.*)",verdict="(\w+)"\} (\d+)$/gm,
    )
    return [...lines].map(([, reward, criterion = '', verdict = '', value]) => ({
      reward,
      criterion,
      verdict,
      value: Number(value),
    }))
  }
  return {
    app,
    async score(reward: string, rubrics: readonly Json[], responses: readonly string[] = []) {
      const samples = rubrics.map((ground_truth, at) => ({
        prompt: 'a task',
        response: responses[at] ?? 'an answer',
        ground_truth,
      }))
      const response = await app.inject({ method: 'POST', url: '/v1/score', payload: { reward, samples } })
      return response.json().results as readonly { readonly valid: boolean }[]
    },
    figures,
    /** `[met, unmet, none]` of each criterion of a reward. */
    async counts(reward: string) {
      const counts: Record<string, number[]> = {}
      for (const { criterion, verdict, value } of (await figures()).filter((one) => one.reward === reward)) {
        const known = counts[criterion] ?? []
        counts[criterion] = known
        known[['met', 'unmet', 'none'].indexOf(verdict)] = value
      }
      return counts
    },
    text: async () => (await app.inject('/metrics')).body,
  }
}

const digest = (text: string): string =>
  `sha256:${createHash('sha256').update(text).digest('hex').slice(0, 12)}`

t.test('the verdicts on each criterion are counted, whichever way it is asked', async (t) => {
  const group = { name: 's', function: 'rubric-judge-group', model: 'judge' }
  const decided = { name: 's', function: 'rubric-decisions', model: 'decider' }
  const { score, counts, text } = await observed(t, {
    each: step(),
    batch: step({ ask: 'batch', batch: 2 }),
    all: step({ ask: 'all' }),
    voted: step({}, { votes: { n: 3, aggregate: 'majority', early_stop: true } }),
    panel: step({}, { model: ['judge', 'contrary'], votes: { aggregate: 'median' } }),
    tagged: step({ tags: ['style', 'safety'] }),
    overall: step({ ask: 'overall' }),
    published: step({ mode: 'published', code: 'rar' }),
    group,
    decided,
  })
  const rubric = [
    { text: 'good: yes', tags: ['safety', 'style'] },
    { text: 'bad: no', tags: ['own'] },
    { text: 'level: 1', levels: ['worst', 'fair', 'good', 'best'] },
  ]
  const [good, bad, level] = rubric.map((one) => digest(one.text)) as [string, string, string]
  const wanted = { [good]: [2, 0, 0], [bad]: [0, 2, 0], [level]: [0, 2, 0] }
  for (const reward of ['each', 'batch', 'all', 'voted']) {
    await score(reward, [rubric, rubric])
    t.strictSame(await counts(reward), wanted, reward)
  }
  await score('panel', [rubric.slice(0, 2)])
  t.strictSame(
    await counts('panel'),
    { [good]: [0, 1, 0], [bad]: [0, 1, 0] },
    'judges that disagree say one thing together',
  )
  await score('tagged', [rubric])
  t.strictSame(
    await counts('tagged'),
    { style: [1, 0, 0], [bad]: [0, 1, 0], [level]: [0, 1, 0] },
    'the first tag of the config stands for its criteria',
  )
  await score('overall', [rubric])
  t.strictSame(await counts('overall'), {}, 'one grade of the whole says nothing about a criterion')
  const rar = { rubric: [{ description: 'Essential Criteria: yes', weight: 1 }] }
  await score('published', [rar])
  t.strictSame(await counts('published'), { [digest('Essential Criteria: yes')]: [1, 0, 0] })
  await score('group', [rubric, rubric], ['one answer', 'another'])
  t.strictSame(await counts('group'), wanted, 'one question, a verdict for each answer')
  await score('decided', [[{ text: 'sure: 0.9' }, { text: 'unlikely: 0.2' }, { text: 'odd: refuse' }]])
  t.strictSame(await counts('decided'), {
    [digest('sure: 0.9')]: [1, 0, 0],
    [digest('unlikely: 0.2')]: [0, 1, 0],
    [digest('odd: refuse')]: [0, 0, 1],
  })
  t.notMatch(await text(), /good: yes|unlikely|Essential/, 'no text of a row')
})

t.test('a criterion without a verdict is counted as such, and one that was not asked is not', async (t) => {
  const { score, counts } = await observed(t, {
    stops: step({ tags: ['must', 'rest'] }),
    all: step({ ask: 'all', tags: ['must', 'rest'] }),
    rest: step({ missing: 'renormalise', min_share: 0.5, tags: ['must', 'rest'] }),
  })
  const must = (said: string) => ({ text: `must: ${said}`, must: true, tags: ['must'] })
  const rest = (said: string) => ({ text: `rest: ${said}`, tags: ['rest'] })
  const valid = async (reward: string, rubrics: readonly Json[]) =>
    (await score(reward, rubrics)).map((one) => one.valid)
  t.strictSame(await valid('stops', [[must('no'), rest('yes')]]), [true])
  t.strictSame(await counts('stops'), { must: [0, 1, 0] }, 'the rest was not asked')
  t.strictSame(
    await valid('stops', [
      [must('yes'), rest('perhaps')],
      [must('yes'), rest('broken')],
      [must('broken'), rest('yes')],
    ]),
    [false, false, false],
  )
  t.strictSame(await counts('stops'), { must: [2, 1, 1], rest: [0, 0, 2] })
  await valid('all', [[must('yes'), rest('perhaps')]])
  t.strictSame(await counts('all'), { must: [0, 0, 1], rest: [0, 0, 1] }, 'an unreadable reply says nothing')
  t.strictSame(await valid('rest', [[must('yes'), rest('yes'), rest('perhaps')]]), [true])
  t.strictSame(await counts('rest'), { must: [1, 0, 0], rest: [1, 0, 1] }, 'also where it is left out')
})

t.test(
  'fresh criteria in each row leave the figures bounded, and a silent one gives its place',
  async (t) => {
    const { score, figures, counts } = await observed(t, { it: step({ ask: 'all', tags: ['house'] }) })
    const fresh = (from: number, count: number): Json[] =>
      Array.from({ length: count }, (_, at) => ({ text: `attack ${from + at}: yes` }))
    await score('it', [fresh(0, 100)])
    for (let from = 100; from < 5000; from += 490) await score('it', [fresh(from, 490)])
    await score('it', [[{ text: 'a rule of the house: yes', tags: ['house'] }]])
    const found = await counts('it')
    t.equal(Object.keys(found).length, 102, '100 criteria, the tag, and all others')
    t.strictSame(found['(other)'], [4900, 0, 0])
    t.strictSame(found.house, [1, 0, 0], 'a tag of the config always has its place')

    clock.advance(600_000)
    await score('it', [fresh(0, 50)])
    await score('it', [fresh(6000, 60)])
    const later = await counts('it')
    t.equal(Object.keys(later).length, 102)
    const sum = (own: readonly number[][]) => own.reduce((all, [met = 0]) => all + met, 0)
    t.strictSame(later[digest('attack 3: yes')], [2, 0, 0], 'it was heard of again')
    t.strictSame(later[digest('attack 99: yes')], undefined, 'it was silent for ten minutes')
    t.strictSame(later[digest('attack 6000: yes')], [1, 0, 0])
    t.strictSame(later['(other)'], [4910, 0, 0], 'the last ten found no place')
    t.equal(sum(Object.values(later)), 50 * 2 + 50 + 4910 + 1)
    t.ok((await figures()).every(({ verdict, value }) => verdict === 'met' || value === 0))
  },
)

t.test('a tag that is called (other) doubles no series', async (t) => {
  const { score, figures } = await observed(t, { it: step({ ask: 'all', tags: ['(other)'] }) })
  const rest = Array.from({ length: 101 }, (_, at) => ({ text: `one ${at}: yes` }))
  await score('it', [[{ text: 'tagged: yes', tags: ['(other)'] }, ...rest]])
  const names = (await figures()).map(({ criterion, verdict }) => `${criterion} ${verdict}`)
  t.equal(new Set(names).size, names.length)
  const found = (await figures()).find(
    ({ criterion, verdict }) => criterion === '(other)' && verdict === 'met',
  )
  t.equal(found?.value, 2)
})

t.test('a request whose client has gone says nothing about the criteria that it left open', async (t) => {
  const { app, counts } = await observed(t, { it: step() })
  const url = await app.listen({ port: 0, host: '127.0.0.1' })
  const client = new AbortController()
  const sample = { prompt: 'a task', response: 'x', ground_truth: [{ text: 'a: yes' }, { text: 'b: hang' }] }
  const request = fetch(`${url}/v1/score`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ reward: 'it', samples: [sample] }),
    signal: client.signal,
  })
  const isOpen = ({ text }: Seen) => text.includes('b: hang')
  while (!judge.seen.some(isOpen) || Object.keys(await counts('it')).length === 0)
    await new Promise((resolve) => setImmediate(resolve))
  client.abort()
  await t.rejects(request)
  await judge.seen.find(isOpen)?.closed
  t.strictSame(await counts('it'), { [digest('a: yes')]: [1, 0, 0] })
})
