import t from 'tap'
import { allOf, ListenerGuard } from '../../../src/core/listener-guard.ts'
import { type EngineEvents, engineEventNames } from '../../../src/scoring/engine/events.ts'
import { nativeSample, readNativeRows } from '../../../src/trainers/native.ts'
import { writeNativeResult } from '../../../src/trainers/native-result.ts'
import { fakeClock } from '../../support/clock.ts'
import { outcomesOf, resultOf, sampleOf, testGateway, testModel } from '../../support/gateway.ts'

const rule = { name: 'rule', function: 'echo-rule' }
const judge = { name: 'q', function: 'digit-judge', model: 'judge' }

t.test('a gateway scores samples', async (t) => {
  const sure = await testModel(t, 2, { policy: 'constant', constant: 1, latencyMedianMs: 20 })
  const vague = await testModel(t, 1, { policy: 'constant', constant: 'perhaps' })
  const draws = { ...judge, model: 'vague', votes: { n: 3, aggregate: 'median' } }
  const gateway = await testGateway(t, {
    gateway: {
      models: {
        judge: sure.config,
        open: { ...sure.config, guard: { refuse: false } },
        vague: vague.config,
      },
      functions: { timeout_s: 1 },
    },
    one: { steps: [rule] },
    gated: {
      gate: 'rule == 1',
      steps: [
        rule,
        { ...judge, name: 'quality', op: 'add', weight: 0.5 },
        { ...judge, name: 'rare', op: 'add', weight: 8, when: 'rule > 1' },
      ],
    },
    judged: { steps: [{ ...judge, sampling: { temperature: 0 } }] },
    ripens: {
      steps: [
        {
          ...rule,
          weight: {
            points: [
              [0, 0],
              [100, 1],
            ],
            without_step: 0.5,
          },
        },
      ],
    },
    open: { steps: [{ ...judge, model: 'open' }] },
    fails: { steps: [rule, draws] },
    skips: { steps: [rule, { ...draws, on_unreadable: 'skip' }] },
    unread: { steps: [rule, { ...draws, op: 'add', on_unreadable: 0.25 }] },
    ranked: { steps: [{ name: 'rank', function: 'rank-rule' }] },
    number: { steps: [rule], on_invalid: 7 },
    siblings: { steps: [rule], on_invalid: { group_mean: 0.25 } },
    refused: { steps: [rule], on_invalid: 'fail' },
    two: {
      gate: 'rule == 1',
      steps: [rule, { name: 'other', function: 'echo-rule', gated: true, options: { plus: 1 } }],
    },
  })
  const asked = (of: typeof sure) =>
    of.servers.reduce((sum, server) => sum + server.stats().sequences.finished, 0)
  const results = async (reward: string, ...responses: string[]) =>
    (
      await outcomesOf(
        gateway,
        reward,
        responses.map((response) => sampleOf(response)),
      )
    ).map(resultOf)

  await t.test('a rule that throws, hangs or is out of range fails only its own row', async (t) => {
    t.strictSame(await results('one', '1', 'throw', '0.5', 'nan', '7', 'null', 'hang', '0'), [
      1,
      'rule_error',
      0.5,
      'rule_error',
      'rule_error',
      'bad_sample',
      'rule_timeout',
      0,
    ])
    const late = await outcomesOf(gateway, 'one', [sampleOf('hang')], { deadlineMs: 200 })
    t.strictSame(late.map(resultOf), ['deadline'], 'of rules too')
    const [outcome] = await outcomesOf(gateway, 'one', [sampleOf('1')])
    t.match(outcome?.terms, [
      { name: 'rule', status: 'scored', score: { parts: { length: 1 }, details: { seen: '1' } } },
    ])
  })

  await t.test('a closed gate asks the judge nothing, and the fold adds only what was asked', async (t) => {
    const before = asked(sure)
    const rows = ['1', '0', '0.5', 'null'].map((response) => sampleOf(response))
    const outcomes = await outcomesOf(gateway, 'gated', rows)
    t.strictSame(outcomes.map(resultOf), [1.5, 0, 0.5, 'bad_sample'], 'closed where its step has no score')
    t.match(outcomes[0]?.terms[2], { status: 'off', why: 'when' }, "a step's own condition holds beside it")
    t.match(outcomes[1]?.terms.slice(1), Array(2).fill({ status: 'off', why: 'gate' }))
    t.equal(asked(sure) - before, 1)
  })

  await t.test("a weight follows its request's training step", async (t) => {
    for (const trainingStep of [undefined, 0, 25, 1000]) {
      const job = trainingStep === undefined ? {} : { trainingStep }
      const wanted = trainingStep === undefined ? 0.5 : Math.min(trainingStep / 100, 1)
      t.strictSame((await outcomesOf(gateway, 'ripens', [sampleOf('1')], job)).map(resultOf), [wanted])
    }
  })

  await t.test('equal questions are asked once', async (t) => {
    const before = asked(sure)
    await results('judged', ...Array<string>(10).fill('same'))
    await results('judged', 'same')
    t.equal(asked(sure) - before, 1)
  })

  await t.test('votes are independent questions, and unreadable ones follow on_unreadable', async (t) => {
    t.strictSame(await results('fails', '1'), ['judge_unparseable'])
    t.equal(asked(vague), 3)
    t.strictSame(await results('skips', '1'), [1])
    const [counted] = await outcomesOf(gateway, 'unread', [sampleOf('1')])
    t.equal(resultOf(counted), 1.25)
    t.match(counted?.flags, ['q:unreadable'])
  })

  await t.test('an answer that rm_preprocess scores itself needs no call and is flagged', async (t) => {
    const before = asked(sure)
    const [outcome] = await outcomesOf(gateway, 'open', [sampleOf('')])
    t.match(outcome, { valid: true, reward: 0, flags: ['q:no_call'] })
    t.equal(asked(sure), before)
  })

  await t.test('a group rule sees all answers to one prompt and counts a retry once', async (t) => {
    const group = (id: string, index: number) => ({ group: { id, index } })
    const outcomes = await outcomesOf(gateway, 'ranked', [
      sampleOf('a', group('g', 0)),
      sampleOf('bb', group('g', 1)),
      sampleOf('ccc', group('h', 0)),
      sampleOf('bb', group('g', 1)),
      sampleOf('d', group('h', 1)),
      sampleOf('dddd', group('h', 1)),
    ])
    t.strictSame(outcomes.map(resultOf), [0, 1, 0.5, 1, 0, 1], 'another answer under the same index is one')
  })

  const siblings = ['1', 'throw', '0', '0'].map((response) => sampleOf(response, { group: { id: 'g' } }))

  await t.test('the published example: rewards 1 1 0 0 with the second invalid', async (t) => {
    const told: unknown[] = []
    const outcomes = await outcomesOf(gateway, 'siblings', siblings, {
      onOutcome: (index, outcome) => told.push([index, outcome.valid || outcome.substitute]),
    })
    const given = outcomes.map((one) => (one.valid ? one.reward : (one.substitute ?? Number.NaN)))
    const mean = given.reduce((sum, reward) => sum + reward, 0) / given.length
    const advantages = given.map((reward) => Number((reward - mean).toFixed(3)))
    t.strictSame(
      advantages,
      [0.667, 0, -0.333, -0.333],
      'its own advantage is 0, the others are as without it',
    )
    t.match(outcomes[1], { valid: false, failure: { kind: 'rule_error' } })
    t.strictSame(
      told.sort(),
      [true, 1 / 3, true, true].map((one, index) => [index, one]),
      'each is told once',
    )
    const alone = await outcomesOf(gateway, 'siblings', [sampleOf('throw', { group: { id: 'h' } })])
    t.match(alone[0], { valid: false, substitute: 0.25 }, 'without siblings the fallback holds')
    const all = await outcomesOf(gateway, 'siblings', [
      sampleOf('1', { prompt: 'same' }),
      sampleOf('throw', { prompt: 'same' }),
      sampleOf('0', { prompt: 'other' }),
    ])
    t.match(all[1], { substitute: 1 }, 'without a group id the prompt makes the group')
  })

  await t.test('a reward or a request decides what replaces an invalid row', async (t) => {
    const given = async (onInvalid?: Parameters<typeof gateway.score>[0]['onInvalid']) =>
      (await outcomesOf(gateway, 'number', siblings, onInvalid === undefined ? {} : { onInvalid }))[1]
    t.match(await given(), { valid: false, substitute: 7 })
    t.match(await given(-1), { substitute: -1 })
    t.match(await given('group_mean'), { substitute: 1 / 3 })
    t.match(await given(null), { substitute: null })
    await t.rejects(given('fail'), { code: 'RG_SAMPLES_FAILED' })
    await t.rejects(outcomesOf(gateway, 'refused', siblings), { code: 'RG_SAMPLES_FAILED' })
    t.strictSame(await results('refused', '1'), [1])
  })

  await t.test('every outcome has the same keys, valid or not', async (t) => {
    const rows = await readNativeRows(
      [...['1', '0', 'throw', 'null', 'nan'].map((response) => ({ response })), { response: 5 }, 'no row'],
      [],
    )
    t.ok(nativeSample.safeParse({ response: '1' }).success)
    const keys = (value: object): unknown =>
      Object.entries(value).map(([key, inner]) => [
        key,
        ['terms', 'metrics'].includes(key) ? Object.keys(inner) : null,
        key === 'terms' ? Object.values(inner).map((term) => Object.keys(term as object).sort()) : null,
      ])
    const written = (await outcomesOf(gateway, 'two', rows)).map(writeNativeResult)
    t.ok(written.some(({ valid }) => valid) && written.some(({ valid }) => !valid))
    const [first] = written
    for (const result of written) t.strictSame(keys(result), keys(first ?? {}), result.id)
  })

  await t.test(
    'an unknown reward is refused with the nearest name, and everything after closing',
    async (t) => {
      t.throws(() => gateway.reward('ranket'), { code: 'RG_REWARD_UNKNOWN', message: /ranked/ })
      await gateway.close(0)
      await t.rejects(async () => outcomesOf(gateway, 'one', [sampleOf('1')]), { code: 'RG_CLOSING' })
      t.strictSame(gateway.missing(), ['the gateway is closing'])
    },
  )
})

