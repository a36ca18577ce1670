import { execFileSync } from 'node:child_process'
import t from 'tap'
import { testApp } from '../../support/app.ts'
import { fusionServer } from '../../support/fusion.ts'
import { withoutSandbox } from '../../support/sandbox.ts'
import { seeded } from '../../support/seeded.ts'

const seed = Number(process.env.SEED ?? Math.floor(Math.random() * 2 ** 31))
const skip = await withoutSandbox()

const fusion = await fusionServer()
t.teardown(() => fusion.kill())

const step = { name: 'tests', function: 'code-tests' }
const app = skip
  ? null
  : await testApp(t, {
      gateway: {
        sandboxes: {
          local: { programs: 2 },
          fusion: { backend: 'sandbox-fusion', instances: [fusion.url], health: { interval_s: 0 } },
        },
      },
      local: { steps: [{ ...step, sandbox: 'local', options: { fence: 'none', limit_s: 5 } }] },
      // Its limit is by the clock, of which programs that start all at once get little.
      fusion: {
        steps: [{ ...step, sandbox: 'fusion', options: { fence: 'none', limit_s: 60, total_s: 300 } }],
      },
    })

interface Result {
  readonly reward: number | null
  readonly failure: { readonly kind: string } | null
  readonly terms: { readonly tests: { readonly flags: readonly string[] } }
}

/** A program and the assert that tests it. */
type Tested = readonly [program: string, statement: string]

async function score(reward: string, tested: readonly Tested[]): Promise<readonly Result[]> {
  const samples = tested.map(([response, statement]) => ({
    prompt: 'p',
    response,
    ground_truth: [statement],
  }))
  if (!app) throw new Error('programs do not run here')
  const reply = await app.inject({ method: 'POST', url: '/v1/score', payload: { reward, samples } })
  return (reply.json() as { results: Result[] }).results
}

/** Whether Python itself runs each program and its assert to the end. */
function inPython(tested: readonly Tested[]): readonly boolean[] {
  const code = `import json, sys
def passes(program, statement):
    try:
        exec(program + "\\nimport math\\n" + statement, {})
        return True
    except Exception:
        return False
print(json.dumps([passes(*one) for one in json.load(sys.stdin)]))`
  const input = JSON.stringify(tested)
  return JSON.parse(execFileSync('python3', ['-I', '-c', code], { input, encoding: 'utf8' }))
}

const random = seeded(seed)
const pick = <T>(items: readonly T[]): T => items[Math.floor(random() * items.length)] as T
const many = (most: number, item: () => string): string[] =>
  Array.from({ length: Math.floor(random() * (most + 1)) }, item)

const numbers = [
  '0',
  '1',
  '-1',
  '2',
  '3',
  '7',
  '1.0',
  '-0.0',
  '0.1',
  '1.5',
  '2.5',
  '-3.25',
  '1e-9',
  '1e308',
  '5e-324',
]
const long = [
  '(2 ** 53)',
  '(2 ** 53 + 1)',
  '(-(2 ** 53) - 1)',
  '(2.0 ** 53)',
  '(10 ** 30)',
  '(1e30)',
  '(10 ** 400)',
  '(1e999)',
  '(-1e999)',
]
const texts = ['""', '"a"', '"b"', '"ab"', '"é"', '"\\U0001f600"', '"\\ufffd"', '"1"', '"\\n"', "'a\"'"]

/** Python's source of a literal. `hashable`: one that a set can hold. */
function literal(depth: number, hashable = false): string {
  const kind = random()
  if (kind < 0.35 || depth === 0)
    return pick([pick(numbers), pick(numbers), pick(long), pick(texts), 'True', 'False', 'None'])
  const items = (holds = hashable): string[] => many(3, () => literal(depth - 1, holds))
  if (hashable || kind < 0.55)
    return `(${items()
      .map((one) => `${one},`)
      .join('')})`
  if (kind < 0.8) return `[${items()}]`
  if (kind < 0.9) return `{${many(3, () => `${literal(1, true)}: ${literal(depth - 1)}`)}}`
  return `{${['1', ...items(true)]}}`
}

