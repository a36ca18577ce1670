import t, { type Test } from 'tap'
import consistencyJudge from '../../../reward-functions/consistency-judge.ts'
import riderJudge from '../../../reward-functions/rider-judge.ts'
import rubricJudge from '../../../reward-functions/rubric-judge.ts'
import yesNoJudge from '../../../reward-functions/yes-no-judge.ts'
import type { PartQuestions } from '../../../src/contract/index.ts'
import { type CanaryEvents, InstanceVerdict } from '../../../src/scoring/canary/canary.ts'
import { probesAsShipped, shippedProbes } from '../../../src/scoring/canary/probes.ts'
import { openMetrics } from '../../../src/serving/telemetry/metrics/metrics.ts'
import { arithmeticPolicy, type Policy } from '../../../src/simulator/policies.ts'
import { type SimulatedServer, startSimulatedServer } from '../../../src/simulator/server.ts'
import { fakeClock } from '../../support/clock.ts'
import { outcomesOf, resultOf, sampleOf, testGateway, testModel } from '../../support/gateway.ts'

/** A judge of sums that can be made to misjudge. */
interface Judge {
  readonly server: SimulatedServer
  ails: 'nothing' | 'says yes' | 'babbles'
}

async function judgeOf(t: Test): Promise<Judge> {
  const policy: Policy = (prompt, draw) => {
    if (judge.ails === 'babbles') return 'Well, it depends.'
    if (judge.ails === 'says yes') return { score: 1, reason: 'yes' }
    return arithmeticPolicy(prompt, draw) ?? { score: 0, reason: 'says nothing' }
  }
  const server = await startSimulatedServer({ model: 'judge', policy })
  const judge: Judge = { server, ails: 'nothing' }
  t.teardown(() => server.close())
  return judge
}

async function watched(t: Test, canary: object, step: object = {}) {
  const clock = fakeClock()
  const judges = [await judgeOf(t), await judgeOf(t)]
  const results: string[] = []
  const told: (string | null)[] = []
  const waiters: { count: number; wake: () => void }[] = []
  const metrics = openMetrics({ version: 'test', inFlight: () => 0 })
  t.teardown(() => metrics.close())
  const events: CanaryEvents = {
    probed(probe) {
      metrics.canary.probed?.(probe)
      const { result } = probe
      results.push(result)
      for (const { count, wake } of waiters) if (results.length >= count) wake()
    },
    judged: ({ instance, reason }) =>
      void told.push(`${judges.findIndex(({ server }) => server.url === instance)} ${reason}`),
  }
  const gateway = await testGateway(
    t,
    {
      gateway: {
        canary: { every_s: 60, ...canary },
        models: {
          judge: {
            model: 'judge',
            instances: judges.map(({ server }) => server.url),
            health: { interval_s: 0 },
            wait_for_instance: 1,
          },
        },
      },
      sums: { steps: [{ name: 'q', function: 'yes-no-judge', model: 'judge', ...step }] },
    },
    { clock, events: { canary: events } },
  )
  /** Runs the next round and returns its results. */
  const round = async (ms: number, probes: number): Promise<readonly string[]> => {
    const before = results.length
    const done = new Promise<void>((wake) => waiters.push({ count: before + probes, wake }))
    clock.advance(ms)
    await done
    for (let turn = 0; turn < 5; turn += 1) await new Promise((resolve) => setImmediate(resolve))
    return results.slice(before)
  }
  const states = () => gateway.models()[0]?.instances.map(({ state }) => state)
  const finished = () => judges.map(({ server }) => server.stats().sequences.finished)
  return { clock, judges, gateway, told, round, states, finished, metrics }
}

