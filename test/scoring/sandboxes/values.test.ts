import t from 'tap'
import type { CaseResult, Execution, ProgramCase } from '../../../src/contract/execution.ts'
import { systemClock } from '../../../src/core/clock.ts'
import { isWritten } from '../../../src/scoring/sandboxes/case-value.ts'
import { LocalSandbox } from '../../../src/scoring/sandboxes/local-sandbox.ts'
import { localConfig } from '../../../src/scoring/sandboxes/sandbox-config.ts'
import { withoutSandbox } from '../../support/sandbox.ts'

const skip = await withoutSandbox()
const sandbox = new LocalSandbox('local', localConfig.parse({ programs: 1 }), systemClock)
t.teardown(() => sandbox.close())

async function run(program: string, cases: readonly ProgramCase[], more: Partial<Execution> = {}) {
  const limits = { cpuSeconds: 4, wallSeconds: 8, memoryMb: 256 }
  const outcome = await sandbox.run({
    execution: { language: 'python', program, cases, limits, ...more },
    deadline: systemClock.now() + 60_000,
    signal: new AbortController().signal,
  })
  return 'failure' in outcome ? outcome.failure : outcome.result
}

const only = async (
  program: string,
  one: ProgramCase,
  more: Partial<Execution> = {},
): Promise<CaseResult> => {
  const result = await run(program, [one], more)
  if (!('cases' in result) || !result.cases[0]) throw new Error(JSON.stringify(result))
  return result.cases[0]
}

/** Writes a result as the sandbox does, and ends. `value`: JSON text. */
const forged = (value: string): string => `import json, os, sys
frame = sys._getframe()
while 'gives' not in frame.f_locals: frame = frame.f_back
os.write(3, ('[%s, %s]' % (json.dumps(frame.f_locals['gives']), ${JSON.stringify(value)})).encode())
os._exit(0)`

/** JSON that case_value.py never writes. */
const malformed = [
  '1.5',
  '1e300',
  '9007199254740993',
  '1e999',
  '-0.5',
  '{}',
  '{"int": "0x"}',
  '{"int": "0xzz"}',
  '{"int": "5"}',
  '{"int": "-0x0"}',
  '{"int": 5}',
  '{"float": ""}',
  '{"float": "1"}',
  '{"float": 1.5}',
  '{"float": "Infinity"}',
  '{"float": "1.0", "int": "0x1"}',
  '{"tuple": 5}',
  '{"tuple": [1.5]}',
  '{"set": [[1]]}',
  '{"set": [{"dict": []}]}',
  '{"dict": [[1]]}',
  '{"dict": [[[1], 2]]}',
  '{"dict": {"a": 1}}',
  '{"counter": [1]}',
  '{"ordered": [[[1], 2]]}',
  '{"set": [{"counter": []}]}',
  '{"bytes": "0"}',
  '{"bytes": "xx"}',
  '{"complex": ["1.0"]}',
  '{"complex": [1, 2]}',
  '{"decimal": "1 + 1"}',
  '{"decimal": 1}',
  '{"fraction": [1.5, 1]}',
  '{"fraction": [1]}',
  '{"range": [0, 1]}',
  '{"date": [2020, 1, "1"]}',
  '{"other": 5}',
  '{"other": "x", "truth": 1}',
  '{"other": "x", "more": true}',
  '{"unknown": []}',
  '{"constructor": []}',
  '{"__proto__": []}',
  `${'['.repeat(900)}1${']'.repeat(900)}`,
  `${'{"tuple": ['.repeat(300)}1${']}'.repeat(300)}`,
  `{"set": [${'{"tuple": ['.repeat(20_000)}1${']}'.repeat(20_000)}]}`,
]

const comparisons: readonly ProgramCase[] = [
  { value: 'f(1)', expected: { holds: 'abs(_ - 2) < 1e-6' } },
  { value: 'f(1)', expected: { python: '2', tolerance: 0.5 } },
  { value: 'f(1)', expected: { python: '2.0', atol: 1e-6 } },
  { value: 'f(1)', expected: { python: '[2, {1: 2}]' } },
  { call: 'f', args: '[1]', expected: { json: '[2, {"a": 1}]', tolerance: 0.5 } },
  { check: 'f(1)' },
]

t.test(
  'a value that no value of Python is written as has been tampered with, and fails nothing else',
  { skip },
  async (t) => {
    for (const text of malformed) {
      t.equal(isWritten(JSON.parse(text)), false, text.slice(0, 50))
      const result = await run(forged(text), comparisons)
      const cases = 'cases' in result ? result.cases : []
      t.same(
        cases.map(({ ended, passed }) => [ended, passed]),
        comparisons.map(() => ['tampered', false]),
        text.slice(0, 50),
      )
    }
  },
)

