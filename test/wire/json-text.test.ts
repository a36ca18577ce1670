import t from 'tap'
import { isDeeperThan, parseJsonText } from '../../src/wire/json-text.ts'
import { cpuMs } from '../support/cpu.ts'

t.test('Python literals outside of strings are read as null and reported with their place', async (t) => {
  const { value, oddities } = parseJsonText(
    '{"a": [1, NaN, -Infinity], "NaN": "say \\"NaN\\" Infinity", "b": Infinity}',
  )
  t.strictSame(value, { a: [1, null, null], NaN: 'say "NaN" Infinity', b: null })
  t.strictSame(oddities, [
    { path: ['a', 1], literal: 'NaN' },
    { path: ['a', 2], literal: '-Infinity' },
    { path: ['b'], literal: 'Infinity' },
  ])
})

t.test('an integer that a double would round is reported, one that fits is kept', async (t) => {
  const { value, oddities } = parseJsonText(
    '{"big": 12345678901234567890, "fits": 9007199254740991, "text": "12345678901234567890"}',
  )
  t.strictSame(value, { big: null, fits: 9007199254740991, text: '12345678901234567890' })
  t.strictSame(oddities, [{ path: ['big'], literal: '12345678901234567890' }])
})

t.test('text that is no JSON throws, also where it holds the literals', async (t) => {
  for (const text of ['{', '{"a": NaN', '[NaNN]', '{"a": 1} x Infinity', '"NaN']) {
    t.throws(() => parseJsonText(text), SyntaxError, text)
  }
})

t.test('a __proto__ key stays data', async (t) => {
  const { value } = parseJsonText('{"__proto__": {"x": NaN}}')
  t.ok(Object.hasOwn(value as object, '__proto__'))
  t.equal(({} as Record<string, unknown>).x, undefined)
})

t.test('a hostile megabyte of escaped quotes is scanned once', async (t) => {
  const started = cpuMs()
  t.throws(() => parseJsonText(`NaN "${'\\"'.repeat(500_000)}`), SyntaxError)
  t.ok(cpuMs() - started < 2000)
})

t.test('depth is measured without recursion beyond the limit', async (t) => {
  const deep = JSON.parse('['.repeat(100_000) + ']'.repeat(100_000))
  t.ok(isDeeperThan(deep, 128))
  t.notOk(isDeeperThan({ a: [{ b: 1 }] }, 3))
})
