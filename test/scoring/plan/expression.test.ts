import t from 'tap'
import {
  compileCondition,
  compileFormula,
  type KnownStep,
  type Lookup,
} from '../../../src/scoring/plan/expression.ts'
import { seeded } from '../../support/seeded.ts'

const known = new Map<string, KnownStep>([
  ['rule', { parts: ['format'] }],
  ['quality', { parts: [] }],
  ['any', { parts: null }],
  ['critique', { refused: 'gives a text, not a score' }],
])

const lookup: Lookup = (step, part) =>
  step === 'environment'
    ? part === 'goal' || part === 'time left'
      ? 0.5
      : null
    : step === 'rule'
      ? part === null
        ? 1
        : 0.25
      : step === 'any'
        ? 3
        : null

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
    ['rule + environment.goal * 2', 2],
    ['environment["time left"]', 0.5],
    ['scored(environment.goal) ? environment.goal : 0', 0.5],
    ['scored(environment.score) ? environment.score : -1', -1],
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

t.test('and, or, not and their symbols bind as in Python', async (t) => {
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
  'a value that is not finite is an error with its reason; branches that are not taken do not count',
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

t.test('every mistake in an expression is reported, with the nearest name', async (t) => {
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

t.test('an expression cannot reach any object of the program', async (t) => {
  for (const name of ['constructor', '__proto__', 'toString', 'process', 'hasOwnProperty']) {
    t.match(formula(name), [/there is no step/], name)
    t.match(formula(`rule.${name}`), [/has no part/], name)
    t.match(formula(`${name}(1)`), [/there is no function/], name)
  }
})

t.test('an expression lists the steps that it uses and those that it checks by scored()', async (t) => {
  const compiled = compileFormula('rule + rule.format + (scored(quality) ? quality : 0)', known)
  if ('mistakes' in compiled) return t.fail(compiled.mistakes.join())
  t.strictSame(compiled.expression.steps, ['rule', 'quality'])
  t.strictSame([...compiled.guarded], ['quality'])
})

t.test('a random expression gives a finite number, an error or mistakes, and never throws', async (t) => {
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
})

t.test(
  'a reward of the environment is named whole, in formulas only, and is never 0 for want of it',
  async (t) => {
    t.strictSame(formula('1 - environment.score'), {
      error: 'environment.score: the row has no such reward of the environment',
      isOfRow: true,
    })
    t.match(formula('environment + 1'), [/named as 'environment\.NAME'/])
    t.match(formula('environment[1]'), [/named as 'step\.part'/])
    t.match(formula('enviroment.goal'), [/there is no step 'enviroment'/])
    t.match(condition('environment.goal > 0'), [/environment\.goal can stand in a formula only/])
    const compiled = compileFormula('environment.goal + environment.a * environment.goal', known)
    t.strictSame('expression' in compiled && compiled.expression.environment, ['goal', 'a'])
  },
)
