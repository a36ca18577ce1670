import t from 'tap'
import type { Term } from '../../../src/core/sample/sample.ts'
import { combine } from '../../../src/scoring/engine/outcome.ts'
import { rewardRange, weightOf } from '../../../src/scoring/plan/fold.ts'
import type { Plan, PlanStep } from '../../../src/scoring/plan/plan.ts'
import { sourcePattern } from '../../../src/scoring/plan/resolve-step.ts'
import { cpuMs } from '../../support/cpu.ts'
import { seeded } from '../../support/seeded.ts'

t.test('a weight depends on the training step, linearly or in steps', async (t) => {
  const linear = weightOf({
    points: [
      [10, 0],
      [20, 1],
      [40, 3],
    ],
    between: 'linear',
    without_step: 7,
  })
  const hold = weightOf({
    points: [
      [10, 0],
      [20, 1],
    ],
    between: 'hold',
    without_step: 7,
  })
  t.strictSame([undefined, 0, 10, 15, 20, 30, 40, 99].map(linear), [7, 0, 0, 0.5, 1, 2, 3, 3])
  t.strictSame([0, 10, 19.9, 20, 99].map(hold), [0, 0, 0, 1, 1])
  t.equal(weightOf({ points: [[5, 2]], between: 'linear', without_step: 0 })(3), 2)
  t.equal(weightOf(0.25)(3), 0.25)
})

t.test('data source patterns match by stars and exclusions, in linear time', async (t) => {
  const cases: [string[], string | undefined, boolean][] = [
    [['openai/gsm8k'], 'openai/gsm8k', true],
    [['openai/*'], 'openai/gsm8k', true],
    [['*gsm*k'], 'openai/gsm8k', true],
    [['a*a'], 'a', false],
    [['a', 'b*'], 'bc', true],
    [['*', '!b*'], 'bc', false],
    [['!b*'], 'ac', true],
    [['*'], undefined, true],
    [['a*'], undefined, false],
    [['a.c'], 'abc', false],
    [['ab*bc'], 'abc', false],
  ]
  for (const [patterns, source, fits] of cases) {
    t.equal(sourcePattern(patterns).matches(source), fits, `${patterns} ${source}`)
  }
  const started = cpuMs()
  t.equal(sourcePattern([`${'*a'.repeat(50)}b`]).matches('a'.repeat(1_000_000)), false)
  t.ok(cpuMs() - started < 1000)
})

const step = (range: readonly [number, number], rest: Partial<PlanStep> = {}, weight = 1): PlanStep =>
  ({
    name: 's',
    op: 'add',
    function: { range },
    critique: false,
    when: null,
    dataSource: null,
    gated: false,
    ask: null,
    onUnreadable: 'fail',
    weight: () => weight,
    ...rest,
  }) as unknown as PlanStep

const sometimes = { source: 'x', steps: [], evaluate: () => ({ value: true }) }
const plan = (steps: readonly PlanStep[], rest: Partial<Plan> = {}) => ({
  steps,
  formula: null,
  gate: null,
  arithmetic: 'strict' as const,
  ...rest,
})

t.test('the range of a reward covers terms that are on and off', async (t) => {
  const gate = sometimes
  const multiplied = [step([1, 2]), step([5, 6], { gated: true, op: 'mul' })]
  const ranges: Readonly<Record<string, readonly [ReturnType<typeof plan>, readonly [number, number]]>> = {
    'a sum': [plan([step([0, 1]), step([-1, 1], {}, 0.5)]), [-0.5, 1.5]],
    'a product': [plan([step([1, 2]), step([-1, 3], { op: 'mul' })]), [-2, 6]],
    'a condition': [plan([step([1, 2], { when: sometimes }), step([5, 6])]), [5, 8]],
    'a gate': [plan([step([1, 2]), step([5, 6], { gated: true })], { gate }), [1, 8]],
    'a gate, as published': [plan(multiplied, { gate, arithmetic: 'published' }), [0, 12]],
    'a critique': [plan([step([1, 2]), step([3, 4], { critique: true })]), [1, 2]],
    'weight 0': [plan([step([0, Infinity], {}, 0)]), [0, 0]],
  }
  for (const [title, [of, range]] of Object.entries(ranges)) t.strictSame(rewardRange(of), range, title)
})

t.test('the range of a formula is not known', async (t) => {
  const formula = { ...sometimes, evaluate: () => ({ value: 1 }) }
  t.equal(rewardRange(plan([step([0, 1])], { formula })), null)
})

t.test('the range never adds up steps for different data sources', async (t) => {
  const steps = [
    step([0, 1], { dataSource: sourcePattern(['a']) }),
    step([-2, 1], { dataSource: sourcePattern(['b', 'c']) }),
  ]
  t.strictSame(rewardRange(plan(steps)), [-2, 1])
  const open = [...steps, step([0, 5], { dataSource: sourcePattern(['c*', '!b']) })]
  t.strictSame(rewardRange(plan(open)), [-2, 6])
})

t.test('no reward is outside its range, whatever the terms', async (t) => {
  const seed = Number(process.env.SEED ?? 5)
  t.comment(`seed ${seed}`)
  const random = seeded(seed)
  let valid = 0
  for (let round = 0; round < 3000; round++) {
    const steps = Array.from({ length: 1 + Math.floor(random() * 4) }, () => {
      const ends = [random() * 4 - 2, random() * 4 - 2].sort((a, b) => a - b) as [number, number]
      const op = random() < 0.4 ? 'mul' : 'add'
      return step(ends, { op, when: random() < 0.4 ? sometimes : null }, random() * 3 - 1)
    })
    const terms = steps.map((one, index): Term => {
      const { range, name } = one.function
      const named = { name: `${name}${index}`, weight: one.weight(undefined) }
      if (one.when && random() < 0.5) return { ...named, status: 'off', why: 'when' }
      const value = range[0] + random() * (range[1] - range[0])
      return { ...named, status: 'scored', score: { value }, draws: 1, spread: 0, contribution: null }
    })
    const result = combine(plan(steps), terms)
    const [low, high] = rewardRange(plan(steps)) ?? [0, 0]
    if (result.valid) valid++
    if (result.valid && (result.reward < low - 1e-9 || result.reward > high + 1e-9)) {
      t.fail(`round ${round}: ${result.reward} is not from ${low} to ${high}`)
    }
  }
  t.ok(valid > 1000, `${valid} of 3000 have a reward`)
})
