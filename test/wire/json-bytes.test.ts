import t from 'tap'
import { parseJsonBytes } from '../../src/wire/json-bytes.ts'
import { parseJsonText } from '../../src/wire/json-text.ts'
import { seeded } from '../support/seeded.ts'

const long = 'We add the apples of both days. '.repeat(200)
const texts = [
  '',
  '},{"',
  '}, {"a": 1}',
  '\\"},{\\"',
  ']}',
  '"',
  '\\',
  '\n\t}, {',
  'naïve 😀 ⟦x⟧',
  '[{',
  long,
  'NaN',
  `${long}},{"`,
]
const oddNumbers = ['12345678901234567890', 'NaN', '-Infinity', '1e400']

const sameAs = (text: string): unknown => {
  try {
    return parseJsonText(text)
  } catch (error) {
    return (error as Error).name
  }
}

const read = (bytes: Buffer): unknown => {
  try {
    return parseJsonBytes(bytes)
  } catch (error) {
    return (error as Error).name
  }
}

t.test('long bodies are read as they would be in one piece', (t) => {
  const seed = Math.floor(Math.random() * 2 ** 31)
  t.comment(`seed ${seed}`)
  const random = seeded(seed)
  const below = (count: number): number => Math.floor(random() * count)
  const pick = <T>(items: readonly T[]): T => items[below(items.length)] as T
  const string = (): string =>
    JSON.stringify(Array.from({ length: below(3) + 1 }, () => pick(texts)).join(''))
  const space = (): string => pick(['', '', ' ', '\n  '])
  const value = (depth: number): string => {
    const kind = random()
    if (kind < 0.5 || depth > 3) return string()
    if (kind < 0.6) return pick(['1', '-0.5e3', 'true', 'null'])
    if (kind < 0.605) return pick(oddNumbers)
    if (kind < 0.8)
      return `[${Array.from({ length: below(4) }, () => value(depth + 1)).join(`${space()},${space()}`)}]`
    return object(depth + 1)
  }
  const object = (depth: number): string => {
    const names = Array.from({ length: below(4) + (depth === 0 ? 1 : 0) }, (_, i) =>
      pick([`"k${i}"`, '"response"', '"samples"', '"__proto__"']),
    )
    return `{${space()}${names.map((name) => `${name}:${space()}${value(depth)}`).join(`,${space()}`)}${space()}}`
  }
  let cut = 0
  for (let round = 0; round < 60; round++) {
    const rows: string[] = []
    if (random() < 0.1) rows.push(JSON.stringify({ response: long.repeat(20) }))
    for (let size = 0; size < 200_000; size += rows.at(-1)?.length ?? 0) rows.push(object(0))
    const list = `[${space()}${rows.join(`${space()},${space()}`)}${space()}]`
    const body = pick([
      `{"reward": "r", "samples":${space()}${list}}`,
      `{${space()}"samples": ${list}, "reward": "r", "training_step": 3}`,
      `{"samples": ${list}, "samples": []}`,
      `{"samples": ${list}, "\\u0073amples": []}`,
      `{"samples": ${list}, "flags": []}`,
      `{"a": "[{", "b": ["]"], "samples": ${list}}`,
      `{"__proto__": ${list}}`,
      `{"reward": "é", "samples": ${list}}`,
      `{"samples": ${list.slice(0, -1)},]}`,
      `{"samples": ${list.slice(0, list.length - below(100))}`,
      list,
    ])
    const bytes = Buffer.from(body)
    t.strictSame(read(bytes), sameAs(body), `${body.slice(0, 30)} ... ${body.slice(-30)}`)
    if (bytes.length > 131_072) cut += 1
  }
  t.ok(cut > 50)
  t.end()
})

t.test('a name that is set twice, and a prototype, are read as JSON.parse does', (t) => {
  const rows = `[${Array.from({ length: 2000 }, (_, i) => `{"response": "${'x'.repeat(80)}${i}"}`).join(',')}]`
  for (const body of [
    `{"samples": ${rows}, "samples": [1]}`,
    `{"__proto__": ${rows}}`,
    `{"a": {"samples": ${rows}}}`,
  ]) {
    const { value } = parseJsonBytes(Buffer.from(body))
    t.equal(JSON.stringify(value), JSON.stringify(JSON.parse(body)))
    t.strictSame(Object.keys(value as object), Object.keys(JSON.parse(body)))
  }
  t.end()
})

t.test('hostile bodies take a moment', (t) => {
  for (const piece of ['},{"', '}', '},', '}, ', '{"a":1},', ']', '"', '\\"'])
    for (const head of ['{"samples":[{"a":"', '{"samples":[', '{"a":"", '.repeat(100)]) {
      const body = Buffer.from(head + piece.repeat(4_000_000 / piece.length))
      const began = process.cpuUsage()
      t.throws(() => parseJsonBytes(body), SyntaxError)
      const { user, system } = process.cpuUsage(began)
      t.ok(user + system < 3e6, `${piece} took ${(user + system) / 1000} ms`)
    }
  t.end()
})
