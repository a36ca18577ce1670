import t, { type Test } from 'tap'
import { testApp } from '../../support/app.ts'
import { withoutSandbox } from '../../support/sandbox.ts'

const skip = await withoutSandbox()
const code = (text: string): string => `Here it is:\n\n\`\`\`python\n${text}\n\`\`\`\n`

interface Result {
  readonly reward: number | null
  readonly failure: { readonly kind: string } | null
  readonly terms: { readonly tests: { readonly flags: readonly string[]; readonly parts: object } }
}

/** A name, the response, the ground truth, and the reward or the kind of failure; flags, if there are any. */
type Scored = readonly [string, string, unknown, number | string, (readonly string[])?]

const app = skip
  ? null
  : await testApp(t, {
      gateway: { sandboxes: { local: { programs: 2 } } },
      code: { steps: [{ name: 'tests', function: 'code-tests', sandbox: 'local', options: { limit_s: 5 } }] },
    })

async function score(samples: readonly object[]): Promise<readonly Result[]> {
  if (!app) throw new Error('programs do not run here')
  const reply = await app.inject({ method: 'POST', url: '/v1/score', payload: { reward: 'code', samples } })
  return (reply.json() as { results: Result[] }).results
}

async function check(t: Test, rows: readonly Scored[]): Promise<void> {
  const samples = rows.map(([, response, ground_truth]) => ({ prompt: 'p', response, ground_truth }))
  const results = await score(samples)
  for (const [at, [name, , , wanted, flags = []]] of rows.entries()) {
    const { reward, failure, terms } = results[at] as Result
    t.equal(failure?.kind ?? reward, wanted, name)
    if (failure === null) t.same(terms.tests.flags, flags, name)
  }
}

const plus = code('def add(a, b): return a + b')
const main = code(
  'def add(a, b): return a + b\nif __name__ == "__main__":\n    print(add(int(input()), 1))\n    raise SystemExit',
)
const humanEval = { test: 'def check(candidate):\n    assert candidate(1, 2) == 3\n', entry_point: 'add' }
const weak = ['weak_tests']

t.test('what stands below __name__ is not asked for where a test asks for a value', { skip }, (t) =>
  check(t, [
    ['a function', main, { inputs: ['1\n2'], outputs: ['3'], fn_name: 'add' }, 1],
    ['asserts', main, ['assert add(1, 2) == 3'], 1],
    ['HumanEval', main, humanEval, 1, weak],
    ['standard input', main, { inputs: ['4'], outputs: ['5'] }, 1],
    [
      'classes are still found by the name of their module',
      code(`from __future__ import annotations
import pickle, typing
from dataclasses import dataclass
@dataclass
class P:
    x: int
    y: P = None
def add(a, b): return len(typing.get_type_hints(P)) + pickle.loads(pickle.dumps(P(a))).x`),
      ['assert add(1, 2) == 3'],
      1,
    ],
  ]),
)

const begun = {
  prompt: 'import math\n\ndef third():\n    return 1 / 3\n\ndef add(a, b):\n    """Adds."""\n',
  test: 'def check(candidate):\n    assert math.isclose(candidate(1, third()), 4 / 3)\n',
  entry_point: 'add',
}
const noneIsRight = { ...begun, test: 'def check(c):\n    assert c(1, 2) is None\n' }

t.test('a completion is run behind the prompt that it completes', { skip }, (t) =>
  check(t, [
    ['a body', code('    return a + b'), begun, 1, weak],
    ['a whole function', plus, begun, 1, weak],
    ['a whole function, without a helper of the prompt', code('def add(a, b): return 4'), begun, 0, weak],
    ['the beginning in the prompt is no function of the program', code('x = 1'), noneIsRight, 0, weak],
    ['a prompt in words', plus, { ...humanEval, prompt: 'Write a function add.' }, 1, weak],
  ]),
)

