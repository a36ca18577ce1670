import t from 'tap'
import { outcomesOf, resultOf, sampleOf, testGateway, testModel } from '../support/gateway.ts'

const rule = { name: 'rule', function: 'echo-rule' }

t.test(
  'a rule scores each sample on its own: what throws, hangs or is out of range costs only itself',
  async (t) => {
    const gateway = await testGateway(t, { one: { steps: [rule] } })
    const responses = ['1', 'throw', '0.5', 'nan', '7', 'null', '0']
    const outcomes = await outcomesOf(
      gateway,
      'one',
      responses.map((response) => sampleOf(response)),
    )
    t.strictSame(outcomes.map(resultOf), [1, 'rule_error', 0.5, 'rule_error', 'rule_error', 'bad_sample', 0])
    t.match(outcomes[0]?.terms, [
      { name: 'rule', status: 'scored', score: { parts: { length: 1 }, details: { seen: '1' } } },
    ])
  },
)

t.test('a gate keeps questions from the judge, and the fold adds what was asked', async (t) => {
  const { servers, config } = await testModel(t, 1, { policy: 'constant', constant: 1 })
  const gateway = await testGateway(t, {
    gated: {
      models: { judge: config },
      gate: 'rule == 1',
      steps: [rule, { name: 'quality', function: 'digit-judge', model: 'judge', op: 'add', weight: 0.5 }],
    },
  })
  const outcomes = await outcomesOf(
    gateway,
    'gated',
    ['1', '0', '0.5'].map((response) => sampleOf(response)),
  )
  t.strictSame(outcomes.map(resultOf), [1.5, 0, 0.5])
  t.match(outcomes[1]?.terms[1], { status: 'off', why: 'gate' })
  t.equal(servers[0]?.stats().sequences.finished, 1)
})

t.test('equal questions are asked once', async (t) => {
  const { servers, config } = await testModel(t, 2, { policy: 'constant', constant: 1, latencyMedianMs: 20 })
  const gateway = await testGateway(t, {
    judged: {
      models: { judge: config },
      steps: [{ name: 'q', function: 'digit-judge', model: 'judge', sampling: { temperature: 0 } }],
    },
  })
  await outcomesOf(
    gateway,
    'judged',
    Array.from({ length: 10 }, () => sampleOf('same')),
  )
  await outcomesOf(gateway, 'judged', [sampleOf('same')])
  t.equal(
    servers.reduce((sum, server) => sum + server.stats().sequences.finished, 0),
    1,
  )
})

t.test('votes are drawn apart and aggregated; what has no verdict follows on_unreadable', async (t) => {
  const { servers, config } = await testModel(t, 1, { policy: 'constant', constant: 'perhaps' })
  const step = { name: 'q', function: 'digit-judge', model: 'judge', votes: { n: 3, aggregate: 'median' } }
  const gateway = await testGateway(t, {
    fails: { models: { judge: config }, steps: [rule, step] },
    skips: { models: { judge: config }, steps: [rule, { ...step, on_unreadable: 'skip' }] },
    number: { models: { judge: config }, steps: [rule, { ...step, op: 'add', on_unreadable: 0.25 }] },
  })
  const asked = () => servers[0]?.stats().sequences.finished ?? 0
  t.equal(resultOf((await outcomesOf(gateway, 'fails', [sampleOf('1')]))[0]), 'judge_unparseable')
  t.equal(asked(), 3)
  t.equal(resultOf((await outcomesOf(gateway, 'skips', [sampleOf('1')]))[0]), 1)
  const [counted] = await outcomesOf(gateway, 'number', [sampleOf('1')])
  t.equal(resultOf(counted), 1.25)
  t.match(counted?.flags, ['q:unreadable'])
})

t.test('an answer that rm_preprocess judges itself needs no call and is flagged', async (t) => {
  const { servers, config } = await testModel(t, 1)
  const judge = { ...config, guard: { refuse: false } }
  const gateway = await testGateway(t, {
    judged: { models: { judge }, steps: [{ name: 'q', function: 'digit-judge', model: 'judge' }] },
  })
  const [outcome] = await outcomesOf(gateway, 'judged', [sampleOf('')])
  t.match(outcome, { valid: true, reward: 0, flags: ['q:no_call'] })
  t.equal(servers[0]?.stats().sequences.finished, 0)
})

t.test('a group rule sees all answers to one prompt, and a retry is no sibling', async (t) => {
  const gateway = await testGateway(t, { ranked: { steps: [{ name: 'rank', function: 'rank-rule' }] } })
  const group = (id: string, index: number) => ({ group: { id, index } })
  const rows = [
    sampleOf('a', group('g', 0)),
    sampleOf('bb', group('g', 1)),
    sampleOf('ccc', group('h', 0)),
    sampleOf('bb', group('g', 1)),
    sampleOf('d', group('h', 1)),
  ]
  const outcomes = await outcomesOf(gateway, 'ranked', rows)
  t.strictSame(outcomes.map(resultOf), [0, 1, 1, 1, 0])
})

t.test('on_invalid gives a number, the mean of the valid siblings, or refuses the request', async (t) => {
  const gateway = await testGateway(t, {
    number: { steps: [rule], on_invalid: -1 },
    siblings: { steps: [rule], on_invalid: { group_mean: 0.25 } },
    refused: { steps: [rule], on_invalid: 'fail' },
  })
  const rows = ['1', 'throw', '0', '0'].map((response) => sampleOf(response, { group: { id: 'g' } }))
  t.match(await outcomesOf(gateway, 'number', rows), [
    { valid: true },
    { valid: false, substitute: -1 },
    {},
    {},
  ])
  const outcomes = await outcomesOf(gateway, 'siblings', rows)
  t.match(outcomes[1], { valid: false, substitute: 1 / 3 })
  const alone = await outcomesOf(gateway, 'siblings', [sampleOf('throw')])
  t.match(alone[0], { valid: false, substitute: 0.25 })
  await t.rejects(outcomesOf(gateway, 'refused', rows), { code: 'RG_SAMPLES_FAILED' })
  t.match(await outcomesOf(gateway, 'refused', [sampleOf('1')]), [{ valid: true }])
})

t.test('a group_mean outcome is announced once, with its substitute', async (t) => {
  const gateway = await testGateway(t, { siblings: { steps: [rule], on_invalid: 'group_mean' } })
  const rows = ['1', 'throw'].map((response) => sampleOf(response, { group: { id: 'g' } }))
  const told: unknown[] = []
  await outcomesOf(gateway, 'siblings', rows, { onOutcome: (index, outcome) => told.push([index, outcome]) })
  t.match(told, [
    [0, { valid: true }],
    [1, { valid: false, substitute: 1 }],
  ])
})

t.test(
  'an unknown reward is refused with the nearest name, and everything after closing is refused',
  async (t) => {
    const gateway = await testGateway(t, { rider: { steps: [rule] } })
    t.throws(() => gateway.reward('ridder'), { code: 'RG_REWARD_UNKNOWN', message: /rider/ })
    await gateway.close(0)
    await t.rejects(async () => outcomesOf(gateway, 'rider', [sampleOf('1')]), { code: 'RG_CLOSING' })
    t.strictSame(gateway.missing(), ['the gateway is closing'])
  },
)