/** Values that are no literals, each with one that it may equal. Of kinds that are compared nonetheless. */
const kinds: ReadonlyMap<string, string> = new Map([
  ['type("I", (int,), {})(2)', '2'],
  ['type("S", (str,), {})("a")', '"a"'],
  ['type("L", (list,), {})([1, 2])', '[1, 2]'],
  ['__import__("collections").OrderedDict(a=1)', '{"a": 1}'],
  ['__import__("collections").namedtuple("T", "x y")(1, 2)', '(1, 2)'],
  ['__import__("enum").IntEnum("E", "a b").b', '2'],
  ['set()', '[]'],
  ['float("nan")', '0.0'],
])
/** Only the program, or nobody, could compare them: a test of them may fail where it passes in Python. */
const objects: ReadonlyMap<string, string> = new Map([
  ['frozenset([1, "a"])', '{1, "a"}'],
  ['[float("nan")]', '[0]'],
  ['object()', 'None'],
  ['[object(), 1]', '[1, 1]'],
  ['{1: object()}', '{1: 2}'],
  ['b"a"', '"a"'],
  ['range(0)', '[]'],
  ['1j', '1'],
  ['__import__("fractions").Fraction(1, 2)', '0.5'],
  ['__import__("decimal").Decimal("1.5")', '1.5'],
  ['__import__("re").match("a", "a")', '"a"'],
  ['(x for x in [1])', '[1]'],
  ['type("N", (), {})()', 'None'],
  ['len', '1'],
])

