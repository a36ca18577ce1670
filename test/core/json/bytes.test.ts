import { isDeepStrictEqual } from 'node:util'
import t from 'tap'
import { JsonLimitError, noJsonLimits } from '../../../src/core/json/limits.ts'
import { parseJsonBytes, parseJsonText, UnreadRow } from '../../../src/core/json/text.ts'
import { seeded } from '../../support/seeded.ts'

const limits = { rows: ['samples'], maxValues: 50_000, maxRows: 65_536, hasLongLists: true }

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
  '\u2063odd0',
  '[{',
  long,
  'NaN',
  `${long}},{"`,
]
const oddNumbers = ['12345678901234567890', 'NaN', '-Infinity', '1e400']

/** What strict JSON has in the place of each literal: by an own reading of the text, one character after the other. */
function strict(text: string): string {
  let out = ''
  for (let at = 0; at < text.length; ) {
    if (text[at] === '"') {
      const from = at++
      while (at < text.length && text[at] !== '"') at += text[at] === '\\' ? 2 : 1
      out += text.slice(from, ++at)
      continue
    }
    const odd = oddNumbers.find((one) => text.startsWith(one, at))
    out += odd ? 'null' : text[at]
    at += odd?.length ?? 1
  }
  return out
}

const expected = (text: string): unknown => {
  try {
    return JSON.parse(strict(text))
  } catch (error) {
    return (error as Error).name
  }
}

const read = async (text: string | Buffer): Promise<unknown> => {
  try {
    return (await parseJsonBytes(Buffer.from(text), limits)).value
  } catch (error) {
    return (error as Error).name
  }
}

t.test('a long body read in slices equals the same body read at once', async (t) => {
  const seed = Number(process.env.SEED ?? Math.floor(Math.random() * 2 ** 31))
  t.comment(`SEED=${seed}`)
  const random = seeded(seed)
  const below = (count: number): number => Math.floor(random() * count)
  const pick = <T>(items: readonly T[]): T => items[below(items.length)] as T
  const string = (): string =>
    JSON.stringify(Array.from({ length: below(3) + 1 }, () => pick(texts)).join(''))
  const space = (): string => pick(['', '', ' ', '\n  '])
  const numbers = (): string =>
    `[${Array.from({ length: 400 + below(9000) }, () => pick(['1', '-0.25', '7e2'])).join(pick([',', ', ']))}]`
  const value = (depth: number): string => {
    const kind = random()
    if (kind < 0.5 || depth > 3) return string()
    if (kind < 0.6) return pick(['1', '-0.5e3', 'true', 'null'])
    if (kind < 0.605) return pick(oddNumbers)
    if (kind < 0.607) return numbers()
    if (kind < 0.8)
      return `[${Array.from({ length: below(4) }, () => value(depth + 1)).join(`${space()},${space()}`)}]`
    return object(depth + 1)
  }
  const object = (depth: number): string => {
    const names = Array.from({ length: below(4) + (depth === 0 ? 1 : 0) }, (_, i) =>
      pick([`"k${i}"`, '"response"', '"samples"', '"__proto__"', '"\\u0061\\""']),
    )
    return `{${space()}${names.map((name) => `${name}:${space()}${value(depth)}`).join(`,${space()}`)}${space()}}`
  }
  let cut = 0
  for (let round = 0; round < 40; round++) {
    const rows: string[] = []
    if (random() < 0.1) rows.push(JSON.stringify({ response: long.repeat(20) }))
    for (let size = 0; size < 200_000; size += rows.at(-1)?.length ?? 0) rows.push(object(0))
    const list = `[${space()}${rows.join(`${space()},${space()}`)}${space()}]`
    const at = below(list.length)
    const body = pick([
      `{"reward": "r", "samples":${space()}${list}}`,
      `{${space()}"samples": ${list}, "reward": "r", "training_step": 3}`,
      `{"samples": ${list}, "samples": []}`,
      `{"samples": ${list}, "samples": 1, "a": ${numbers()}}`,
      `{"samples": ${list}, "samples": ${list.slice(0, -1)}, {}]}`,
      `{"samples": ${list}, "\\u0073amples": []}`,
      `{"samples": ${list}, "flags": []}`,
      `{"other": ${list}, "more": {"deep": [${numbers()}, [${numbers()}]], "x": ${numbers()}}}`,
      `{"a": "[{", "b": ["]"], "samples": ${list}}`,
      `{"__proto__": ${list}}`,
      `{"__proto__": {"samples": ${numbers()}}, "samples": ${list}}`,
      `{"reward": "é", "samples": ${list}}`,
      `{"samples": ${list.slice(0, -1)},]}`,
      `{"samples": ${list.slice(0, list.length - below(100))}`,
      `{"samples": ${list.slice(0, at)}${pick([']', '}', '[', '{', ',', ':', '"', '\\', ' 1', '\n'])}${list.slice(at)}}`,
      `{"a": ${numbers().slice(0, -1)},], "samples": ${list}}`,
      list,
      numbers(),
    ])
    // tap's own comparison writes both as texts, which takes ten times as long.
    t.ok(isDeepStrictEqual(await read(body), expected(body)), `${body.slice(0, 30)} ... ${body.slice(-30)}`)
    if (body.length > 100_000) cut += 1
  }
  t.ok(cut > 25)
})

