import t from 'tap'
import type { OffReason, Sample, Term } from '../../../src/core/sample/sample.ts'
import { combine, lookupIn } from '../../../src/scoring/engine/outcome.ts'
import { rowOf } from '../../../src/scoring/engine/step.ts'
import type { Expression } from '../../../src/scoring/plan/expression.ts'
import type { Plan, PlanStep } from '../../../src/scoring/plan/plan.ts'
import { seeded } from '../../support/seeded.ts'

const scored = (name: string, value: number, weight = 1, parts?: Record<string, number>): Term => ({
  name,
  weight,
  status: 'scored',
  score: parts ? { value, parts } : { value },
  draws: 1,
  spread: 0,
  contribution: null,
})
const off = (name: string, why: OffReason = 'gate', weight = 1): Term => ({
  name,
  weight,
  status: 'off',
  why,
})
const failed = (name: string): Term => ({
  name,
  weight: 1,
  status: 'failed',
  failure: { kind: 'rule_error', retryable: false, detail: 'it threw', step: name },
})

type Op = 'add' | 'mul'
const plan = (
  ops: readonly Op[],
  arithmetic: Plan['arithmetic'] = 'strict',
  formula: Expression<number> | null = null,
): Pick<Plan, 'steps' | 'gate' | 'formula' | 'arithmetic'> => ({
  steps: ops.map((op, at) => ({
    name: 'abcdefgh'[at],
    op,
    after: [],
    needs: [],
  })) as unknown as Plan['steps'],
  gate: null,
  formula,
  arithmetic,
})

const contributions = (terms: readonly Term[]) =>
  terms.map((term) => (term.status === 'scored' ? term.contribution : 'none'))

t.test('the first active step starts the fold and later steps are added to it', async (t) => {
  const result = combine(plan(['add', 'add', 'add']), [
    off('rule', 'data_source'),
    scored('quality', 0.5, 2),
    scored('style', 0.25, 0.5),
  ])
  t.match(result, { valid: true, reward: 1.125 })
  t.strictSame(contributions(result.terms), ['none', 1, 0.125])
})

t.test('mul multiplies by weight times score, and no term claims a contribution', async (t) => {
  const result = combine(plan(['add', 'mul']), [scored('rule', 0.5), scored('quality', 0.5, 3)])
  t.match(result, { valid: true, reward: 0.75 })
  t.strictSame(contributions(result.terms), [null, null])
})

t.test('a term without a score leaves the reward unchanged, even under mul', async (t) => {
  for (const why of ['gate', 'when', 'data_source', 'not_applicable', 'skipped'] as const) {
    const result = combine(plan(['add', 'mul']), [scored('rule', 0.7), off('quality', why)])
    t.match(result, { valid: true, reward: 0.7 }, why)
    t.strictSame(contributions(result.terms), [0.7, 'none'])
  }
  const critique: Term = { name: 'critique', weight: 1, status: 'text', texts: ['fine'] }
  t.match(combine(plan(['add', 'mul']), [scored('rule', 0.7), critique]), { valid: true, reward: 0.7 })
})

t.test('published arithmetic uses float32 and counts a closed gate as score 0', async (t) => {
  const { fround } = Math
  const sum = combine(plan(['add', 'add'], 'published'), [scored('rule', 0.1), scored('quality', 0.7, 0.3)])
  t.match(sum, { valid: true, reward: fround(fround(0.1) + fround(fround(0.3) * fround(0.7))) })
  t.match(combine(plan(['add', 'mul'], 'published'), [scored('rule', 0.1), off('quality')]), { reward: 0 })
  t.match(combine(plan(['add', 'add'], 'published'), [scored('rule', 0.5), off('quality')]), { reward: 0.5 })
  const untouched = combine(plan(['add', 'mul'], 'published'), [
    scored('rule', 0.5),
    off('quality', 'skipped'),
  ])
  t.match(untouched, { reward: 0.5 })
  const product = combine(plan(['add', 'mul'], 'published'), [
    scored('rule', 0.1),
    scored('quality', 0.9, 0.1),
  ])
  t.match(product, { reward: fround(fround(fround(0.1) * fround(0.1)) * fround(0.9)) }, 'from left to right')
  t.notMatch(product, { reward: fround(fround(0.1) * fround(fround(0.1) * fround(0.9))) })
})

t.test('a sample fails with its first failed term in step order', async (t) => {
  const result = combine(plan(['add', 'add', 'add']), [scored('a', 1), failed('b'), failed('c')])
  t.match(result, { valid: false, failure: { kind: 'rule_error', step: 'b' } })
})

t.test('a sample that no step scores is bad_sample, even if the formula is a constant', async (t) => {
  const one: Expression<number> = { source: '1', steps: [], evaluate: () => ({ value: 1 }) }
  for (const formula of [null, one]) {
    const result = combine(plan(['add', 'add'], 'strict', formula), [
      off('a', 'data_source'),
      off('b', 'when'),
    ])
    t.match(result, {
      valid: false,
      failure: { kind: 'bad_sample', detail: /a \(data_source\), b \(when\)/ },
    })
  }
})