/** An assert of `f()` that is compared outside. `like`: what f may give. */
function assertOf(like: string): string {
  const near = pick([like, like, literal(2), pick(numbers)])
  const number = pick([...numbers, ...long, 'math.pi', '1 / 3'])
  const among = [near, ...many(3, () => literal(1))]
  const keys = among.filter((one) => !/[[{]/.test(one))
  return `assert ${pick([
    () => 'f()',
    () => 'not f()',
    () => `f() is ${pick(['None', 'True', 'False', 'not None', 'not True', 'not False'])}`,
    () => `f() ${pick(['==', '!='])} ${near}`,
    () => `${literal(2)} ${pick(['==', '!='])} f()`,
    () => `f() ${pick(['<', '<=', '>', '>='])} ${number}`,
    () => `${number} ${pick(['<', '<=', '>', '>='])} f()`,
    () => `f() ${pick(['in', 'not in'])} (${among.map((one) => `${one},`).join('')})`,
    () => `f() ${pick(['in', 'not in'])} [${among}]`,
    () => `f() ${pick(['in', 'not in'])} {1, ${keys}}`,
    () => `f() ${pick(['in', 'not in'])} {${keys.map((one) => `${one}: 1`)}}`,
    () => `f() ${pick(['in', 'not in'])} ${pick(texts)}`,
    () => `abs(f() - ${number}) ${pick(['<', '<='])} ${pick(['1e-6', '0.5', '1', '1e300'])}`,
    () => `abs(${number} - f()) < 0.1`,
    () => `math.isclose(f(), ${number}${pick(['', ', rel_tol=0.5', ', abs_tol=1e-3'])})`,
  ])()}`
}

t.test('asserts say what Python says, and never pay where Python does not', { skip }, async (t) => {
  t.comment(`SEED=${seed}`)
  for (const [reward, count] of [
    ['local', 200],
    ['fusion', 25],
  ] as const) {
    const values = Array.from({ length: count }, () => {
      const kind = random()
      return kind < 0.7 ? literal(2) : pick([...(kind < 0.85 ? kinds : objects).keys()])
    })
    const all = values.map((value): Tested => {
      const near = kinds.get(value) ?? objects.get(value) ?? value
      return [`def f(): return ${value}`, assertOf(near)]
    })
    const [scored, wanted] = [await score(reward, all), inPython(all)]
    let [paid, refused] = [0, 0]
    for (const [at, { reward: value, failure, terms }] of scored.entries()) {
      const what = `${reward} SEED=${seed}: ${all[at]?.join('; ')}`
      if (failure?.kind === 'bad_sample' && wanted[at] === false) continue
      t.same(terms.tests.flags, [], what)
      if (wanted[at] && objects.has(values[at] ?? '')) {
        refused += Number(value === 0)
        continue
      }
      t.equal(value, Number(wanted[at]), what)
      paid += value ?? 0
    }
    t.comment(`${reward}: ${paid} of ${count} pay, ${refused} of objects do not though Python says yes`)
    t.ok(paid > 0, `${paid} of ${count} pay`)
  }
})

const liar = `class Liar:
    __bool__ = __eq__ = __ne__ = __lt__ = __le__ = __gt__ = __ge__ = __contains__ = lambda *a: True
    __len__ = __hash__ = __index__ = __int__ = lambda s: 1
    __float__ = lambda s: 1.5
    __sub__ = __rsub__ = __abs__ = lambda *a: 0
def f(*a, **k): return Liar()`
const subclass = (base: string, inner: string): string => `class Liar(${base}):
    __bool__ = __eq__ = __ne__ = __lt__ = __le__ = __gt__ = __ge__ = __contains__ = lambda *a: True
    __sub__ = __rsub__ = __abs__ = lambda *a: 0
    __hash__ = ${base}.__hash__
def f(*a, **k): return Liar(${inner})`
const forged = `import os
for fd in range(3, 20):
    try: os.write(fd, b'true')
    except OSError: pass
os._exit(0)`

/** Programs that know nothing of what is asked, with asserts that they must not pass. */
const hostile: readonly (readonly [string, string, readonly string[]])[] = [
  [
    'an object that agrees with everything',
    liar,
    [
      'f(1)',
      'not f(1)',
      'f(1) != 2',
      'f(1) == 2',
      'f(1) in (1, 2)',
      'f(1) not in (1, 2)',
      'f(1) in {1}',
      'f(1) in "abc"',
      'f(1) < 5',
      'f(1) >= 5',
      '5 > f(1)',
      'f(1) is None',
      'f(1) is True',
      'abs(f(1) - 1.5) < 1e-6',
      'abs(1.5 - f(1)) < 1e-6',
      'math.isclose(f(1), 1.5)',
    ],
  ],
  [
    'an empty list that is true',
    subclass('list', ''),
    ['f(1)', 'f(1) != []', 'f(1) in ([1], 2)', 'f(1) < 5'],
  ],
  ['an empty text that is true', subclass('str', '""'), ['f(1)', 'f(1) != ""', 'f(1) in ("a",)', 'f(1) > 5']],
  [
    'a number that is every number',
    subclass('int', '0'),
    [
      'f(1)',
      'f(1) != 0',
      'f(1) > 1',
      'f(1) in (1, 2)',
      'abs(f(1) - 3) < 1',
      'math.isclose(f(1), 3)',
      'f(1) is False',
    ],
  ],
  [
    'a float that is every number',
    subclass('float', '"nan"'),
    ['f(1) > 1', 'f(1) < 1', 'f(1) in (1, 2)', 'abs(f(1) - 3) < 1', 'math.isclose(f(1), 3)', 'not f(1)'],
  ],
  ['infinity', 'def f(x): return float("inf")', ['abs(f(1) - 3) < 1e9', 'math.isclose(f(1), 3, rel_tol=5)']],
  [
    'a number that no float holds',
    'def f(x): return 10 ** 400',
    ['abs(f(1) - 0.5) < 1', 'math.isclose(f(1), 3)'],
  ],
  [
    'new meanings of abs, isclose and isinstance',
    'import math, builtins\nmath.isclose = lambda *a, **k: True\nbuiltins.abs = abs = lambda x: 0\ndef f(x): return 7',
    ['abs(f(1) - 1.5) < 1e-6', 'math.isclose(f(1), 1.5)'],
  ],
  ['a generator', 'def f(x): yield from (1, 2)', ['not f(1)', 'f(1) in (1, 2)', 'f(1) == 1', 'f(1) is None']],
  [
    'a list that holds itself',
    'def f(x):\n    a = []\n    a.append(a)\n    return a',
    ['not f(1)', 'f(1) == [1]', 'f(1) in ([], 1)', 'f(1) is None'],
  ],
  [
    'recursion without an end',
    'import sys\nsys.setrecursionlimit(200)\ndef f(x): return f(x)',
    ['f(1)', 'not f(1)', 'f(1) is None', 'f(1) != 1'],
  ],
  [
    'an exit',
    'import os\nos._exit(0)',
    ['f(1)', 'not f(1)', 'f(1) is None', 'f(1) is not None', 'f(1) != 1'],
  ],
  [
    'an exit in the call',
    'import sys\ndef f(x): sys.exit(0)',
    ['f(1)', 'not f(1)', 'f(1) is None', 'f(1) is not None'],
  ],
  [
    'a value that it writes itself',
    forged,
    ['f(1)', 'f(1) is True', 'f(1) != 2', 'f(1) is not None', 'f(1) == 1'],
  ],
  ['no function', 'g = 1', ['f(1)', 'not f(1)', 'f(1) is None', 'f(1) != 1', 'all([])', 'not any([])']],
]

t.test('a program that lies about its values passes nothing', { skip }, async (t) => {
  // A process of Python for each test, and another one for what it expects, take their time.
  for (const [reward, most] of [
    ['local', 100],
    ['fusion', 1],
  ] as const) {
    const some = hostile.map(([what, program, asserts]) => [what, program, asserts.slice(0, most)] as const)
    const tested = some.flatMap(([, program, asserts]) =>
      asserts.map((text): Tested => [program, `assert ${text}`]),
    )
    const names = some.flatMap(([what, , asserts]) => asserts.map((text) => `${what}: ${text}`))
    for (const [at, { reward: value, terms }] of (await score(reward, tested)).entries()) {
      t.equal(value, 0, `${reward}: ${names[at]}`)
      t.same(
        terms.tests.flags.filter((flag) => flag !== 'tampered'),
        [],
        names[at] ?? '',
      )
    }
  }
})

t.test('objects of a program pass what they cannot lie about', { skip }, async (t) => {
  const node = 'class Node: pass\ndef f(x): return Node()'
  const table: readonly Tested[] = [
    [node, 'assert f(1)'],
    [node, 'assert f(1) is not None'],
    [node, 'assert f(1) != None'],
    ['import re\ndef f(x): return re.match("a", "ab")', 'assert f(1)'],
    ['from collections import deque\ndef f(x): return deque()', 'assert not f(1)'],
    ['class Solution:\n    def f(self, x): return x > 0', 'assert Solution().f(1) is True'],
  ]
  for (const reward of ['local', 'fusion'])
    for (const [at, { reward: value, terms }] of (await score(reward, table)).entries()) {
      t.equal(value, 1, `${reward}: ${table[at]?.join('; ')}`)
      t.same(terms.tests.flags, [])
    }
})

t.test('an assert that only the program can decide runs there, and is flagged', { skip }, async (t) => {
  const asserts = [
    'all(f(x) == x for x in [1, 2])',
    'type(f(1)) == int',
    'callable(f)',
    'f(1) == (f(1) if f(0) else 1)',
  ]
  const scored = await score(
    'local',
    asserts.map((text): Tested => ['def f(x): return x', `assert ${text}`]),
  )
  for (const [at, { reward: value, terms }] of scored.entries())
    t.same([value, terms.tests.flags], [1, ['weak_tests']], asserts[at] ?? '')
})

t.test('a text is found in another one in linear time', { skip }, async (t) => {
  const long = `"${'a'.repeat(300_000)}"`
  const table: readonly (readonly [string, number])[] = [
    ['"a" * 50_000 + "b" + "a" * 50_000', 0],
    ['"a" * 299_999', 1],
    ['"a" * 300_001', 0],
  ]
  const began = process.cpuUsage()
  const scored = await score(
    'local',
    table.map(([value]): Tested => [`def f(): return ${value}`, `assert f() in ${long}`]),
  )
  t.same(
    scored.map(({ reward: value }) => value),
    table.map(([, value]) => value),
  )
  const { user } = process.cpuUsage(began)
  t.ok(user < 4e6, `${user / 1e6} s`)
})