t.test('a closing gateway finishes requests in progress and accepts no new ones', async (t) => {
  const slow = await testModel(t, 1, { policy: 'constant', constant: 1, latencyMedianMs: 200 })
  const gateway = await testGateway(t, {
    gateway: { models: { judge: slow.config } },
    asked: { steps: [judge] },
  })
  const scoring = outcomesOf(gateway, 'asked', [sampleOf('1')])
  const closing = gateway.close(60_000)
  await t.rejects(async () => outcomesOf(gateway, 'asked', [sampleOf('2')]), { code: 'RG_CLOSING' })
  await closing
  t.equal(gateway.inFlight, 0)
  t.equal(resultOf((await scoring)[0]), 1)
})

t.test('every listener receives its events, and an event without listeners costs nothing', async (t) => {
  const heard: string[] = []
  const guarded = { reward: 'r', step: 's', parts: ['fence'] }
  const one: EngineEvents = { guarded: ({ step }) => void heard.push(`one ${step}`) }
  const two: EngineEvents = {
    guarded: ({ parts }) => void heard.push(`two ${parts}`),
    done: ({ run }) => void heard.push(`done ${run}`),
  }
  const guard = new ListenerGuard(fakeClock())
  const all = allOf<EngineEvents>(guard, engineEventNames, { one, none: null, two, nothing: undefined })
  t.strictSame(Object.keys(all).sort(), ['done', 'guarded'])
  all.guarded?.(guarded)
  t.strictSame(heard, ['one s', 'two fence'])
  t.strictSame(Object.keys(allOf<EngineEvents>(guard, engineEventNames, { one })), ['guarded'])
})
