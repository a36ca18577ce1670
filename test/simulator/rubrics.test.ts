import t from 'tap'
import type { Json } from '../../src/core/sample/sample.ts'
import { outcomesOf, resultOf, sampleOf, testGateway } from '../support/gateway.ts'
import { simulated } from '../support/simulated.ts'

const server = await simulated(t, { answers: { 'two and two': 4 }, model: 'm' })
const models = {
  judge: { backend: 'vllm', model: 'm', instances: [server.url], cache: 'never' },
  decider: { backend: 'vllm', model: 'm', instances: [server.url], cache: 'never' },
  wired: { backend: 'vllm', model: 'm', instances: [server.url], cache: 'never', decide: { wire: 'vllm' } },
  systemone: {
    backend: 'vllm',
    model: 'm',
    instances: [server.url],
    cache: 'never',
    decide: { wire: 'systemone' },
  },
}
const step = (name: string, model: string, options: object) => ({
  models,
  steps: [{ name: 's', function: name, model, options }],
})
const published = (code: string, more: object = {}) =>
  step('rubric-judge', 'judge', { mode: 'published', code, ...more })
const gateway = await testGateway(t, {
  each: step('rubric-judge', 'judge', {}),
  reasons: step('rubric-judge', 'judge', { reasons: true }),
  batch: step('rubric-judge', 'judge', { ask: 'batch', batch: 2 }),
  all: step('rubric-judge', 'judge', { ask: 'all' }),
  'all-reasons': step('rubric-judge', 'judge', { ask: 'all', reasons: true }),
  overall: step('rubric-judge', 'judge', { ask: 'overall' }),
  group: step('rubric-judge-group', 'judge', {}),
  letters: step('rubric-decisions', 'decider', { score: 'most_likely' }),
  vllm: step('rubric-decisions', 'wired', { score: 'most_likely' }),
  systemone: step('rubric-decisions', 'systemone', { score: 'most_likely' }),
  healthbench: published('healthbench'),
  rar: published('rar'),
  open_instruct: published('open_instruct'),
  verifiers: published('verifiers'),
  'verifiers-each': published('verifiers', { ask: 'each' }),
  rewardkit: published('rewardkit'),
  'rewardkit-each': published('rewardkit', { ask: 'each' }),
})

/** What the right and the wrong answer of a group get. */
const rewards = async (reward: string, groundTruth: Json) =>
  (
    await outcomesOf(
      gateway,
      reward,
      ['It is 4.', 'It is 5.'].map((response, index) =>
        sampleOf(response, {
          id: `${index}`,
          prompt: 'What is two and two?',
          groundTruth,
          group: { id: `${reward} ${JSON.stringify(groundTruth)}` },
        }),
      ),
    )
  ).map(resultOf)

const own = ['each', 'reasons', 'batch', 'all', 'all-reasons', 'group', 'letters', 'vllm', 'systemone']

t.test('a simulated judge gives the right answer the best verdict of each kind of criterion', async (t) => {
  const rubrics: Readonly<Record<string, readonly Json[]>> = {
    'yes or no': [{ text: 'It is right.' }],
    scale: [{ text: 'How right is it?', scale: [1, 5] }],
    'scale with a sign': [{ text: 'How right is it?', scale: [-1, 1] }],
    levels: [{ text: 'How right is it?', levels: ['poor', 'fair', 'excellent'] }],
    'levels that sound alike': [{ text: 'q', levels: ['correct in no part', 'correct in part', 'correct'] }],
    several: [
      { text: 'a', scale: [1, 5] },
      { text: 'b' },
      { text: 'c', levels: ['poor', 'fair', 'excellent'] },
    ],
  }
  for (const reward of own)
    for (const [name, rubric] of Object.entries(rubrics))
      t.strictSame(await rewards(reward, rubric), [1, 0], `${reward}: ${name}`)
  const faulty = [{ text: 'It is wrong.', weight: -1 }, ...(rubrics.several ?? [])]
  for (const rubric of [rubrics.several ?? [], faulty]) t.strictSame(await rewards('overall', rubric), [1, 0])
})

t.test('a criterion that names a fault turns the verdict around, however it is asked', async (t) => {
  for (const reward of own) {
    t.strictSame(await rewards(reward, [{ text: 'It is wrong.', weight: -1 }]), [1, 0], reward)
    t.strictSame(
      await rewards(reward, [
        { text: 'Names a value other than 4.', weight: -2 },
        { text: 'a', weight: 3 },
      ]),
      [1, 0],
      `${reward}, beside another`,
    )
  }
})

t.test('a simulated judge answers every criterion as published code wants it', async (t) => {
  const kit = [
    { name: 'clear', description: 'd', type: 'likert' },
    { name: 'seven', description: 'e', type: 'likert', points: 7 },
    { name: 'score', description: 'f', type: 'numeric', min: 2, max: 20 },
    { name: 'deep', description: 'g', type: 'rubric', levels: ['poor', 'fair', 'excellent'] },
    { name: 'sure', description: 'h', type: 'binary' },
    { name: 'fault', description: 'It is wrong.', type: 'binary', negate: true },
  ]
  const named = [
    { name: 'a', text: 't' },
    { name: 'b', text: 'u', choices: ['worse than nothing', 'passable', 'as good as it gets'] },
    { name: 'name', text: 'v', choices: ['no', 'in part', 'yes'] },
  ]
  const rubrics: Readonly<Record<string, Json>> = {
    healthbench: { rubrics: [{ criterion: 'c', points: 5 }] },
    rar: { rubric: [{ description: 'Essential Criteria: x', weight: 5 }] },
    open_instruct: { query: 'q', rubrics: [{ description: 'd', weight: 1 }] },
    verifiers: { criteria: named },
    'verifiers-each': { criteria: named },
    rewardkit: { criterion: kit },
    'rewardkit-each': { criterion: kit },
  }
  for (const [reward, rubric] of Object.entries(rubrics))
    t.strictSame(await rewards(reward, rubric), [1, 0], reward)
})
