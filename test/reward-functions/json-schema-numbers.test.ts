import t from 'tap'
import jsonSchema from '../../reward-functions/json-schema.ts'
import { type Json, RuleTimeout } from '../../src/contract/index.ts'
import { row } from '../../src/contract/testing.ts'
import { cpuMs } from '../support/cpu.ts'
import { valueBy } from '../support/rules.ts'
import { seeded } from '../support/seeded.ts'

/** 1 where the response satisfies the schema. */
const fits = (schema: Json, response: string) => valueBy(jsonSchema)(response, null, { schema })

t.test(
  'json-schema: money is a multiple of 0.01, however it is written, and 19.999 is not (M35)',
  async (t) => {
    const cents = { multipleOf: 0.01 }
    const right = [
      '19.99',
      '0.07',
      '4.35',
      '1.1e0',
      '199900e-4',
      '-0.29',
      '0',
      '-0.0',
      '1e400',
      '9007199254740993',
    ]
    for (const text of [...right, '123456789012345678901234567890.01', `1${'0'.repeat(5000)}.07`])
      t.equal(fits(cents, text), 1, text.slice(0, 40))
    const wrong = ['19.999', '1e-7', '0.075', '1e-400', '0.010000000000000000001', '90071992547409931.001']
    for (const text of wrong) t.equal(fits(cents, text), 0, text)
    t.equal(fits({ multipleOf: 1e-7 }, '3e-7'), 1)
    t.equal(fits({ multipleOf: 3 }, '3e400'), 1)
    t.equal(fits({ multipleOf: 3 }, '1e400'), 0)
  },
)

/** So many thousandths, as a decimal. */
function decimal(thousandths: bigint): string {
  const digits = String(thousandths).padStart(4, '0')
  return `${digits.slice(0, -3)}.${digits.slice(-3)}`
}

t.test('json-schema: multipleOf agrees with whole cents, drawn (M35)', async (t) => {
  const seed = Number(process.env.SEED ?? Date.now() % 2 ** 31)
  t.comment(`SEED=${seed}`)
  const random = seeded(seed)
  const below = (limit: number) => Math.floor(random() * limit)
  const steps = [1, 2, 3, 5, 7, 25, 99, 100, 1 + below(400), 1 + below(4000)]
  for (const step of steps) {
    const [schema, finer] = [{ multipleOf: step / 100 }, { multipleOf: step / 1000 }]
    for (let i = 0; i < 20; i++) {
      const thousandths = BigInt(below(2 ** 31)) * BigInt(below(2 ** 31) ** below(3))
      const expected = thousandths % BigInt(step * 10) === 0n ? 1 : 0
      const text = decimal(thousandths)
      t.equal(fits(schema, text), expected, `${text} by ${schema.multipleOf}`)
      t.equal(fits(schema, decimal(thousandths * BigInt(step * 10))), 1)
      t.equal(fits(finer, decimal(thousandths * BigInt(step))), 1)
    }
  }
})

/** A decimal of up to 30 digits, as digits and the power of ten that they are multiplied by. */
interface Decimal {
  readonly digits: bigint
  readonly power: number
}

/** The decimals' order: negative, 0 or positive. */
function order(a: Decimal, b: Decimal): number {
  const power = Math.min(a.power, b.power)
  const [x, y] = [a, b].map(({ digits, power: own }) => digits * 10n ** BigInt(own - power)) as [
    bigint,
    bigint,
  ]
  return x < y ? -1 : Number(x > y)
}

