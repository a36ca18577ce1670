import t from 'tap'
import {
  equalFractions,
  evaluatePython,
  type Fraction,
  floatOf,
  fractions,
  readExpression,
  readFraction,
} from '../../src/extract/index.ts'
import { nearLinear } from '../support/hostile.ts'
import { seeded } from '../support/seeded.ts'

t.test('a Python expression of literals has the value that Python gives it', async (t) => {
  const values: [string, unknown][] = [
    ['1 + 2 * -3', -5n],
    ['10-2-3', 5n],
    ['[1](2)', null],
    ['(1]', 1n],
    ['6/3', 2],
    ['-7/2', -3.5],
    ['0/5', 0],
    ['10000000000000000000000/3', 3.3333333333333335e21],
    ['1/10000000000000000000000', 1e-22],
    [`1${'0'.repeat(400)}/1${'0'.repeat(399)}`, 10],
    [`1${'0'.repeat(400)}/3`, null],
    [`3/1${'0'.repeat(400)}`, 0],
    [`1${'0'.repeat(400)} + 1.5`, null],
    ['9007199254740993 * 1', 9007199254740993n],
    ['0x1F + 0o17 + 0b1_1', 49n],
    ['1_000 + 0_0', 1000n],
    ['1. + .5 + 1e1 + 1_0.5E-1', 12.55],
    ['True + True', 2n],
    ['True', true],
    ['-False', 0n],
    ['None', null],
    ['None + 1', null],
    ["'1' \"2\" '3'", '123'],
    ["'1' + '2'", '12'],
    ["'ab' * 2", 'abab'],
    ["True * 'ab'", 'ab'],
    ["-1 * 'ab'", ''],
    ["'ab' * 100000", null],
    ["'a' * 1.0", null],
    ["'a' - 'a'", null],
    ["-'a'", null],
    ["'a' + 1", null],
    ["'a\\n'", null],
    ['1 / 0', null],
    ['1 / 0.0', null],
    ['1 / False', null],
    ['(5+ # five\n3)', 8n],
    ['5\n\n  # done\n', 5n],
    ['\n5', 5n],
    ['5\n5', null],
    ['5+\\\n3', 8n],
    ['5\\\n', null],
    ['5\\', null],
    ['(1\r\n+2)', 3n],
    [' 1', null],
    ['', null],
    ['()', null],
    ['1)', null],
    ['017', null],
    ['1__0', null],
    ['1if', null],
    ['Truely', null],
    ['1j', null],
    ['+1', null],
    ['2**3', null],
    ['5×3', null],
    [`${'('.repeat(200)}7${')'.repeat(200)}`, 7n],
    [`${'('.repeat(201)}7${')'.repeat(201)}`, null],
    ['1'.repeat(4301), null],
  ]
  for (const [text, value] of values) t.equal(evaluatePython(text), value, text.slice(0, 60))
})

t.test('a written sum is read whole or not at all, and valued exactly', async (t) => {
  t.strictSame(readExpression('8 ÷ (3 − 8/3)')?.integers, [8n, 3n, 8n, 3n])
  t.strictSame(readExpression('1/3 - 1/3')?.value(), { numerator: 0n, denominator: 3n })
  t.strictSame(readExpression('1 - -1/-2')?.value(), { numerator: 1n, denominator: 2n })
  t.equal(readExpression('1/(2-2)')?.value(), null)
  for (const text of ['', '1 2', '(1]', '1)', '01', '1.5', '1=1', '+1', '1+', '(', '7'.repeat(4301)]) {
    t.equal(readExpression(text), null, text.slice(0, 20))
  }
  t.ok(readExpression(`${'('.repeat(100_000)}1${')'.repeat(100_000)}`), 'depth has no limit')
})

t.test('a number is read exactly from its text', async (t) => {
  t.strictSame(readFraction('-2.50'), { numerator: -250n, denominator: 100n })
  t.strictSame(readFraction('1e+3'), { numerator: 1000n, denominator: 1n })
  for (const text of ['', 'x', '1e9999', '1e401', '.5', `1${'0'.repeat(4300)}`])
    t.equal(readFraction(text), null)
})

/** A random sum as text, and its value as the tree of it says; null: it divides by zero. */
function randomSum(random: () => number, depth: number): { text: string; value: Fraction | null } {
  if (depth === 0 || random() < 0.25) {
    const integer = Math.floor(random() * 20)
    return { text: `${integer}`, value: { numerator: BigInt(integer), denominator: 1n } }
  }
  if (random() < 0.17) {
    const { text, value } = randomSum(random, depth - 1)
    return { text: `-(${text})`, value: value && fractions.negate(value) }
  }
  const [a, b] = [randomSum(random, depth - 1), randomSum(random, depth - 1)]
  const operator = (['add', 'subtract', 'multiply', 'divide'] as const)[Math.floor(random() * 4)]!
  const sign = { add: '+', subtract: '-', multiply: '*', divide: '/' }[operator]
  const value = a.value && b.value && fractions[operator](a.value, b.value)
  const text = random() < 0.5 ? `(${a.text}) ${sign} (${b.text})` : `[${a.text}]${sign}[${b.text}]`
  return { text, value }
}

t.test('a sum has the value of its tree, exactly and, but for rounding, in Python', async (t) => {
  const seed = 11
  const random = seeded(seed)
  for (let round = 0; round < 500; round++) {
    const { text, value } = randomSum(random, 4)
    const read = readExpression(text)?.value() ?? null
    const python = evaluatePython(text)
    const title = `${text.slice(0, 80)} (seed ${seed}, round ${round})`
    if (value === null) {
      t.strictSame([read, python], [null, null], title)
      continue
    }
    t.ok(read && equalFractions(read, value), title)
    const near = Number(value.numerator) / Number(value.denominator)
    const float = typeof python === 'string' || python === null ? null : floatOf(python)
    // a difference of doubles that is zero by rounding may have been divided by
    if (float !== null) t.ok(Math.abs(float - near) <= 1e-6 * Math.max(1, Math.abs(near)), title)
  }
})

t.test('hostile text costs little', async (t) => {
  nearLinear(t, evaluatePython)
  nearLinear(t, readExpression)
  nearLinear(t, (text) => evaluatePython(`(${text.slice(0, 500_000)})+'${text.slice(0, 500_000)}'`))
})
