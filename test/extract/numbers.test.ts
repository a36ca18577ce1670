import t from 'tap'
import {
  afterThink,
  asciiDigits,
  countCodePoints,
  decimalOf,
  digitRuns,
  lastCodePoints,
  lastLooseNumber,
  lastNumber,
  lastNumeral,
  readDecimal,
  readFloat,
  readInteger,
  soleBetween,
  trimSpace,
} from '../../src/extract/index.ts'
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

t.test('thinking and tags part a text', async (t) => {
  t.equal(afterThink('<think>a</think>b</think>c'), 'c')
  t.equal(afterThink('b'), 'b')
  t.equal(afterThink('</think><think>b'), null)
  t.equal(soleBetween('x<a>1</a>', '<a>', '</a>'), '1')
  for (const text of ['<a>', '</a><a>', '<a>1</a></a>', '<a><a>1</a>', '']) {
    t.equal(soleBetween(text, '<a>', '</a>'), null, text)
  }
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
  const random = seeded(7)
  const texts = ['', '-', '7', '1.2.3', '-1-2', '3 apples, and then none', 'a ٣٤. b', '𝟗'.slice(0, 1)]
  for (let count = 0; count < 2000; count++) {
    const length = Math.floor(random() * 12)
    texts.push(Array.from({ length }, () => pieces[Math.floor(random() * pieces.length)]).join(''))
  }
  for (const text of texts) {
    const number = published(text) ?? null
    if (lastLooseNumber(text, false) !== number) t.equal(lastLooseNumber(text, false), number, text)
  }
  t.equal(lastLooseNumber('12.0 and, so on.', true), '12')
})