const evalPlus = (called: string, reference: string, inputs: unknown, more: object = {}) => ({
  ...{
    prompt: '',
    entry_point: called,
    canonical_solution: reference,
    base_input: inputs,
    plus_input: [],
    atol: 0,
  },
  ...more,
})
const thirds = evalPlus('f', 'def f(x): return x / 3', [[0.5], [7]])
const zeros = evalPlus('find_zero', 'def find_zero(xs): return 0', [[[1, 2]]], { atol: 1e-4 })

t.test(
  'EvalPlus: values are as near as it takes them, and tasks have the oracles that it gives them',
  { skip },
  (t) =>
    check(t, [
      [
        'a body',
        code('    return a + b'),
        evalPlus('add', '    return a + b\n', [[1, 2]], { prompt: 'def add(a, b):\n' }),
        1,
      ],
      ['floats are near', code('def f(x): return x * (1 / 3) * (1 + 1e-8)'), thirds, 1],
      ['floats are not so near', code('def f(x): return x / 3 + 1e-4'), thirds, 0],
      [
        'an int is no float',
        code('def f(x): return 2'),
        evalPlus('f', 'def f(x): return 2.0000001', [[1]]),
        0,
      ],
      ['but they are equal', code('def f(x): return 2'), evalPlus('f', 'def f(x): return 2.0', [[1]]), 1],
      [
        'a list of floats',
        code('def f(x): return [x + 1e-9, 1.0]'),
        evalPlus('f', 'def f(x): return [x, 1.0]', [[0.5]]),
        1,
      ],
      [
        'a tuple is no list',
        code('def f(x): return (x + 1e-9,)'),
        evalPlus('f', 'def f(x): return [x]', [[0.5]]),
        0,
      ],
      [
        'a list with an int',
        code('def f(x): return [x + 1e-9, 1]'),
        evalPlus('f', 'def f(x): return [x, 1]', [[0.5]]),
        0,
      ],
      [
        'a list with an int, where the task names a tolerance',
        code('def f(x): return [x + 1e-9, 1]'),
        evalPlus('f', 'def f(x): return [x, 1]', [[0.5]], { atol: 1e-6 }),
        1,
      ],
      ['find_zero', code('def find_zero(xs): return -xs[0] / xs[1]'), zeros, 1],
      ['find_zero, a wrong answer', code('def find_zero(xs): return 0'), zeros, 0],
      ['find_zero, no number', code('def find_zero(xs): return None'), zeros, 0],
      [
        'lists as sets',
        code('def Diff(a, b): return [3, 2, 2]'),
        evalPlus('Diff', 'def Diff(a, b): return [2, 3]', [[[1], [2]]]),
        1,
      ],
      [
        'a match',
        code('import re\ndef check_str(x): return re.match("a", x)'),
        evalPlus('check_str', 'def check_str(x): return 5', [['a']]),
        1,
      ],
      [
        'no match',
        code('def check_str(x): return None'),
        evalPlus('check_str', 'def check_str(x): return 5', [['a']]),
        0,
      ],
      [
        'a task that takes every answer',
        code('def are_equivalent(a, b): return 7'),
        evalPlus('are_equivalent', 'def are_equivalent(a, b): return True', [[1, 2]]),
        'bad_sample',
      ],
      [
        'a reference that fails',
        code('def Diff(a, b): return []'),
        evalPlus('Diff', 'def Diff(a, b): return x', [[1, 2]]),
        'bad_sample',
      ],
    ]),
)

const kinds = `from fractions import Fraction
from decimal import Decimal
from collections import deque
import datetime
def f(k): return [b"ab", 1 + 2j, Fraction(1, 2), Decimal("0.50"), deque([1]), range(3), frozenset([1]),
    datetime.datetime(2020, 1, 2), {1: 2}.keys(), bytearray(b"c"), float("inf"), 2 ** 70][k]
def g(n):
    yield from range(n)`

const dicts = `from collections import Counter, OrderedDict
def f(k):
    ordered = OrderedDict(a=1, b=2)
    ordered.move_to_end("a")
    return [Counter("aab"), ordered][k]`

