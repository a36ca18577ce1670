import t from 'tap'
import { evaluatePython, readExpression, readFraction } from '../../src/extract/index.ts'
import { nearLinear } from '../support/hostile.ts'

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

t.test('hostile text costs little', async (t) => {
  nearLinear(t, evaluatePython)
  nearLinear(t, readExpression)
  nearLinear(t, (text) => evaluatePython(`(${text.slice(0, 500_000)})+'${text.slice(0, 500_000)}'`))
})