t.test('json-schema: bounds and equality agree with whole numbers, drawn', async (t) => {
  const seed = Number(process.env.SEED ?? Date.now() % 2 ** 31)
  t.comment(`SEED=${seed}`)
  const random = seeded(seed)
  const below = (limit: number) => Math.floor(random() * limit)
  const drawn = (): Decimal => {
    const digits = Array.from({ length: 1 + below(30) }, () => below(10)).join('')
    return { digits: BigInt(digits) * (below(2) === 0 ? 1n : -1n), power: below(50) - 40 }
  }
  /** Equal now and then, or different in the last digit only. */
  const near = ({ digits, power }: Decimal): Decimal =>
    below(3) === 0
      ? { digits: digits * 10n, power: power - 1 }
      : { digits: digits * 1000n + BigInt(below(3) - 1), power: power - 3 }
  /** One of several ways to write the number in JSON. */
  const written = ({ digits, power }: Decimal): string => {
    const sign = digits < 0n ? '-' : ''
    const text = String(digits < 0n ? -digits : digits)
    if (power >= 0) return below(2) === 0 ? `${digits}${'0'.repeat(power)}` : `${digits}e${power}`
    if (below(3) === 0) return `${sign}${text}E${power}`
    const padded = text.padStart(1 - power, '0')
    return `${sign}${padded.slice(0, power)}.${padded.slice(power)}${'0'.repeat(below(3))}`
  }
  // Each round compiles nine schemas, and each run draws others.
  for (let i = 0; i < 12; i++) {
    const limit = drawn()
    const value = below(2) === 0 ? near(limit) : drawn()
    const difference = order(value, limit)
    const [text, bound] = [written(value), written(limit)]
    const expected: Readonly<Record<string, boolean>> = {
      [`{"maximum": ${bound}}`]: difference <= 0,
      [`{"minimum": ${bound}}`]: difference >= 0,
      [`{"exclusiveMaximum": ${bound}}`]: difference < 0,
      [`{"exclusiveMinimum": ${bound}}`]: difference > 0,
      [`{"const": ${bound}}`]: difference === 0,
      [`{"enum": ["x", ${bound}, null]}`]: difference === 0,
      [`{"not": {"const": ${bound}}}`]: difference !== 0,
    }
    for (const [schema, holds] of Object.entries(expected))
      t.equal(fits(schema, text), Number(holds), `${text} by ${schema}`)
    t.equal(
      fits({ uniqueItems: true }, `[${text}, ${bound}]`),
      Number(difference !== 0),
      `[${text}, ${bound}]`,
    )
    t.equal(fits(`{"items": {"const": {"a": [${bound}]}}}`, `[{"a": [${text}]}]`), Number(difference === 0))
  }
})

t.test('json-schema: numbers beyond a double are what is written, not what is near (M35)', async (t) => {
  const unique = { uniqueItems: true }
  t.equal(fits(unique, '[9007199254740992, 9007199254740993]'), 1)
  t.equal(fits(unique, '[{"a": 0.1}, {"a": 0.10000000000000000001}]'), 1)
  t.equal(fits(unique, '[9007199254740993, 9007199254740993.0]'), 0)
  t.equal(fits(unique, '[1e400, 10e399]'), 0)
  t.equal(fits(unique, '[1, 1.0]'), 0)
  const integer = { type: 'integer' }
  for (const text of ['1.0', '1e400', '9007199254740993', '10e-1', '-0'])
    t.equal(fits(integer, text), 1, text)
  for (const text of ['9007199254740993.5', '1e-400', '1.0000000000000000001'])
    t.equal(fits(integer, text), 0, text)
  t.equal(fits({ type: 'number' }, '1e400'), 1)
  t.equal(fits({ exclusiveMinimum: 0 }, '1e-400'), 1)
  t.equal(fits({ maximum: 1 }, '1.00000000000000000001'), 0)
  t.equal(fits({ minimum: -1 }, '-1.00000000000000000001'), 0)
  t.equal(fits({ const: 1 }, '1.00'), 1)
  t.equal(fits({ enum: [[0.1], { a: 0 }] }, '{"a": -0.0}'), 1)
  t.equal(fits({ enum: [0.1] }, '0.10000000000000000001'), 0)
})

t.test('json-schema: an exact number keeps its place through references and names (M35)', async (t) => {
  const cents = { type: 'number', multipleOf: 0.01, maximum: 100 }
  const node = {
    $defs: { node: { anyOf: [cents, { type: 'array', items: { $ref: '#/$defs/node' } }] } },
    $ref: '#/$defs/node',
  }
  t.equal(fits(node, '[0.07, [4.35, [19.99]]]'), 1)
  t.equal(fits(node, '[0.07, [4.35, [19.990000000000000000001]]]'), 0)
  t.equal(fits({ properties: { 1: cents } }, '{"2": 1, "1": 9007199254740993}'), 0)
  t.equal(fits({ propertyNames: { const: 'a' }, additionalProperties: cents }, '{"a": 0.290}'), 1)
  t.equal(fits({ contains: { const: 0.3 } }, '[0.30000000000000004]'), 0)
  t.equal(fits({ prefixItems: [true, cents], unevaluatedItems: false }, '[1e400, 4.350]'), 1)
})

