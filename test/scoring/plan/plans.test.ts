import t from 'tap'
import type { GatewayError } from '../../../src/core/errors.ts'
import type { Json } from '../../../src/core/sample/sample.ts'
import type { FunctionDescription, FunctionHost } from '../../../src/scoring/functions/function-host.ts'
import { modelConfig } from '../../../src/scoring/models/interface/model-config.ts'
import { readConfigs } from '../../../src/scoring/plan/configs.ts'
import { explainPlan } from '../../../src/scoring/plan/explain.ts'
import { resolvePlans } from '../../../src/scoring/plan/resolve.ts'
import { planVersion, stepIdentity } from '../../../src/scoring/plan/version.ts'
import { openWith } from '../../support/function-calls.ts'

const critic = `import { z } from 'zod'
import { defineModelReward, definePairReward, prompt } from 'reward-gateway/contract'
export default defineModelReward({
  ask: 'generate', truth: z.unknown(), range: [0, 1],
  rm_preprocess: ({ sample }) => prompt\`Criticise: \${sample.response}\`,
})
`
const duel = `import { z } from 'zod'
import { definePairReward, prompt } from 'reward-gateway/contract'
export default definePairReward({
  ask: 'classify', truth: z.unknown(), range: [0, 1],
  rm_preprocess: (a, b) => prompt\`\${a.sample.response} \${b.sample.response}\`,
  rm_postprocess: () => 0.5,
})
`
const endless = `import { z } from 'zod'
import { definePairReward } from 'reward-gateway/contract'
export default definePairReward({
  ask: 'generate', truth: z.unknown(), range: [0, Infinity],
  rm_preprocess: () => 'Which?', rm_postprocess: () => 0.5,
})
`

const gateway = {
  file: 'gateway.yaml',
  text: `models:
  judge: { model: m, instances: ['http://127.0.0.1:8101'] }
  cloud: { model: m, backend: openai, max_prompt_tokens: 900, instances: ['http://127.0.0.1:8102'] }
`,
}

let functions: FunctionHost
t.before(async () => {
  functions = await openWith([t.testdir({ 'critic.mjs': critic, 'duel.mjs': duel, 'endless.mjs': endless })])
})
t.teardown(() => functions.close())

const plansOf = (text: string) =>
  resolvePlans(readConfigs([gateway, { file: 'r.yaml', text }], {}), functions)

const planOf = async (text: string) => {
  const plan = (await plansOf(text)).plans.get('r')
  if (!plan) throw new Error('no plan')
  return plan
}

const told = async (text: string) => {
  const error = await plansOf(text).then(
    () => null,
    (error: GatewayError) => error,
  )
  return error?.problems.map(({ path, message }) => `${path.replace(/^r\.yaml:/, '')} | ${message}`) ?? []
}

t.test('a config becomes a plan with everything resolved and its defaults filled in', async (t) => {
  const plan = await planOf(`description: all of it
gate: rule == 1
on_unreadable: skip
on_invalid: group_mean
deadline_s: 2
steps:
  - { name: rule, function: gsm8k-progressive, options: { mode: published } }
  - { name: text, function: critic, model: judge }
  - name: quality
    function: yes-no-judge
    model: [judge, cloud]
    sampling: { temperature: 0.7 }
    op: mul
    weight: { points: [[0, 0], [100, 1]], without_step: 0.5 }
    when: rule > 0
    data_source: chat/*
    on_unreadable: 0
    votes: { n: 3, aggregate: median, early_stop: true }
    after: [text]
    timeout_s: 1.5
`)
  t.match(plan, {
    name: 'r',
    version: /^[0-9a-f]{16}$/,
    description: 'all of it',
    gate: { source: 'rule == 1', steps: ['rule'] },
    formula: null,
    onInvalid: { kind: 'group_mean', fallback: null },
    arithmetic: 'strict',
    deadlineMs: 2000,
    config: { name: 'r', steps: [{ name: 'rule' }, { name: 'text' }, { name: 'quality' }] },
  })
  const [rule, text, quality] = plan.steps
  t.match(rule, {
    kind: 'rule',
    ask: null,
    gated: false,
    op: 'add',
    timeoutMs: Infinity,
  })
  t.strictSame([rule?.models, rule?.needs], [[], []])
  t.match(text, {
    critique: true,
    gated: true,
    needs: ['rule'],
    onUnreadable: 'skip',
    votes: { n: 1, min: 1 },
  })
  t.match(quality, {
    ask: 'generate',
    models: ['judge', 'cloud'],
    sampling: { temperature: 0.7 },
    op: 'mul',
    when: { source: 'rule > 0' },
    dataSource: { patterns: ['chat/*'] },
    onUnreadable: 0,
    votes: { n: 3, aggregate: 'median', min: 4, earlyStop: true },
    labels: null,
    budgets: new Map([['cloud', { maxTokens: 900, onLong: 'fail' }]]),
    after: ['text'],
    needs: ['text', 'rule'],
    timeoutMs: 1500,
    identity: /^[0-9a-f]{32}$/,
  })
  t.equal(quality?.weight(50), 0.5)
  t.strictSame(Object.keys(quality?.sampling ?? {}), ['temperature'])
})

