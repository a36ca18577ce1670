import t from 'tap'
import type { Outcome, Sample } from '../../../src/core/sample/sample.ts'
import { fakeClock } from '../../support/clock.ts'
import { outcomesOf, resultOf, sampleOf, testGateway, testModel } from '../../support/gateway.ts'
import { completion, scriptedServer } from '../../support/scripted-server.ts'
import { seeded } from '../../support/seeded.ts'

const seed = Number(process.env.SEED ?? Math.floor(Math.random() * 2 ** 31))
t.comment(`SEED=${seed}`)

interface Step {
  readonly name: string
  readonly [key: string]: unknown
}

interface Reward {
  readonly steps: readonly Step[]
  readonly [key: string]: unknown
}

const names = ['a', 'b', 'c', 'd']
const formulas = [
  'a + b',
  'scored(c) ? c : a',
  'a > 0.4 ? a : b',
  'max(a, b) - (scored(c) ? c : 0)',
  'scored(d) ? d * a : a',
]

/** A random reward of four steps that refer to each other. */
function drawn(random: () => number): Reward {
  const pick = <T>(items: readonly T[]): T => items[Math.floor(random() * items.length)] as T
  const hasGate = random() < 0.3
  const steps = names.map((name, at) => ({
    name,
    function: 'told-rule',
    options: { key: name },
    weight: pick([
      0,
      0,
      1,
      -0.5,
      {
        points: [
          [10, 0],
          [20, 1],
        ],
        without_step: 0.25,
      },
    ]),
    ...(at > 0 && random() < 0.3 && { op: 'mul' }),
    ...(at > 1 && hasGate && { gated: true }),
    ...(at > 1 && random() < 0.3 && { when: `${pick(['a', 'b'])} > 0.4` }),
    ...(at > 1 && random() < 0.2 && { after: pick(['a', 'b']) }),
    ...(at > 1 && random() < 0.2 && { data_source: 'other' }),
  }))
  return {
    steps,
    ...(hasGate && { gate: pick(['a > 0.4', 'a > 0.4 or b > 0.4']) }),
    ...(random() < 0.4 && { formula: pick(formulas) }),
    ...(random() < 0.1 && !hasGate && { on_invalid: -1 }),
  }
}

/** The score that decides the reward: changing it changes the reward. */
const said = (outcome: Outcome | undefined) => (outcome?.valid ? outcome.reward : 'invalid')

t.test('a failed step removes the reward if and only if it could have changed it', async (t) => {
  const random = seeded(seed)
  const rewards: Record<string, Reward> = {}
  for (let at = 0; at < 24; at++) {
    const reward = drawn(random)
    rewards[`r${at}`] = reward
    // One variant for each step that no other step names, without that step.
    for (const name of names) {
      const others = { ...reward, steps: reward.steps.filter((step) => step.name !== name) }
      if (JSON.stringify(others).match(new RegExp(`"(?:gate|when|after|formula)":"[^"]*\\b${name}\\b`)))
        continue
      if (reward.gate && !others.steps.some(({ gated }) => gated)) continue
      rewards[`r${at}-${name}`] = others
    }
  }
  const gateway = await testGateway(t, rewards)
  let [ignored, decisive] = [0, 0]
  for (let at = 0; at < 24; at++) {
    const reward = rewards[`r${at}`] as Reward
    for (let round = 0; round < 6; round++) {
      const extraInfo = Object.fromEntries(
        names.map((name) => [name, random() < 0.15 ? null : Math.round(random() * 4) / 4]),
      )
      const trainingStep = random() < 0.5 ? Math.round(random() * 30) : undefined
      for (const name of names) {
        const told = [-2, 0, 0.25, 0.5, 3, null, 'broken'].map((own) =>
          sampleOf('x', { id: String(own), extraInfo: { ...extraInfo, [name]: own } }),
        )
        const job = trainingStep === undefined ? {} : { trainingStep }
        const outcomes = [...(await outcomesOf(gateway, `r${at}`, told, job))]
        const broken = said(outcomes.pop())
        const possible = [...new Set(outcomes.map(said))]
        const what = `${JSON.stringify(reward)} ${JSON.stringify(extraInfo)} at ${trainingStep}: ${name} of ${possible}`
        if (broken === 'invalid') decisive += 1
        else ignored += 1
        if (possible.length > 1 && broken !== 'invalid') t.fail(`a number was chosen: ${what}`)
        if (possible.length === 1 && broken !== 'invalid' && broken !== possible[0])
          t.fail(`another number: ${what}`)
        const without = `r${at}-${name}`
        const isMultiplied = reward.steps.some(({ op }) => op === 'mul') && reward.formula === undefined
        if (possible.length > 1 || isMultiplied || !(without in rewards)) continue
        const [alone] = await outcomesOf(gateway, without, told.slice(0, 1), job)
        if (said(alone) !== broken) t.fail(`it is missed although nothing hangs on it: ${what}`)
      }
    }
  }
  t.comment(`${ignored} failures without effect, ${decisive} with`)
  t.ok(ignored > 50 && decisive > 50)
})

