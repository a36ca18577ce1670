import t from 'tap'
import {
  firstDifference,
  pythonic,
  type Sameness,
  same,
  sameMultiset,
  typed,
  unpaired,
} from '../../src/grading/json/identity.ts'
import { type JsonValue, readJson } from '../../src/grading/json/json.ts'
import { cpuMs } from '../support/cpu.ts'

const value = (text: string): JsonValue => {
  const reading = readJson(text)
  if (!reading) throw new Error(`not JSON: ${text}`)
  return reading.value
}

/** Values as JSON.parse gives them. */
const plain = (given: JsonValue): unknown => {
  if (given instanceof Map) return Object.fromEntries(Array.from(given, ([key, item]) => [key, plain(item)]))
  return Array.isArray(given) ? given.map(plain) : given
}

t.test('strict JSON is read as JSON.parse reads it', async (t) => {
  const texts = [
    ' {"a": [1, -2.5e3, true, false, null], "b": {"c": "\\u4f60\\ud83d\\ude00\\n\\"\\/"}} ',
    '[]',
    '{}',
    '"\u2028\u007f"',
    '0',
    '[[[[]]], {"": {}}]',
    '1E+2',
    '\r\n\t1\n',
  ]
  for (const text of texts) t.strictSame(plain(value(text)), JSON.parse(text))
})

t.test('anything but JSON is refused', async (t) => {
  const texts = [
    '',
    ' ',
    '01',
    '+1',
    '.5',
    '5.',
    '1_000',
    '0x10',
    "'a'",
    '[1,]',
    '{"a":1,}',
    '{a:1}',
    '[1 2]',
    '1 2',
  ]
  texts.push(
    '"a\nb"',
    '"\\x41"',
    '"\\u12"',
    '"open',
    '\ufeff1',
    '// c\n1',
    'nan',
    '-NaN',
    '-',
    '{"a"}',
    '[',
    '{',
    '{"a":1',
    '\u00a01',
  )
  texts.push('True', '1e', 'tru')
  for (const text of texts) t.equal(readJson(text), null, JSON.stringify(text))
})

t.test('numbers are exact, up to the length that Python reads', async (t) => {
  t.equal(value('9007199254740993'), 9007199254740993n)
  t.equal(value('-9007199254740993'), -9007199254740993n)
  t.equal(value('1e999'), Number.POSITIVE_INFINITY)
  t.ok(Object.is(value('-0'), 0))
  t.equal(readJson('9'.repeat(4300))?.constants, false)
  t.equal(readJson(`-${'9'.repeat(4301)}`), null)
})

t.test('input on which readers disagree is reported', async (t) => {
  t.match(readJson('[NaN, Infinity, -Infinity]'), { constants: true, repeatedKeys: false })
  t.match(readJson('{"a": {"b": 1, "b": 2}}'), { constants: false, repeatedKeys: true })
  t.strictSame(plain(value('{"b": 1, "b": 2}')), { b: 2 })
})

t.test('names of built-in properties are ordinary keys, and keys keep their order', async (t) => {
  const read = value('{"__proto__": {"x": 1}, "2": 0, "1": 0}')
  t.ok(read instanceof Map)
  t.strictSame([...(read as Map<string, JsonValue>).keys()], ['__proto__', '2', '1'])
})

t.test('nesting is limited', async (t) => {
  const nested = (depth: number): string => '['.repeat(depth) + ']'.repeat(depth)
  t.ok(readJson(nested(900)))
  t.equal(readJson(nested(901)), null)
  t.equal(readJson(`${'{"a":'.repeat(4)}1${'}'.repeat(4)}`, 3), null)
  t.equal(readJson('['.repeat(1_000_000)), null)
})

t.test('equality is exact unless a looser one is chosen', async (t) => {
  const sets: Sameness = { listsAsSets: true, booleansAsNumbers: true, nanEqualsNan: true }
  const cases: [string, string, boolean, boolean, boolean][] = [
    // a, b, typed, pythonic, sets
    ['1', '1.0', true, true, true],
    ['1', 'true', false, true, true],
    ['100', '1e2', true, true, true],
    ['9007199254740993', '9007199254740992.0', false, false, false],
    ['9007199254740992', '9007199254740992.0', true, true, true],
    ['1e23', '100000000000000000000000', false, false, false],
    [`1${'0'.repeat(400)}`, '1e999', false, false, false],
    ['NaN', 'NaN', true, false, true],
    ['"1"', '1', false, false, false],
    ['"null"', 'null', false, false, false],
    ['[]', '{}', false, false, true],
    ['[1, 2, 2]', '[2, 1]', false, false, true],
    ['[[1, 2], [2, 1]]', '[[1, 2]]', false, false, true],
    ['["a"]', '{"a": "a"}', false, false, false],
    ['{"a": 1, "b": [true]}', '{"b": [true], "a": 1}', true, true, true],
    ['{"a": [1]}', '{"a": [true]}', false, true, true],
    ['-0.0', '0', true, true, true],
  ]
  for (const [a, b, inTypes, inPython, inSets] of cases) {
    t.equal(same(value(a), value(b), typed), inTypes, `${a} ${b}`)
    t.equal(same(value(a), value(b), pythonic), inPython, `${a} ${b} in Python`)
    t.equal(same(value(a), value(b), sets), inSets, `${a} ${b} as sets`)
  }
  t.ok(sameMultiset([1, 2, 2], [2, 1, 2], typed))
  t.notOk(sameMultiset([1, 2, 2], [2, 1, 1], typed))
  t.strictSame(unpaired([1, 2, 2, 3], [2, 1], typed), [2, 3])
})

t.test('the first difference is named by its path', async (t) => {
  const at = (a: string, b: string): string | null => firstDifference(value(a), value(b))
  t.equal(at('{"a": {"x": [1, 2]}}', '{"a": {"x": [1, 3]}}'), 'a.x[1]')
  t.equal(at('{"a": 1}', '{"a": 1, "b": 2}'), 'b')
  t.equal(at('[1, [2]]', '[1, [2, 3]]'), '[1][1]')
  t.equal(at('1', '2'), '')
  t.equal(at('{"b": 2, "a": 1}', '{"a": 1, "b": 2}'), null)
})

t.test('a megabyte of hostile text costs time in proportion', async (t) => {
  const mega = 1_000_000
  const hostile = [
    `[${'[1,"a"],'.repeat(mega / 8)}0]`,
    `"${'\\u0041'.repeat(mega / 6)}"`,
    `[${`${'9'.repeat(4299)},`.repeat(mega / 4300)}0]`,
    `${'[1,'.repeat(899)}"${'x'.repeat(mega)}"${']'.repeat(899)}`,
    `{${Array.from({ length: mega / 12 }, (_, i) => `"k${i}":[${i}]`)}}`,
    '1'.repeat(mega),
    `[${'1e308,'.repeat(mega / 6)}0]`,
  ]
  for (const text of hostile) {
    const start = cpuMs()
    const reading = readJson(text)
    const again = readJson(text)
    if (reading && again) t.ok(same(reading.value, again.value, { ...typed, listsAsSets: true }))
    t.ok(cpuMs() - start < 3000, `${text.slice(0, 12)}... took ${cpuMs() - start} ms`)
  }
})