t.test('a repeated name and `__proto__` are read as JSON.parse reads them', async (t) => {
  const rows = `[${Array.from({ length: 2000 }, (_, i) => `{"response": "${'x'.repeat(80)}${i}"}`).join(',')}]`
  for (const body of [
    `{"samples": ${rows}, "samples": [1]}`,
    `{"samples": ${rows}, "samples": {"0": 1}}`,
    `{"__proto__": ${rows}}`,
    `{"a": {"samples": ${rows}}}`,
  ]) {
    const { value } = await parseJsonBytes(Buffer.from(body), limits)
    t.equal(JSON.stringify(value), JSON.stringify(JSON.parse(body)))
    t.strictSame(Object.keys(value as object), Object.keys(JSON.parse(body)))
  }
})

t.test('a text read in pieces equals the whole text, wherever escapes and wide characters are', async (t) => {
  for (const piece of ['\\\\', '\\"', '\\u00e9', '\\ud83d\\ude00', '😀', 'é', 'a\\n', '\\\\\\u0041', 'x'])
    for (const shift of ['', 'a', 'ab', 'abc', '\\\\', '\\n a']) {
      const body = `{"samples":[{"response":"${shift}${piece.repeat(1_200_000 / piece.length)}"}],"a":"${piece.repeat(1_100_000 / piece.length)}"}`
      t.ok(Buffer.from(body).length > 2_000_000)
      t.strictSame((await parseJsonBytes(Buffer.from(body), limits)).value, JSON.parse(body), piece)
    }
})

t.test(
  'a literal that JSON cannot carry stands at its place, and a text that looks like a mark stays (M15)',
  async (t) => {
    const response = 'x'.repeat(200_000)
    for (const text of ['\\u2063odd0', '\\u2063odd0 and more', '\u2063odd', 'null']) {
      const body = `{"samples":[{"response":"${text}"},{"response":"${response}","extra_info":{"a":[1,{"b":NaN}]}},{"response":"${text}","ground_truth":12345678901234567890}]}`
      for (const { value, literals } of [
        parseJsonText(body),
        await parseJsonBytes(Buffer.from(body), limits),
        await parseJsonBytes(Buffer.from(body.replace(response, '')), limits),
      ]) {
        const { samples } = value as { samples: { response: string }[] }
        t.equal(samples[0]?.response, JSON.parse(`"${text}"`))
        t.equal(samples[2]?.response, JSON.parse(`"${text}"`))
        t.strictSame(
          literals.map(({ literal }) => literal),
          ['NaN', '12345678901234567890'],
        )
      }
      const { literals } = await parseJsonBytes(Buffer.from(body), limits)
      t.strictSame(literals[0]?.path, ['samples', 1, 'extra_info', 'a', 1, 'b'])
      t.strictSame(literals[1]?.path, ['samples', 2, 'ground_truth'])
    }
  },
)