t.test('in random folds, a failed factor next to a 0 removes no reward', async (t) => {
  const random = seeded(seed + 1)
  const pick = <T>(items: readonly T[]): T => items[Math.floor(random() * items.length)] as T
  const rewards: Record<string, Reward> = {}
  for (let at = 0; at < 40; at++)
    rewards[`f${at}`] = {
      ...(at % 4 === 0 && { arithmetic: 'published' }),
      steps: names.map((name, place) => ({
        name,
        function: 'told-rule',
        options: { key: name },
        weight: pick([0, 1, 1, 1, -0.5]),
        ...(place > 0 && random() < 0.6 && { op: 'mul' }),
      })),
    }
  const gateway = await testGateway(t, rewards)
  let [ignored, decisive] = [0, 0]
  for (const reward of Object.keys(rewards))
    for (let round = 0; round < 4; round++) {
      const extraInfo = Object.fromEntries(names.map((name) => [name, pick([0, 0, 0.5, 1, 0.25, null])]))
      for (const name of names) {
        const told = [-2, 0, 0.25, 0.375, 3, null, 'broken'].map((own) =>
          sampleOf('x', { id: String(own), extraInfo: { ...extraInfo, [name]: own } }),
        )
        const outcomes = [...(await outcomesOf(gateway, reward, told))]
        const broken = said(outcomes.pop())
        const possible = [...new Set(outcomes.map(said))]
        const [only] = possible
        const wanted = possible.length === 1 ? only : 'invalid'
        if (wanted === 'invalid') decisive += 1
        else ignored += 1
        if (broken !== wanted)
          t.fail(
            `${JSON.stringify(rewards[reward])} ${JSON.stringify(extraInfo)} ${name}: ${broken}, not ${wanted} of ${possible}`,
          )
      }
    }
  t.comment(`${ignored} failures without effect, ${decisive} with`)
  t.ok(ignored > 50 && decisive > 50)
})

t.test('a step that only observes never costs a reward', async (t) => {
  const clock = fakeClock()
  const server = await scriptedServer(() => undefined)
  t.teardown(() => server.kill())
  const models = {
    hanging: {
      model: 'm',
      instances: [server.url],
      health: { interval_s: 0 },
      max_queue: 0,
      max_in_flight: 8,
    },
  }
  const rule = { name: 'rule', function: 'echo-rule' }
  // Once the judge is asked, the rule has its score.
  const judge = { name: 'watch', function: 'digit-judge', model: 'hanging', after: 'rule' }
  const gateway = await testGateway(
    t,
    {
      gateway: { models },
      zero: { steps: [rule, { ...judge, weight: 0 }], deadline_s: 5 },
      later: {
        steps: [
          rule,
          {
            ...judge,
            weight: {
              points: [
                [0, 0],
                [100, 0],
                [200, 1],
              ],
              without_step: 1,
            },
          },
        ],
        deadline_s: 5,
      },
      unnamed: { steps: [rule, judge], formula: 'rule', deadline_s: 5 },
      short: { steps: [rule, { ...judge, weight: 0, timeout_s: 1 }], deadline_s: 5 },
      critique: { steps: [rule, { ...judge, function: 'critic' }], deadline_s: 5 },
      counts: { steps: [rule, judge], deadline_s: 5 },
      group: { steps: [rule, { ...judge, function: 'number-duel', weight: 0 }], deadline_s: 5 },
    },
    { clock },
  )
  const scored = async (reward: string, job: { trainingStep?: number } = {}, row: Partial<Sample> = {}) => {
    const seen = server.seen.length
    const outcome = outcomesOf(gateway, reward, [sampleOf('1', row)], job).then(([one]) => one)
    if (row.group === undefined) await server.saw(seen + 1)
    return { outcome }
  }
  for (const [reward, job] of [
    ['zero', {}],
    ['later', { trainingStep: 50 }],
    ['unnamed', {}],
    ['critique', {}],
  ] as const) {
    const { outcome } = await scored(reward, job)
    clock.advance(5000)
    const found = await outcome
    t.equal(resultOf(found), 1, `${reward}: scored at the deadline`)
    t.match(found?.terms, [{ status: 'scored' }, { status: 'failed', failure: { kind: 'deadline' } }], reward)
  }
  const short = await scored('short')
  clock.advance(1000)
  t.equal(resultOf(await short.outcome), 1, 'timeout_s of the step ends the waiting')
  for (const [reward, job] of [
    ['counts', {}],
    ['later', { trainingStep: 150 }],
    ['later', {}],
  ] as const) {
    const { outcome } = await scored(reward, job)
    clock.advance(5000)
    t.equal(resultOf(await outcome), 'deadline', `${reward}: a step that counts is missed`)
  }
  const alone = await scored('group', {}, { group: { id: 'g', index: 0, size: 4 } })
  t.equal(resultOf(await alone.outcome), 1, 'an incomplete group costs nothing where its step does not count')
})

t.test('an overloaded judge that only observes refuses no request', async (t) => {
  const held: (() => void)[] = []
  const busy = await scriptedServer((seen, response) => {
    held.push(() => response.end(JSON.stringify(completion(seen, '1'))))
  })
  t.teardown(() => busy.kill())
  const { config } = await testModel(t, 1)
  const models = {
    calm: config,
    busy: { model: 'm', instances: [busy.url], max_in_flight: 1, max_queue: 0, health: { interval_s: 0 } },
  }
  const calm = { name: 'calm', function: 'digit-judge', model: 'calm' }
  const gateway = await testGateway(t, {
    gateway: { models },
    watched: { steps: [calm, { name: 'busy', function: 'digit-judge', model: 'busy', weight: 0 }] },
    judged: { steps: [{ name: 'busy', function: 'digit-judge', model: 'busy' }] },
  })
  const first = outcomesOf(gateway, 'judged', [sampleOf('1')])
  await busy.saw(1)
  await t.rejects(outcomesOf(gateway, 'judged', [sampleOf('0')], { isRefusable: true }), {
    code: 'RG_OVERLOADED',
  })
  const [outcome] = await outcomesOf(gateway, 'watched', [sampleOf('0')], { isRefusable: true })
  t.match(outcome, {
    valid: true,
    terms: [{ status: 'scored' }, { status: 'failed', failure: { kind: 'overloaded' } }],
  })
  for (const answer of held.splice(0)) answer()
  await first
})
