import t from 'tap'
import type { Term } from '../../../src/core/sample/sample.ts'
import { combine } from '../../../src/scoring/engine/outcome.ts'
import {
  compileCondition,
  compileFormula,
  type KnownStep,
  type Lookup,
} from '../../../src/scoring/plan/expression.ts'
import { rewardRange, weightOf } from '../../../src/scoring/plan/fold.ts'
import type { Plan, PlanStep } from '../../../src/scoring/plan/plan.ts'
import { sourcePattern } from '../../../src/scoring/plan/resolve-step.ts'
import { cpuMs } from '../../support/cpu.ts'
import { seeded } from '../../support/seeded.ts'

const known = new Map<string, KnownStep>([
  ['rule', { parts: ['format'] }],
  ['quality', { parts: [] }],
  ['any', { parts: null }],
  ['critique', { refused: 'gives a text, not a score' }],
])

const lookup: Lookup = (step, part) =>
  step === 'rule' ? (part === null ? 1 : 0.25) : step === 'any' ? 3 : null

const formula = (source: string) => {
  const compiled = compileFormula(source, known)
  return 'mistakes' in compiled ? compiled.mistakes : compiled.expression.evaluate(lookup)
}

const condition = (source: string) => {
  const compiled = compileCondition(source, known)
  return 'mistakes' in compiled ? compiled.mistakes : compiled.expression.evaluate(lookup)
}

t.test('a formula computes with steps, parts and functions', async (t) => {
  const values: [string, number][] = [
    ['rule + 0.5 * any', 2.5],
    ['rule.format', 0.25],
    ['any.whatever', 3],
    ['-rule - +2', -3],
    ['2 ** 3 ** 2', 512],
    ['7 / 2 - 1', 2.5],
    ['min(3, any, 1) + max(rule, 2)', 3],
    ['clip(any, 0, 2) + clip(-1, 0, 2)', 2],
    ['abs(-2) + floor(1.5) + ceil(1.5)', 5],
    ['exp(0) + log(1) + sqrt(9)', 4],
    ['rule == 1 ? 10 : 20', 10],
    ['0.5 * (any > 2) + true', 1.5],
    ['any > 5 or rule != 1 ? 1 : any >= 3 and rule <= 1 ? 2 : 3', 2],
    ['scored(quality) ? quality : 0.25', 0.25],
    ['True ? 1e-3 : .5', 0.001],
  ]
  for (const [source, value] of values) t.strictSame(formula(source), { value }, source)
})

t.test('a condition knows and, or, not in both spellings, with the binding of Python', async (t) => {
  const values: [string, boolean][] = [
    ['rule == 1.0', true],
    ['rule < 1 || any > 2', true],
    ['rule == 1 && !(any > 2)', false],
    ['not rule == 1', false],
    ['not rule + 1 == 3 and not rule.format > 1', true],
    ['not (rule == 2)', true],
    ['false or not scored(quality)', true],
    ['rule == 1 ? any == 3 : false', true],
  ]
  for (const [source, value] of values) t.strictSame(condition(source), { value }, source)
})

t.test(
  'what comes to no finite number is an error with a reason, and branches not taken do no harm',
  async (t) => {
    t.strictSame(formula('1 / (rule - 1)'), { error: "'/' gives no finite number" })
    t.strictSame(formula('min(1, log(0))'), { error: 'log gives no finite number' })
    t.strictSame(formula('exp(1000)'), { error: 'exp gives no finite number' })
    t.strictSame(formula('quality + 1'), { error: 'quality has no score' })
    t.strictSame(condition('quality > 0'), { error: 'quality has no score' })
    t.strictSame(formula('rule == 1 ? 2 : 1 / 0'), { value: 2 })
    t.strictSame(condition('rule == 1 or quality > 0'), { value: true })
  },
)