t.test('no kind of value makes a row unusable', { skip }, (t) =>
  check(t, [
    [
      'values that JSON does not have',
      code(kinds),
      [
        'assert f(0) == b"ab"',
        'assert f(1) == 1 + 2j',
        'assert f(2) == Fraction(1, 2)',
        'assert f(2) == 0.5',
        'assert f(3) == Decimal("0.5")',
        'assert f(3) == 0.5',
        'assert f(4) == deque([1])',
        'assert f(5) == range(3)',
        'assert f(6) == {1}',
        'assert f(7) == datetime.datetime(2020, 1, 2)',
        'assert f(8) == {1}',
        'assert f(9) == b"c"',
        'assert f(10) == float("inf")',
        'assert f(11) == 2 ** 70',
      ],
      1,
    ],
    ...[
      'f(0) == b"ac"',
      'f(1) == 1',
      'f(2) == 0.25',
      'f(3) == "0.50"',
      'f(4) == [1]',
      'f(5) == [0, 1, 2]',
    ].map((text): Scored => [text, code(kinds), [`assert ${text}`], 0]),
    [
      'asserts of other forms',
      code(kinds),
      [
        'assert not f(11) == 2',
        'assert f(11) == 2 ** 70  # a comment',
        'assert f(11) == 2 ** 70;',
        'assert f(11) - 2 ** 70 == 0',
        'assert f(11) > 5 and f(10) > 5',
        'assert 0 < f(2) < 1',
        'assert str(f(7))[:10] == "2020-01-02"',
        'assert list(g(3)) == [0, 1, 2]',
        'assert sum(g(4)) == 6',
        'assert sorted(f(6)) == [1]',
        'assert f(11) == f(11)',
        'assert [f(k) for k in (10, 11)] == [float("inf"), 2 ** 70]',
      ],
      1,
    ],
    [
      'a class of the program, which only it can compare',
      code(
        'class P:\n    def __init__(self, x): self.x = x\n    def __eq__(self, o): return self.x == o.x\ndef f(x): return P(x)',
      ),
      ['assert f(1) == P(1)'],
      1,
      weak,
    ],
    [
      'dicts that know more than a dict',
      code(dicts),
      [
        'assert f(0)["z"] == 0',
        'assert f(0) == {"a": 2, "b": 1}',
        'assert f(0) - Counter("a") == Counter("ab")',
        'assert list(f(1)) == ["b", "a"]',
        'assert f(1) == OrderedDict([("b", 2), ("a", 1)])',
        'assert f(1).popitem(last=False) == ("b", 2)',
      ],
      1,
    ],
    ...['f(0)["z"] == 1', 'f(1) == OrderedDict([("a", 1), ("b", 2)])', 'list(f(1)) == ["a", "b"]'].map(
      (text): Scored => [text, code(dicts), [`assert ${text}`], 0],
    ),
    [
      'a function that is named as a built-in one',
      code('def sum(a, b): return a + b'),
      ['assert sum(1, 2) == 3'],
      1,
    ],
  ]),
)

const node = code(
  'class Node:\n    def __init__(self, d): self.d, self.left = d, None\ndef h(r): return 0 if r is None else 1 + h(r.left)',
)
const tree = {
  test_list: ['assert (h(root)) == 2'],
  test_setup_code: 'root = Node(1) \r\nroot.left = Node(2) \r\n',
}
const withSetup = (test: string, test_setup_code: string) => ({ test_list: [test], test_setup_code })

t.test("MBPP: the test's own code runs where it can", { skip }, (t) =>
  check(t, [
    ['it needs a class of the program', node, tree, 1],
    [
      'it comes behind a docstring and imports of the future',
      code("'''doc'''\nfrom __future__ import (annotations)\ndef add(a: X, b): return a + b"),
      withSetup('assert add(1, K) == 3', 'K = 2'),
      1,
    ],
    [
      'a program uses what it defines',
      code('def add(a, b): return math.floor(a + b + H)'),
      withSetup('assert add(1, 2) == 3', 'import math\nH = 0.5'),
      1,
    ],
    [
      'its functions are not those of the program',
      code('def same(a, b): return True\ndef add(a, b): return 0'),
      withSetup('assert same(add(1, 2), 3)', 'def same(a, b): return a == b'),
      0,
    ],
    ['it is broken', plus, withSetup('assert add(1, 2) == K', 'K = 1 / 0'), 'bad_sample'],
    [
      'what it expects is broken, and the program is too',
      code('def add(a, b): return 1 / 0'),
      withSetup('assert add(1, 2) == K[7]', 'K = [3]'),
      'bad_sample',
    ],
    [
      'the program breaks what is not broken',
      code('K = None\ndef add(a, b): return K[0]'),
      withSetup('assert add(1, 2) == K[0]', 'K = [3]'),
      0,
    ],
  ]),
)

