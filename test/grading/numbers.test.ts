import t from 'tap'
import {
  afterThink,
  asciiDigits,
  countCodePoints,
  decimalOf,
  digitRuns,
  equalFractions,
  evaluatePython,
  type Fraction,
  floatOf,
  fractions,
  lastCodePoints,
  lastLooseNumber,
  lastNumber,
  lastNumeral,
  readDecimal,
  readExpression,
  readFloat,
  readFraction,
  readInteger,
  readPythonList,
  soleBetween,
  trimSpace,
} from '../../src/grading/index.ts'
import { eachNearLinear } from '../support/hostile.ts'
import { seeded } from '../support/seeded.ts'

t.test('equal decimals have one spelling', async (t) => {
  const spellings: [string, string | null][] = [
    ['42', '42'],
    ['+0042.500', '42.5'],
    ['-0.0', '0'],
    ['1,234,567.0', '1234567'],
    ['1234,567', null],
    ['12,34', null],
    ['1.', null],
    ['.5', null],
    ['1e3', null],
    ['４２', null],
  ]
  for (const [text, value] of spellings) t.equal(readDecimal(text), value, text)
  t.equal(decimalOf(' -$1,000.00 '), '-1000')
  t.equal(decimalOf('$-4'), '-4')
  t.equal(decimalOf(-4.5), '-4.5')
  t.equal(decimalOf(['4']), null)
})

t.test('the last number of a text is read with its sign', async (t) => {
  const texts: [string, string | null | undefined][] = [
    ['x = -4', '-4'],
    ['-4', '-4'],
    ['9-4', '4'],
    ['a-4', '4'],
    ['so ...4.', '4'],
    ['4 of 1,000,', '1000'],
    ['1,8', null],
    ['.5', null],
    ['none', undefined],
  ]
  for (const [text, value] of texts) t.equal(lastNumber(text), value, text)
})

t.test('digits, integers and floats are read as Python reads them', async (t) => {
  t.equal(asciiDigits('１٣𝟒𝟿x५'), '1349x5')
  t.strictSame(digitRuns('1 ٢٣, 0044'), [1n, 23n, 44n])
  t.equal(readInteger(' -1_0 '), -10n)
  t.equal(readInteger('٣'), 3n)
  for (const text of ['', '1.0', '1__0', '_1', '7'.repeat(4301)]) t.equal(readInteger(text), null)
  const floats: [string, number | null][] = [
    ['\u00851_0.5e-1\u3000', 1.05],
    ['.5', 0.5],
    ['5.', 5],
    ['+inf', Number.POSITIVE_INFINITY],
    ['-Infinity', Number.NEGATIVE_INFINITY],
    ['NaN', Number.NaN],
    ['1e', null],
    ['0x1', null],
    ['', null],
    ['\ufeff1', null],
  ]
  for (const [text, value] of floats) t.ok(Object.is(readFloat(text), value), text)
})

t.test('lengths count code points', async (t) => {
  t.equal(countCodePoints('a\u{1f600}\ud800'), 3)
  t.equal(lastCodePoints('abc\u{1f600}\u{1f601}', 2), '\u{1f600}\u{1f601}')
  t.equal(lastCodePoints('ab', 5), 'ab')
})

t.test('the answer begins after the thinking, which must have ended', async (t) => {
  t.equal(afterThink('<think>a</think>b</think>c'), 'c')
  t.equal(afterThink('b'), 'b')
  t.equal(afterThink('</think><think>b'), null)
})

t.test('a text is read between tags that stand once each', async (t) => {
  t.equal(soleBetween('x<a>1</a>', '<a>', '</a>'), '1')
  for (const text of ['<a>', '</a><a>', '<a>1</a></a>', '<a><a>1</a>', ''])
    t.equal(soleBetween(text, '<a>', '</a>'), null, text)
})

t.test("white space is trimmed as Python's strip does", async (t) => {
  t.equal(trimSpace('\u0085\u001c a \u3000'), 'a')
  t.equal(trimSpace('\ufeffa'), '\ufeffa')
  t.equal(trimSpace(' '), '')
})

t.test('the published readers keep what their patterns find', async (t) => {
  t.equal(lastNumeral('a 1,000 . .'), '1,000')
  t.equal(lastNumeral('. ,'), ',')
  t.equal(lastNumeral('. .'), '.')
  t.equal(lastNumeral('none'), null)
})

t.test('the last loose number is the one that the published pattern finds from the beginning', async (t) => {
  const published = (text: string): string | undefined =>
    (text.match(/-?[\p{Nd},]+\.?\p{Nd}*/gu) ?? [])
      .map((found) => found.replaceAll(',', '').replace(/\.+$/, ''))
      .findLast((number) => number !== '' && number !== '-')
  const pieces = [...'10,-. a/٣𝟗é９ß', '\ud835', '\udfd7', '.0', ',,', '--', '1.5']
  const seed = 7
  const random = seeded(seed)
  const texts = ['', '-', '7', '1.2.3', '-1-2', '3 apples, and then none', 'a ٣٤. b', '𝟗'.slice(0, 1)]
  for (let count = 0; count < 2000; count++) {
    const length = Math.floor(random() * 12)
    texts.push(Array.from({ length }, () => pieces[Math.floor(random() * pieces.length)]).join(''))
  }
  const differing = texts.filter((text) => lastLooseNumber(text, false) !== (published(text) ?? null))
  t.strictSame(differing, [], `seed ${seed}`)
  t.equal(lastLooseNumber('12.0 and, so on.', true), '12')
})

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

t.test('a list of literals is read as Python reads it', async (t) => {
  const lists: [string, unknown[]][] = [
    ['[]', []],
    [' [1, -2, +3,] ', [1, -2, 3]],
    ['[1.5, .5, 5., 1e3, 1_000]', [1.5, 0.5, 5, 1000, 1000]],
    ['[0x10, -0x10]', [16, -16n]],
    ['[9007199254740993, -9007199254740993]', [9007199254740993n, -9007199254740993n]],
    ['[None, True, False]', [null, true, false]],
    [`['a', "b'c", 'd"e']`, ['a', "b'c", 'd"e']],
    [`['\\n\\t\\'\\\\']`, ["\n\t'\\"]],
    ['[[1], [\n2]]', [[1], [2]]],
    ['[0, 00, -0]', [0, 0, 0]],
  ]
  for (const [text, wanted] of lists) t.strictSame(readPythonList(text), wanted, text)
})

t.test('anything but a list of literals is rejected', async (t) => {
  const others = '|1|(1,)|{1}|[true]|[1|[1 2]|[1]]|[01]|[e5]|[.]|[1,,2]|[a]'.split('|')
  others.push(
    "['a]",
    "['\\q']",
    "['a\nb']",
    '[-]',
    `[${'9'.repeat(4301)}]`,
    `${'['.repeat(100)}${']'.repeat(100)}`,
  )
  for (const text of others) t.equal(readPythonList(text), null, JSON.stringify(text.slice(0, 20)))
})

t.test('hostile text is read in linear time', async (t) => {
  eachNearLinear(t, {
    'a Python expression': evaluatePython,
    'a written sum': readExpression,
    'a text beside a sum': (text) =>
      evaluatePython(`(${text.slice(0, 500_000)})+'${text.slice(0, 500_000)}'`),
    'a Python list': (text) => readPythonList(`[${text}]`),
  })
})