t.test('every mistake in an expression is told, with the nearest name', async (t) => {
  const mistakes: [string, RegExp[]][] = [
    ['rul + qualty', [/no step 'rul'; did you mean 'rule'/, /no step 'qualty'; did you mean 'quality'/]],
    ['rule.fromat', [/'rule' has no part 'fromat'; did you mean 'format'/]],
    ['critique + 1', [/'critique' cannot be named here: it gives a text/]],
    ['mn(1)', [/no function 'mn'; did you mean 'min'/]],
    ['clip(1) + min()', [/clip takes a value/, /min takes one number or more/]],
    ['scored(1)', [/scored takes the name of one step/]],
    ['scored(rul)', [/no step 'rul'/]],
    ['rule ? 1 : 2', [/'\?' needs a condition/]],
    ['0 < rule < 2', [/write 'a < b and b < c'/]],
    ['rule === 1', [/operator '===' is unknown/]],
    ['~rule', [/operator '~' is unknown/]],
    ['rule["format"]', [/a part is named as 'step\.part'/]],
    ['rule.format.x', [/a part is named as 'step\.part'/]],
    ['"a" + 1', [/"a" is not a number/]],
    ['1e999', [/1e999 is not a number/]],
    ['this', [/only numbers, steps/]],
    ['[1]', [/only numbers, steps/]],
    ['rule.format()', [/no function/]],
    ['a b', [/not one expression/]],
    ['', [/the expression is empty/]],
    ['(rule', [/cannot be read/]],
    [`${'1 + '.repeat(600)}1`, [/at most 2000 characters/]],
  ]
  for (const [source, wanted] of mistakes) {
    const found = formula(source)
    t.equal(Array.isArray(found) ? found.length : 0, wanted.length, source)
    t.match(found, wanted, source)
  }
  t.match(condition('rule'), [/'rule' is a number where a condition is needed/])
})

t.test('nothing of the program can be reached by a name', async (t) => {
  for (const name of ['constructor', '__proto__', 'toString', 'process', 'hasOwnProperty']) {
    t.match(formula(name), [/there is no step/], name)
    t.match(formula(`rule.${name}`), [/has no part/], name)
    t.match(formula(`${name}(1)`), [/there is no function/], name)
  }
})

t.test('an expression says which steps it names and which of them it asks about', async (t) => {
  const compiled = compileFormula('rule + rule.format + (scored(quality) ? quality : 0)', known)
  if ('mistakes' in compiled) return t.fail(compiled.mistakes.join())
  t.strictSame(compiled.expression.steps, ['rule', 'quality'])
  t.strictSame([...compiled.guarded], ['quality'])
})

t.test(
  'a random expression is a finite number, an error, or a list of mistakes: never a throw',
  async (t) => {
    const seed = Number(process.env.SEED ?? 77)
    t.comment(`seed ${seed}`)
    const random = seeded(seed)
    const words =
      'rule quality any . format + - * / ** ( ) ? : , < == and or not min log exp 0 1 1e300 true'.split(' ')
    let valued = 0
    for (let round = 0; round < 20_000; round++) {
      const length = 1 + Math.floor(random() * 9)
      const source = Array.from({ length }, () => words[Math.floor(random() * words.length)]).join(' ')
      const found = formula(source)
      if ('value' in found) valued++
      if ('value' in found && !Number.isFinite(found.value)) t.fail(source)
    }
    t.ok(valued > 500, `${valued} expressions had a value`)
  },
)

t.test('a weight follows the training step between its points', async (t) => {
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

t.test('a data source fits by stars and not by exclusions, in time that grows with its length', async (t) => {
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

t.test('the range of a fold is that of its terms, on and off', async (t) => {
  t.strictSame(rewardRange(plan([step([0, 1]), step([-1, 1], {}, 0.5)])), [-0.5, 1.5])
  t.strictSame(rewardRange(plan([step([1, 2]), step([-1, 3], { op: 'mul' })])), [-2, 6])
  t.strictSame(rewardRange(plan([step([1, 2], { when: sometimes }), step([5, 6])])), [5, 8])
  t.strictSame(rewardRange(plan([step([1, 2]), step([5, 6], { gated: true })], { gate: sometimes })), [1, 8])
  const multiplied = [step([1, 2]), step([5, 6], { gated: true, op: 'mul' })]
  t.strictSame(rewardRange(plan(multiplied, { gate: sometimes, arithmetic: 'published' })), [0, 12])
  t.strictSame(rewardRange(plan([step([1, 2]), step([3, 4], { critique: true })])), [1, 2])
  t.strictSame(rewardRange(plan([step([0, Infinity], {}, 0)])), [0, 0])
  t.equal(
    rewardRange(plan([step([0, 1])], { formula: { ...sometimes, evaluate: () => ({ value: 1 }) } })),
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