t.test(
  'a row of too many values, or too deep, is not parsed and costs the others nothing (M4)',
  async (t) => {
    const good = '{"response":"x","extra_info":{"a":[1,2,3]}}'
    const filler = JSON.stringify({ response: 'y'.repeat(150_000) })
    const bad = [
      `{"response":"x","ground_truth":[${'[],'.repeat(60_000)}[]]}`,
      `{"response":"x","ground_truth":[${'1,'.repeat(450_000)}1]}`,
      `{"response":"x","ground_truth":[${'"",'.repeat(60_000)}""]}`,
      `{"response":"x","ground_truth":${'['.repeat(600)}${']'.repeat(600)}}`,
      `[${'{},'.repeat(60_000)}NaN]`,
      `{"response":"x","ground_truth":"${'a'.repeat(1_500_000)}","extra_info":[${'[],'.repeat(60_000)}[]]}`,
    ]
    for (const row of bad) {
      const body = `{"samples":[${good},${row},${filler},${row},${good},NaN]}`
      const { value, literals } = await parseJsonBytes(Buffer.from(body), limits)
      const { samples } = value as { samples: unknown[] }
      t.equal(samples.length, 6)
      t.strictSame(
        [samples[0], samples[2], samples[4]],
        [good, filler, good].map((one) => JSON.parse(one)),
      )
      t.ok(samples[1] instanceof UnreadRow && samples[3] instanceof UnreadRow)
      t.match(samples[1], { problem: /^(?:holds more than 50000 values|is nested deeper than 512)/ })
      t.match(
        literals.filter(({ path }) => path[1] !== 1 && path[1] !== 3),
        [{ path: ['samples', 5], literal: 'NaN' }],
      )
    }
  },
)

t.test(
  'outside of rows, too many values, too deep and too many rows are refused; numbers in long lists are free',
  async (t) => {
    const refused = async (body: string, kind: string, read = limits) => {
      const error = { name: 'JsonLimitError', kind }
      await t.rejects(async () => parseJsonBytes(Buffer.from(body), read), error, { name: body.slice(0, 30) })
    }
    await refused(`{"samples":[{"response":"x"}],"more":[${'[],'.repeat(60_000)}[]]}`, 'values')
    await refused(`[${'{"a":1},'.repeat(60_000)}[]]`, 'values')
    await refused('['.repeat(200_000) + ']'.repeat(200_000), 'depth')
    await refused(`{"samples":[${'1,'.repeat(70_000)}1]}`, 'rows')
    await refused(`{"samples":[1,2,3,4]}${' '.repeat(200_000)}`, 'rows', { ...limits, maxRows: 3 })
    const ids = { response: { output: [{ token_ids: Array.from({ length: 900_000 }, (_, i) => i) }] } }
    t.strictSame((await parseJsonBytes(Buffer.from(JSON.stringify(ids)), limits)).value, ids)
    const three = `{"samples":[1,2,3]}${' '.repeat(200_000)}`
    t.strictSame((await parseJsonBytes(Buffer.from(three), { ...limits, maxRows: 3 })).value, {
      samples: [1, 2, 3],
    })
    t.throws(() => parseJsonText(`{"a":[${'[],'.repeat(60_000)}[]]}`, 50_000), JsonLimitError)
  },
)

t.test('without limits, everything is read', async (t) => {
  const deep = `${'['.repeat(500)}NaN${']'.repeat(500)}`
  const { literals } = await parseJsonBytes(Buffer.from(deep), noJsonLimits)
  t.equal(literals[0]?.path.length, 500)
})