t.test('how groups are judged', async (t) => {
  const steps = (pairs: string) =>
    `steps:\n  - { name: d, function: duel, model: judge${pairs} }\n  - { name: j, function: yes-no-judge, model: judge, verdict: expected }\n`
  const plain = await planOf(steps(''))
  t.match(plain, {
    group: { min: null, waitMs: Number.POSITIVE_INFINITY },
    steps: [
      { pairs: { scheme: 'all', neighbours: 1, swap: true, aggregate: 'bradley_terry' }, labels: null },
      { labels: ['1', '0'] },
    ],
  })
  const pairs = ', pairs: { scheme: ring, neighbours: 2, swap: false, aggregate: mean_wins }'
  const set = await planOf(`group: { min: 3, wait_s: 1.5 }\n${steps(pairs)}`)
  t.match(set, {
    group: { min: 3, waitMs: 1500 },
    steps: [{ pairs: { scheme: 'ring', neighbours: 2, swap: false, aggregate: 'mean_wins' } }],
  })
  t.match(explainPlan(plain).join('\n'), /comparing each two answers in both orders.*\n.*\(probabilities\)/)
  t.match(
    explainPlan(set).join('\n'),
    /comparing each answer and the next 2, by the share of wins.*At least 3 answers.*within 1.5 s/s,
  )
})

t.test('the other words of on_invalid', async (t) => {
  const steps = '\nsteps: [{ name: s, function: countdown }]\n'
  const words: [string, object][] = [
    ['null', { kind: 'null' }],
    ['-1', { kind: 'number', value: -1 }],
    ['fail', { kind: 'fail' }],
    ['{ group_mean: 0.5 }', { kind: 'group_mean', fallback: 0.5 }],
  ]
  for (const [word, onInvalid] of words)
    t.strictSame((await planOf(`on_invalid: ${word}${steps}`)).onInvalid, onInvalid)
})

t.test('the version changes with everything that determines a reward, and with nothing else', async (t) => {
  const base = 'steps:\n  - { name: s, function: yes-no-judge, model: judge }\n'
  const { version } = await planOf(base)
  t.equal((await planOf(`# a remark\n${base}`)).version, version)
  const others = [
    base.replace('judge }', 'cloud }'),
    base.replace('judge }', 'judge, weight: 2 }'),
    base.replace('yes-no-judge', 'rider-judge'),
    `${base}on_invalid: 0\n`,
  ]
  const versions = await Promise.all(others.map(async (text) => (await planOf(text)).version))
  t.equal(new Set([version, ...versions]).size, 5)
  const versionOf = (model: object, hash = 'a') => {
    const config = modelConfig.parse({ model: 'm', ...model })
    return planVersion({}, [{ name: 'f', hash } as FunctionDescription], [['judge', config]])
  }
  const models = [
    {},
    { model: 'n' },
    { backend: 'openai' },
    { revision: 'b' },
    { sampling: { temperature: 0.5 } },
  ]
  t.equal(new Set([...models.map((model) => versionOf(model)), versionOf({}, 'b')]).size, 6)
  const read = [
    { classify: { endpoint: 'classify', activation: false, label: 0 } },
    { classify: { endpoint: 'classify', activation: false, label: 1 } },
    { choose: { endpoint: 'generative_scoring' } },
    { rewards: { column: 0 } },
    { guard: { fence: false } },
    { max_prompt_tokens: 100 },
    { max_prompt_tokens: 100, on_long_prompt: 'truncate_middle' },
    { max_prompt_tokens: 100, count_tokens: 'tokenize' },
  ].map((model) => versionOf(model))
  t.equal(new Set([versionOf({}), ...read]).size, 9, 'how a model is asked and read decides a reward too')
  for (const model of [{ instances: ['http://b'] }, { timeout_s: 7 }, { max_in_flight: 3 }])
    t.equal(versionOf(model), versionOf({}), 'where and how patiently it is asked does not')
  t.equal(
    versionOf({ max_in_flight: 3, instances: ['http://127.0.0.1:1'] }),
    versionOf({}),
    'whoever serves it',
  )
})

t.test('the identity of a question depends on the source and options of its function', async (t) => {
  const identity = (name: string, hash: string, options: Json) =>
    stepIdentity({ name, hash } as FunctionDescription, options)
  const all = [
    identity('f', 'a', { x: 1, y: 2 }),
    identity('g', 'a', { x: 1, y: 2 }),
    identity('f', 'b', { x: 1, y: 2 }),
    identity('f', 'a', { x: 2, y: 1 }),
  ]
  t.equal(new Set(all).size, 4)
  t.equal(identity('f', 'a', { y: 2, x: 1 }), all[0])
})

