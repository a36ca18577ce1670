import t from 'tap'
import { combine } from '../../src/engine/combine.ts'
import type { Plan, PlanStep } from '../../src/plan/plan.ts'
import { rewardRange } from '../../src/plan/reward-range.ts'
import { sourcePattern } from '../../src/plan/source-pattern.ts'
import type { Term } from '../../src/sample/outcome.ts'
import { seeded } from '../support/seeded.ts'

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

const condition = { source: 'x', steps: [], evaluate: () => ({ value: true }) }
const plan = (steps: readonly PlanStep[], rest: Partial<Plan> = {}) => ({
  steps,
  formula: null,
  gate: null,
  arithmetic: 'sound' as const,
  ...rest,
})

t.test('the range of a fold is that of its terms, on and off', async (t) => {
  t.strictSame(rewardRange(plan([step([0, 1]), step([-1, 1], {}, 0.5)])), [-0.5, 1.5])
  t.strictSame(rewardRange(plan([step([1, 2]), step([-1, 3], { op: 'mul' })])), [-2, 6])
  t.strictSame(rewardRange(plan([step([1, 2], { when: condition }), step([5, 6])])), [5, 8])
  t.strictSame(rewardRange(plan([step([1, 2]), step([5, 6], { gated: true })], { gate: condition })), [1, 8])
  const multiplied = [step([1, 2]), step([5, 6], { gated: true, op: 'mul' })]
  t.strictSame(rewardRange(plan(multiplied, { gate: condition, arithmetic: 'reference' })), [0, 12])
  t.strictSame(rewardRange(plan([step([1, 2]), step([3, 4], { critique: true })])), [1, 2])
  t.strictSame(rewardRange(plan([step([0, Infinity], {}, 0)])), [0, 0])
  t.equal(
    rewardRange(plan([step([0, 1])], { formula: { ...condition, evaluate: () => ({ value: 1 }) } })),
    null,
  )
})

t.test('steps for different data sources are never added up', async (t) => {
  const steps = [
    step([0, 1], { dataSource: sourcePattern(['a']) }),
    step([-2, 1], { dataSource: sourcePattern(['b', 'c']) }),
  ]
  t.strictSame(rewardRange(plan(steps)), [-2, 1])
  const open = [...steps, step([0, 5], { dataSource: sourcePattern(['c*', '!b']) })]
  t.strictSame(rewardRange(plan(open)), [-2, 6])
})

t.test('no fold leaves its range, whatever the terms', async (t) => {
  const seed = Number(process.env.SEED ?? 5)
  t.comment(`seed ${seed}`)
  const random = seeded(seed)
  let valid = 0
  for (let round = 0; round < 3000; round++) {
    const steps = Array.from({ length: 1 + Math.floor(random() * 4) }, () => {
      const ends = [random() * 4 - 2, random() * 4 - 2].sort((a, b) => a - b) as [number, number]
      const op = random() < 0.4 ? 'mul' : 'add'
      return step(ends, { op, when: random() < 0.4 ? condition : null }, random() * 3 - 1)
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