/** An expression, and how results with outputs tell its value. */
const told: readonly (readonly [string, unknown])[] = [
  ['None', null],
  ['True', true],
  ['7', 7],
  ['2 ** 53', { int: '0x20000000000000' }],
  ['-(2 ** 60)', { int: '-0x1000000000000000' }],
  ['1.5', 1.5],
  ['2.0', { float: '2.0' }],
  ['float("-inf")', { float: '-inf' }],
  ['float("nan")', { float: 'nan' }],
  ['"é"', 'é'],
  ['[1, [2.5]]', [1, [2.5]]],
  ['(1, 2.5)', { tuple: [1, 2.5] }],
  ['__import__("collections").Counter("a")', { dict: [['a', 1]] }],
  [
    '{"a": (1,), 2: None}',
    {
      dict: [
        ['a', { tuple: [1] }],
        [2, null],
      ],
    },
  ],
  ['{1}', { set: [1] }],
  ['frozenset([1])', { frozenset: [1] }],
  ['b"a\\0"', { bytes: '6100' }],
  ['1 - 2j', { complex: ['1.0', '-2.0'] }],
  ['__import__("decimal").Decimal("1.50")', { decimal: '1.50' }],
  ['__import__("fractions").Fraction(2, 4)', { fraction: [1, 2] }],
  ['range(3)', { range: [0, 3, 1] }],
  ['__import__("collections").deque([1])', { deque: [1] }],
  ['{1: 2}.items()', { items: [{ tuple: [1, 2] }] }],
  ['__import__("datetime").date(2020, 1, 2)', { date: [2020, 1, 2] }],
  ['__import__("datetime").timedelta(1, 2)', { timedelta: [1, 2, 0] }],
  [
    '__import__("datetime").datetime.now(__import__("datetime").timezone.utc)',
    { other: 'datetime', truth: true },
  ],
  ['(x for x in [1])', { other: 'generator', truth: true }],
  ['len', { other: 'builtin_function_or_method', truth: true }],
  ['type("E", (), {"__bool__": lambda s: True})()', { other: 'E' }],
  ['type("S", (str,), {})("a")', 'a'],
]

t.test(
  'a result with outputs tells the value by its exact type, and the time by both clocks',
  { skip },
  async (t) => {
    for (const [expression, value] of told) {
      const result = await only(`def f(): return ${expression}`, { value: 'f()' }, { report: 'outputs' })
      t.same(result.value, value, expression)
      t.equal(typeof result.value, typeof value)
      t.ok(typeof result.wallSeconds === 'number' && result.wallSeconds > 0 && result.cpuSeconds > 0)
    }
  },
)

t.test('what holds of a value is asked without the program', { skip }, async (t) => {
  const evil = `import builtins, gc
builtins.abs = builtins.len = builtins.sorted = lambda *a: 0
class E(list):
    __eq__ = __contains__ = __lt__ = __gt__ = lambda *a: True
    __len__ = __sub__ = __abs__ = lambda *a: 0
seen = [o for o in gc.get_objects() if isinstance(o, str) and "S3CR" + "3T" in o]
def f(x): return E([3, 1])
def g(x): return (y for y in (2, 1))
def none(): pass
class Node: pass
def node(): return Node()`
  const table: readonly (readonly [string, string, boolean, string?])[] = [
    ['f(1)', 'sorted(_) == [1, 3]', true],
    ['f(1)', 'len(_) == 2 and abs(_[0] - 3) < 1e-9', true],
    ['f(1)', '_ == [3, 2]', false],
    ['f(1)', '5 in _', false],
    ['seen', 'not _ and "S3CR3T" != 1', true],
    ['g(1)', 'list(_) == [2, 1]', true],
    ['g(1)', 'next(_) == 2', true],
    ['none()', '_ is None', true],
    ['none()', '_[0] == 1', false],
    ['node()', '_ is not None and _ != None and bool(_)', true],
    ['node()', '_ != 1', false],
    ['node()', '_ not in (1, 2)', false],
    ['node()', 'str(_) != ""', false],
    ['f(1)', 'sorted(_) == expected', true, '[1] + [3]'],
    ['f(1)', 'K == 2', true],
    ['f(1)', 'exit(0) or True', false],
  ]
  for (const [value, holds, passed, python] of table) {
    const expected = { holds, ...(python && { python }) }
    const result = await only(evil, { value, expected }, { setup: 'K = 2' })
    t.equal(result.passed, passed, `${holds}: ${result.error}`)
  }
  const endless = 'def f():\n    n = 0\n    while True:\n        yield n\n        n += 1'
  const first: ProgramCase = { value: 'f()', expected: { holds: 'next(_) == 0 and next(_) == 1' } }
  t.match(await only(endless, first), { passed: true })
  t.match(await only(endless, { value: 'f()', expected: { holds: 'sum(_) > 5' } }), {
    passed: false,
    error: /only 100000 items/,
  })
  t.match(await only(evil, { value: 'none()', expected: { holds: '_[0] == 1' } }), {
    ended: 'ok',
    error: /^TypeError: 'NoneType' object/,
  })
  for (const [holds, python, setup] of [
    ['_ == K', undefined, ''],
    ['_ == expected', '1 / 0', ''],
    ['_ == 1', undefined, 'raise SystemExit'],
    ['_ ==', undefined, ''],
  ] as const) {
    const expected = { holds, ...(python && { python }) }
    t.match(
      await run('def f(x): return 1', [{ value: 'f(1)', expected }], { setup }),
      { kind: 'bad_sample' },
      holds,
    )
  }
  t.ok(
    (await only('def f(x): return 1', { value: 'f(1)', expected: { holds: '_ == 1' } })).passed,
    'and others still run',
  )
})

t.test('a value that takes too long to compare fails its test', { skip }, async (t) => {
  const one: ProgramCase = { value: 'f(1)', expected: { holds: 'sorted(_) == [1]' } }
  const brief = { limits: { cpuSeconds: 1, wallSeconds: 2, memoryMb: 128 } }
  t.match(await only('def f(x): return range(10 ** 12)', one, brief), { passed: false, ended: /memory|time/ })
  t.match(await only('def f(x):\n    while True: yield 1', one, brief), { passed: false })
})