t.test('the canaries of a judge on two instances', async (t) => {
  const { clock, judges, gateway, told, round, states, finished, metrics } = await watched(t, {})
  const [one, two] = judges
  if (!one || !two) throw new Error('two judges are needed')

  await t.test('the first round comes soon, and an instance that judges correctly passes it', async (t) => {
    t.strictSame(await round(6000, 6), new Array(6).fill('passed'))
    t.strictSame(states(), ['ready', 'ready'])
  })

  await t.test('each probe counts once for each instance in the metrics', async (t) => {
    const { text } = await metrics.expose()
    const counts = text.split('\n').filter((line) => line.startsWith('reward_gateway_canary_probes_total{'))
    t.equal(counts.length, 3)
    for (const line of counts) {
      t.match(line, /model="judge",function="yes-no-judge",probe="[^"]+",result="passed"/)
      t.match(line, / 2$/)
    }
  })

  await t.test('one round of wrong answers ejects no instance', async (t) => {
    one.ails = 'says yes'
    t.strictSame((await round(60_000, 6)).filter((result) => result === 'wrong').length, 2)
    t.strictSame(states(), ['ready', 'ready'])
  })

  await t.test('an instance that misjudges again is ejected, and the reason is reported', async (t) => {
    await round(6000, 6)
    t.strictSame(states(), ['fails-canary', 'ready'])
    t.match(told, [/^0 it misjudges 2 of 3 known answers/])
    t.strictSame(gateway.suspects('sums'), [{ model: 'judge', instance: one.server.url }])
    t.strictSame(gateway.missing(), [])
  })

  await t.test('no sample is judged by an ejected instance', async (t) => {
    const before = finished()
    const rows = Array.from({ length: 20 }, (_, at) => sampleOf(`${at} + 1 = ${at + 2}`))
    t.strictSame(new Set((await outcomesOf(gateway, 'sums', rows)).map(resultOf)), new Set([0]))
    t.strictSame(
      finished().map((count, at) => count - (before[at] ?? 0)),
      [0, 20],
    )
  })

  await t.test('an ejected instance is restored once it judges correctly', async (t) => {
    one.ails = 'nothing'
    await round(60_000, 6)
    t.strictSame(states(), ['ready', 'ready'])
    t.equal(told.at(-1), '0 null')
  })

  await t.test('an instance whose answers hold no verdict is ejected', async (t) => {
    two.ails = 'babbles'
    await round(60_000, 6)
    await round(6000, 6)
    t.strictSame(states(), ['ready', 'fails-canary'])
    t.match(told.at(-1), /^1 \d of its last \d+ answers to known questions hold no verdict/)
  })

  await t.test(
    'a judge whose instances all fail their canaries is missing, and scores nothing',
    async (t) => {
      one.ails = 'says yes'
      await round(60_000, 6)
      await round(6000, 6)
      t.strictSame(states(), ['fails-canary', 'fails-canary'])
      t.match(gateway.missing(), [/'judge'/])
      const scoring = outcomesOf(gateway, 'sums', [sampleOf('1 + 1 = 2')])
      for (let turn = 0; turn < 50; turn += 1) {
        clock.advance(100)
        await new Promise((resolve) => setImmediate(resolve))
      }
      t.strictSame((await scoring).map(resultOf), ['judge_unreachable'])
    },
  )
})

t.test(
  'configured probes replace shipped ones, eject: false only reports, failed probes do not count',
  async (t) => {
    const probes = { 'yes-no-judge': [{ name: 'wrong', prompt: 'sum', response: '1 + 1 = 3', max: 0.2 }] }
    const { judges, told, round, states } = await watched(t, { eject: false, wrong_rounds: 1, probes })
    const [one, two] = judges
    if (!one || !two) throw new Error('two judges are needed')
    one.ails = 'says yes'
    two.server.set({ kind: '500' })
    t.strictSame([...(await round(6000, 2))].sort(), ['failed', 'wrong'])
    t.strictSame(states(), ['ready', 'ready'])
    t.match(told, [/^0 it misjudges 1 of 1 known answers/])
    await round(60_000, 2)
    t.equal(told.length, 1, 'reported once')
    one.ails = 'nothing'
    await round(60_000, 2)
    t.equal(told.at(-1), '0 null')
  },
)