const zero = `class Zero:
    def __init__(self, *a): pass
${'sub rsub abs round mod rmod xor rxor truediv mul neg trunc floor'
  .split(' ')
  .map((name) => `    __${name}__ = lambda s, *a: 0`)
  .join('\n')}
    __eq__ = lambda s, o: True
    __hash__ = lambda s: 0
    __iter__ = lambda s: iter(())
    __len__ = lambda s: 0
def f(*a): return Zero()`
const liar = `import builtins, math
def isclose(*a, **k): return True
def eq(*a): return True
builtins.isclose = builtins.eq = math.isclose = isclose
builtins.len = builtins.sorted = builtins.round = builtins.sum = lambda *a, **k: 1
def f(*a): return 0`

t.test('a test pays no program that solves nothing', { skip }, (t) =>
  check(t, [
    ...[
      '1 == gcd(3, gcd(4, 5))',
      '6 == gcd(12, 18) + 0',
      '[1, 2, 6] == [factorial(i) for i in (1, 2, 3)]',
      '6 == len(list(permutations([1, 2, 3])))',
      'gcd(12, 18) == 6',
      'isclose(mean([1, 2]), 1.5)',
      'round(2.5) == 2',
      'all([])',
    ].map((text): Scored => [`an empty program: ${text}`, code('pass'), [`assert ${text}`], 0]),
    ...[
      'f(1) - 2 == 0',
      'round(f(1) - 2.5, 5) == 0',
      'abs(f(1) - 2.5) == 0',
      'int(abs(f(1) - 2.5) * 100) == 0',
      '[2].count(f(1)) == 1',
      '[2].index(f(1)) == 0',
      'len({1, 2} ^ f(1)) == 0',
      'f(1) == 2 and f(2) == 3',
      'f(1) == 2  # a comment',
      '2 in f(1)',
    ].map((text): Scored => [`an object that is zero: ${text}`, code(zero), [`assert ${text}`], 0]),
    ...[
      'isclose(f(1), 2.5) == True',
      'True == isclose(f(1), 2.5)',
      'isclose(f(1), 2.5)',
      'int(isclose(f(1), 2.5)) == 1',
      'str(isclose(f(1), 2.5)) == "True"',
      'math.isclose(f(1), 2.5) == True',
      'eq(f(1), 2.5) == True',
      'sorted(f(1)) == 1',
      'round(f(1), 2) == 1',
    ].map((text): Scored => [`other meanings: ${text}`, code(liar), [`assert ${text}`], 0]),
  ]),
)

t.test('the parts and flags say what the program lacks, and what it tried', { skip }, async (t) => {
  const forged = `import sys, os, json
frame = sys._getframe()
while 'gives' not in frame.f_locals: frame = frame.f_back
os.write(3, json.dumps([frame.f_locals['gives'], 1.5]).encode())
os._exit(0)`
  const tested = [
    ['x = 1', { compiled: 0, passed: 0 }, []],
    [forged, { compiled: 1, passed: 0 }, ['tampered']],
    ['def f(x): return 2', { compiled: 1, passed: 1 }, []],
  ] as const
  const samples = tested.map(([program]) => ({
    prompt: 'p',
    response: code(program),
    ground_truth: ['assert abs(f(1) - 2) < 1e-6'],
  }))
  const results = await score(samples)
  for (const [at, [program, parts, flags]] of tested.entries()) {
    t.same(results[at]?.terms.tests.parts, parts, program)
    t.same(results[at]?.terms.tests.flags, flags, program)
  }
})