t.test('names, order and kinds are checked against each other', async (t) => {
  const rule = '  - { name: rule, function: countdown }\n'
  const judge = '  - { name: j, function: yes-no-judge, model: judge }\n'
  const mistakes: [string, RegExp[]][] = [
    [`gate: j == 1\nsteps:\n${rule}${judge}`, [/'j' cannot be named here: it is itself behind the gate/]],
    [`gate: rule == 1\nsteps:\n${judge}${rule}`, [/must stand above the first gated step/]],
    [`gate: rule == 1\nsteps:\n${rule}`, [/no step is gated/]],
    [`steps:\n${judge.replace('}', ', gated: true }')}`, [/the reward has no gate/]],
    [
      `steps:\n${judge.replace(', model: judge', '')}`,
      [/asks a model; add 'model:' with one of 'judge', 'cloud'/],
    ],
    [`steps:\n${judge.replace('model: judge', 'model: [judge, judge]')}`, [/in the panel twice/]],
    [
      `steps:\n${judge.replace('}', ', votes: { n: 2, min: 3 } }')}`,
      [/3 valid votes are more than the 2 that are asked for/],
    ],
    [
      `steps:\n${judge.replace('}', ', when: rule == 1 }')}${rule}`,
      [/'rule' cannot be named here: it does not come before/],
    ],
    [`steps:\n${judge.replace('}', ', after: [nobody] }')}`, [/the step 'nobody' does not exist/]],
    ['steps:\n  - { name: c, function: critic, model: judge }\n', [/no step gives a score/]],
    [
      'steps:\n  - { name: c, function: critic, model: judge, weight: 2 }\n  - { name: s, function: countdown, when: c > 1 }\n',
      [/goes with scores; 'critic' gives a text/, /'c' cannot be named here: it gives a text/],
    ],
    [
      'steps:\n  - { name: d, function: endless, model: judge, verdict: expected, votes: { n: 3, early_stop: true } }\n',
      [/range must have two ends/, /whose reply is one of a few words/, /every vote changes a mean/],
    ],
    [`steps:\n${judge.replace('}', ', pairs: { swap: false } }')}`, [/goes with rewards that compare two/]],
    [
      `steps:\n${rule.replace('}', ', verdict: expected, pairs: {} }')}`,
      [/goes with reward models/, /goes with reward models/],
    ],
    [
      'steps:\n  - { name: d, function: rider-bge, model: cloud }\n  - { name: e, function: duel, model: cloud }\n',
      [/asks for classify, which a server of backend openai cannot answer/],
    ],
    [
      'on_unreadable: -1\nsteps:\n  - { name: d, function: duel, model: judge }\n',
      [/-1 is not a probability; a comparison needs one from 0 to 1/],
    ],
    [`group: { min: 2 }\nsteps:\n${rule}`, [/no step is over all answers/]],
    ['steps: []\n', [/must be a list of at least one step/]],
    ['description: x\n', [/steps \| is missing/]],
    [
      'steps:\n  - { name: min, function: countdown }\n  - { name: uid, function: countdown }\n  - { name: a, function: countdown }\n  - { name: a_scored, function: countdown }\n',
      [/'min' means something else/, /trainers use themselves/, /whether 'a' was scored/],
    ],
  ]
  for (const [text, wanted] of mistakes) {
    const found = await told(text)
    t.equal(found.length, wanted.length, `${text}${found.join('\n')}`)
    t.match(found, wanted, text)
  }
})

t.test('a formula must handle steps that may be off', async (t) => {
  const rule = '  - { name: rule, function: countdown }\n'
  const steps = (extra: string) =>
    `steps:\n${rule}  - { name: j, function: yes-no-judge, model: judge${extra} }\nformula: rule + j\n`
  const gated = `gate: rule == 1\n${steps('')}`
  const mistakes: readonly (readonly [text: string, problem: RegExp])[] = [
    [gated, /'j' can be without a score \(the gate may be closed\); write 'scored\(j\)/],
    [steps(', when: rule == 1'), /'when' may not hold/],
    [steps(', data_source: a'), /'data_source' may not match/],
    [steps(', on_unreadable: skip'), /may be skipped/],
    [`arithmetic: published\n${steps('')}`, /no published arithmetic/],
    [steps('').replace('rule + j', 'scored(j) ? j : 0'), /put an expression with '\? :' into quotes/],
  ]
  for (const [text, problem] of mistakes) t.match(await told(text), [problem], text)
  t.strictSame(await told(steps('')), [], 'no step may be off')
  const guarded = gated.replace('rule + j', '"rule.value + (scored(j) ? j : 0)"')
  t.match(await planOf(guarded), { formula: { steps: ['rule', 'j'] } })
})