t.test('simulated judges of sums pass the shipped probes, however their criteria are asked', async (t) => {
  const { config } = await testModel(t, 1, { policy: 'reference' }, { decide: { wire: 'vllm' } })
  const step = (name: string, options: object = {}) => ({
    models: { judge: config },
    steps: [{ name: 's', function: name, model: 'judge', options }],
  })
  const rubric = (options: object) => step('rubric-judge', options)
  const gateway = await testGateway(t, {
    plain: step('yes-no-judge'),
    each: rubric({}),
    reasons: rubric({ reasons: true }),
    batch: rubric({ ask: 'batch', batch: 1 }),
    all: rubric({ ask: 'all' }),
    both: rubric({ ask: 'all', reasons: true }),
    group: step('rubric-judge-group'),
    decisions: step('rubric-decisions'),
  })
  for (const reward of gateway.rewards()) {
    const probes = shippedProbes[reward.name === 'plain' ? 'yes-no-judge' : 'rubric-judge'] ?? []
    const members = probes.map(({ sample }, index) =>
      reward.name === 'group' ? { ...sample, group: { id: 'g', size: probes.length, index } } : sample,
    )
    const rewards = (await outcomesOf(gateway, reward.name, members)).map(resultOf)
    for (const [at, { name, min, max }] of probes.entries()) {
      const value = rewards[at]
      const isPassed = typeof value === 'number' && value >= min && value <= max
      t.ok(isPassed, `${reward.name} ${name}: ${value}`)
    }
  }
})

t.test('every shipped probe makes its judge ask a question', async (t) => {
  const asked = {
    'yes-no-judge': (row: never) => yesNoJudge.rm_preprocess(row),
    'rider-judge': (row: never) => riderJudge.rm_preprocess(row),
    'rubric-judge': (row: never) => (rubricJudge.rm_preprocess(row) as PartQuestions).questions[0]?.question,
    'consistency-judge': (row: never) => consistencyJudge.rm_preprocess(row),
  }
  const options = {
    'yes-no-judge': yesNoJudge.options.parse({}),
    'rider-judge': riderJudge.options.parse({}),
    'rubric-judge': rubricJudge.options.parse({}),
    'consistency-judge': consistencyJudge.options.parse({}),
  }
  t.strictSame(Object.keys(shippedProbes).sort(), Object.keys(asked).sort())
  for (const name of Object.keys(asked) as (keyof typeof asked)[]) {
    const probes = shippedProbes[name] ?? []
    t.ok(probes.some(({ min }) => min > 0.5) && probes.some(({ max }) => max < 0.5), name)
    for (const { name: probe, sample } of probes) {
      const question = asked[name]({ sample, truth: null, options: options[name], earlier: {} } as never)
      t.match(question, { kind: 'prompt' }, `${name} ${probe}`)
    }
  }
})

t.test('a judge whose options change its question or its rows is not probed', async (t) => {
  const name = 'rubric-judge'
  t.ok(probesAsShipped({ name, options: { ask: 'all' } }))
  t.equal(probesAsShipped({ name, options: { template: '{response}' } }), null)
  t.equal(probesAsShipped({ name, options: { mode: 'published', code: 'healthbench' } }), null)
})

t.test(
  "an instance's verdict changes once, after consecutive wrong rounds or too many unreadable answers",
  async (t) => {
    const patience = { wrongRounds: 2, maxUnreadable: 0.3 }
    const reasons = (
      rounds: readonly Parameters<InstanceVerdict['push']>[0][],
      verdict = new InstanceVerdict(false),
    ) => rounds.map((round) => verdict.push(round, patience)?.reason)
    t.strictSame(
      reasons([['wrong'], ['passed'], ['wrong'], ['failed'], ['no_call']]),
      new Array(5).fill(undefined),
    )
    t.match(reasons([['wrong'], ['wrong'], ['wrong'], ['passed']]), [undefined, /1 of 1/, undefined, null])
    const rising = [
      ...new Array(6).fill(['passed', 'passed']),
      ...new Array(9).fill(['passed', 'unreadable']),
    ]
    const told = reasons(rising).filter((reason) => reason !== undefined)
    t.match(told, [/^7 of its last 20 answers/])
    t.equal(told.length, 1)
    t.strictSame(reasons([['failed'], ['passed']], new InstanceVerdict(true)), [undefined, null])
  },
)