t.test('a formula replaces the fold', async (t) => {
  const formula: Expression<number> = {
    source: 'a.length - b',
    steps: ['a', 'b'],
    evaluate(lookup) {
      const [left, right] = [lookup('a', 'length'), lookup('b', null)]
      return left === null || right === null ? { error: 'a step has no score' } : { value: left - right }
    },
  }
  const both = [scored('a', 9, 1, { length: 4 }), scored('b', 1)]
  t.match(combine(plan(['add', 'add'], 'strict', formula), both), { valid: true, reward: 3 })
  t.match(combine(plan(['add', 'add'], 'strict', formula), [scored('a', 1), off('b')]), {
    valid: false,
    failure: { kind: 'formula_error', detail: 'a step has no score' },
  })
})

t.test("an expression reads only scores and own parts, rounded as in the plan's arithmetic", async (t) => {
  const terms = [scored('a', 0.99999999, 1, { p: 0.1 }), off('b')]
  const strict = lookupIn([undefined, ...terms], 'strict')
  const reference = lookupIn(terms, 'published')
  t.equal(strict('a', null), 0.99999999)
  t.equal(reference('a', null), 1)
  t.equal(reference('a', 'p'), Math.fround(0.1))
  for (const [step, part] of [
    ['b', null],
    ['c', null],
    ['a', 'constructor'],
    ['a', '__proto__'],
  ] as const) {
    t.equal(strict(step, part), null, `${step} ${part}`)
  }
})

t.test('every reward is finite or a failure, and contributions add up to it', async (t) => {
  const seed = Number(process.env.SEED ?? 20_261)
  t.comment(`seed ${seed}`)
  const random = seeded(seed)
  let valid = 0
  const values = [0, -0, 1, -1, 0.1, 1e308, -1e308, 5e-324, 1e-40, 3.4e38, 0.3]
  const pick = <T>(from: readonly T[]): T => from[Math.floor(random() * from.length)] as T
  for (let round = 0; round < 5000; round++) {
    const ops = Array.from({ length: 1 + Math.floor(random() * 5) }, () => pick<Op>(['add', 'mul']))
    const terms = ops.map((_, index) =>
      random() < 0.25
        ? off(`s${index}`, pick(['gate', 'when']))
        : scored(`s${index}`, pick(values), pick(values)),
    )
    const arithmetic = pick(['strict', 'published'] as const)
    const result = combine(plan(ops, arithmetic), terms)
    if (!result.valid) {
      if (!['bad_sample', 'formula_error'].includes(result.failure.kind)) t.fail(result.failure.kind)
      continue
    }
    valid++
    if (!Number.isFinite(result.reward) || Object.is(result.reward, -0)) t.fail(`round ${round}`)
    const added = result.terms.flatMap((term) => (term.status === 'scored' ? [term.contribution] : []))
    if (added.every((one) => one !== null)) {
      const sum = added.reduce((total, one) => total + one, 0)
      const scale = Math.max(1, ...added.map(Math.abs))
      if (Math.abs(sum - result.reward) > 1e-12 * scale)
        t.fail(`round ${round}: ${sum} is not ${result.reward}`)
    }
  }
  t.ok(valid > 1000, `${valid} of 5000 have a reward`)
})

const sample: Sample = {
  id: 'a',
  prompt: '',
  response: 'r',
  groundTruth: null,
  rmPrompt: 'everyone: {response}',
  rmPrompts: { quality: 'quality: {response}' },
  extraInfo: {},
}
const step = (name: string, after: string[] = []) => ({ name, after }) as unknown as PlanStep

t.test("a function sees the row's rm_prompt for its step, or else the row's general one", async (t) => {
  t.equal(rowOf(step('quality'), sample, []).sample.rmPrompt, 'quality: {response}')
  t.equal(rowOf(step('other'), sample, []).sample.rmPrompt, 'everyone: {response}')
  t.equal(rowOf(step('toString'), sample, []).sample.rmPrompt, 'everyone: {response}')
})

t.test('a row carries the results of the steps named in `after`', async (t) => {
  const terms: Term[] = [
    { name: 'critique', weight: 1, status: 'text', texts: ['Too long.'] },
    {
      name: 'rule',
      weight: 1,
      status: 'scored',
      score: { value: 1 },
      draws: 1,
      spread: 0,
      contribution: null,
    },
  ]
  t.strictSame(rowOf(step('quality', ['critique', 'rule', 'none']), sample, terms).earlier, {
    critique: { score: null, texts: ['Too long.'] },
    rule: { score: { value: 1 }, texts: [] },
    none: { score: null, texts: [] },
  })
})