t.test(
  'json-schema: a schema that is a text keeps its numbers; one that a config rounded is refused (M35)',
  async (t) => {
    t.equal(fits('{"const": 9007199254740993}', '9007199254740993'), 1)
    t.equal(fits('{"const": 9007199254740993}', '9007199254740992'), 0)
    t.equal(fits('{"enum": [[9007199254740993]]}', '[9007199254740993.0]'), 1)
    t.equal(fits('{"maximum": 18446744073709551615}', '18446744073709551615'), 1)
    t.equal(fits('{"maximum": 18446744073709551615}', '18446744073709551616'), 0)
    for (const schema of [
      { properties: { a: { maximum: 2 ** 64 } } },
      { enum: [{ a: [2 ** 53] }] },
      '{"maximum": 1, "maximum": 2}',
      '{"maximum": NaN}',
      '[]',
    ])
      t.throws(() => row(jsonSchema, { options: { schema } }), JSON.stringify(schema))
  },
)

t.test('json-schema: hostile numbers and lists cost linear time (M35)', async (t) => {
  const nested = { $defs: { n: { uniqueItems: true, items: { $ref: '#/$defs/n' } } }, $ref: '#/$defs/n' }
  const count = 50_000
  const list = (item: (index: number) => string) =>
    `[${Array.from({ length: count }, (_, i) => item(i)).join()}]`
  const cases: readonly (readonly [string, Json, string])[] = [
    ['digits', { multipleOf: 7 }, '3'.repeat(1_000_000)],
    ['decimals', { multipleOf: 0.01, minimum: 0.3 }, `0.${'3'.repeat(1_000_000)}`],
    ['zeros', { const: 0 }, `0.${'0'.repeat(1_000_000)}`],
    ['an exponent', { multipleOf: 7 }, '1e999999999999999'],
    ['an endless exponent', { multipleOf: 7 }, `1e${'9'.repeat(1_000_000)}`],
    ['objects', { uniqueItems: true }, list((i) => `{"a":${i}}`)],
    ['long integers', { uniqueItems: true }, list((i) => `9007199254740993${i}`)],
    ['a list far down', nested, `${'['.repeat(126)}${list(String)}${']'.repeat(126)}`],
    [
      'a long enum',
      { items: { enum: Array.from({ length: 2000 }, (_, i) => i) } },
      list((i) => `${i % 2000}.0`),
    ],
    ['a search for what is not there', { contains: { const: -1 } }, list(String)],
    ['depth', nested, '['.repeat(1_000_000)],
  ]
  for (const [name, schema, text] of cases) {
    const start = cpuMs()
    fits(schema, text)
    const ms = Math.round(cpuMs() - start)
    t.ok(ms < 3000, `${name}: ${ms} ms`)
  }
})

t.test(
  'json-schema: branches that meet again in each level end as rule_timeout, never as a score (M35)',
  async (t) => {
    const node = (branches: number): Json => ({
      $defs: {
        node: {
          anyOf: [
            { type: 'number' },
            ...Array.from({ length: branches }, (_, i) => ({
              type: 'array',
              items: { $ref: '#/$defs/node' },
              maxItems: 9 + i,
            })),
          ],
        },
      },
      $ref: '#/$defs/node',
    })
    const nest = (depth: number, core: string) => `${'['.repeat(depth)}${core}${']'.repeat(depth)}`
    for (const depth of [30, 126]) {
      const start = cpuMs()
      t.throws(() => fits(node(2), nest(depth, '"x"')), RuleTimeout, `${depth} levels`)
      t.ok(cpuMs() - start < 2000)
    }
    t.equal(fits(node(2), nest(126, '1')), 1)
    t.equal(fits(node(2), nest(10, '"x"')), 0)
    t.equal(fits(node(1), nest(126, '"x"')), 0)
    t.equal(
      fits(
        { items: { $ref: '#/$defs/n' }, $defs: { n: { $ref: '#/$defs/m' }, m: { const: 1 } } },
        `[${'1,'.repeat(200_000)}1]`,
      ),
      1,
    )
  },
)
