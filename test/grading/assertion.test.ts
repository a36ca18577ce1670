import t from 'tap'
import { type Assertion, equalityOf, hasComparison, readAssert } from '../../src/grading/assertion.ts'

t.test('an equality is split at its sign, and nothing else is', async (t) => {
  const table: readonly (readonly [string, readonly [string, string] | null])[] = [
    ['assert f(1) == 2', ['f(1)', '2']],
    ['  assert f("a == b", {1: [2]}) == "x, y", "says"', ['f("a == b", {1: [2]})', '"x, y"']],
    ['assert (f(1)) == (1, 2)', ['(f(1))', '(1, 2)']],
    ["assert f('''a\n'b''') == 1", ["f('''a\n'b''')", '1']],
    ['assert f(1) == 2 == 2', null],
    ['assert f(1) == 2 and g(1) == 3', null],
    ['assert f(1) == 2 if x else 3', null],
    ['assert not f(1) == 2', null],
    ['assert f(1) is True', null],
    ['assert f(1) <= 2', null],
    ['assert f(1) != 2', null],
    ['assert f(1) == 2; import os', null],
    ['assert f(1) == 2\nos.remove("x")', null],
    ['assert f(1) == 2, "m"\nos.remove("x")', null],
    ['assert f(1', null],
    ['assert f(1) == "a', null],
    ['assert f(1) == 2 # right', null],
    ['f(1) == 2', null],
    ['assert f(1)', null],
    ['assert f(lambda x: x == 1) == 2', ['f(lambda x: x == 1)', '2']],
  ]
  for (const [statement, sides] of table) t.same(equalityOf(statement), sides, statement)
})

t.test('a comparison inside a side of an equality is seen, because the program decides it', async (t) => {
  const table: readonly (readonly [string, boolean])[] = [
    ['f(1)', false],
    ['sorted(f([3, 1], key="a == b"))', false],
    ['[f(x) for x in [1, 2]]', false],
    ['(f(1) == 2)', true],
    ['all(f(x) == x for x in [1, 2])', true],
    ['all(f(x) in [1] for x in [1, 2])', true],
    ['bool(f(1) is None)', true],
    ['(not f(1))', true],
    ['max(f(1) - 2 < 0, f(2))', true],
    ['f("', true],
  ]
  for (const [expression, found] of table) t.equal(hasComparison(expression), found, expression)
})

const call = 'f(1, "a == b", [2, {3: (4,)}], key=-5e-1)'
const own = (value: string, expected: Assertion['expected']): Assertion => ({
  value,
  expected,
  isWeak: false,
})

t.test('the value of one plain call is compared with a constant outside of the program', async (t) => {
  const table: readonly (readonly [string, Assertion['expected']])[] = [
    ['C', { truthy: true }],
    ['not C', { truthy: false }],
    ['not(C), "message"', { truthy: false }],
    ['((C))', { truthy: true }],
    ['(not C)', { truthy: false }],
    ['C == [1, -2.5e3]', { python: '[1, -2.5e3]' }],
    ['(C == None)', { python: 'None' }],
    ['[1] == C', { python: '[1]' }],
    ['C != {"a": 1}', { python: '{"a": 1}', operator: '!=' }],
    ['"a" != C', { python: '"a"', operator: '!=' }],
    ['C < 2 ** 0.5', { python: '2 ** 0.5', operator: '<' }],
    ['C<=-1_000', { python: '-1_000', operator: '<=' }],
    ['C > math.pi * (1 + 1)', { python: 'math.pi * (1 + 1)', operator: '>' }],
    ['C >= float("-inf")', { python: 'float("-inf")', operator: '>=' }],
    ['0 < C', { python: '0', operator: '>' }],
    ['0 >= C', { python: '0', operator: '<=' }],
    ['C in (1, 2), "m"', { python: '(1, 2)', operator: 'in' }],
    ['C in ["a",\n "b"]', { python: '["a",\n "b"]', operator: 'in' }],
    ['C not in {1, None}', { python: '{1, None}', operator: 'not in' }],
    ['C in "abc"', { python: '"abc"', operator: 'in' }],
    ['C is None', { python: 'None', operator: 'is' }],
    ['C is not  True', { python: 'True', operator: 'is not' }],
    ['abs(C - 1.5) < 1e-6', { python: '1.5', within: { absolute: 1e-6, exclusive: true } }],
    ['(abs(1 / 3 - C) <= .5)', { python: '1 / 3', within: { absolute: 0.5 } }],
    ['abs(C - -2 * 3) < 1', { python: '-2 * 3', within: { absolute: 1, exclusive: true } }],
    ['1e-9 > abs(C - (1 - 2))', { python: '(1 - 2)', within: { absolute: 1e-9, exclusive: true } }],
    ['math.isclose(C, 2.5)', { python: '2.5', within: { absolute: 0, relative: 1e-9 } }],
    [
      'math.isclose(2.5, C, abs_tol=1e-3, rel_tol = 0.1,)',
      { python: '2.5', within: { absolute: 1e-3, relative: 0.1 } },
    ],
  ]
  for (const [text, expected] of table)
    for (const value of [call, 'Solution().f(None)', 'f()', 'f(r"\\d", math.inf, float("inf"))']) {
      const statement = `assert ${text.replace('C', value)}`
      t.same(readAssert(statement), own(value, expected), statement)
    }
  t.same(readAssert(' assert(f(1)) '), own('f(1)', { truthy: true }))
})

t.test('what the program could decide, or what is not understood, stays a statement', async (t) => {
  const statements = [
    '0 < f(1) < 2',
    'f(1) < 2 < 3',
    'f(1) == 2 in [True]',
    'f(1) != g(2)',
    'f(1) != x',
    'f(g(1)) > 0',
    'f(x) > 0',
    'f([x for x in [1]]) > 0',
    'f(*[1]).x > 0',
    'f("a".upper()) > 0',
    'f(f"{x}") > 0',
    'f(b"x") != 1',
    'f(y := 1) > 0',
    'len(f(1)) > 0',
    'f(1)[0] > 0',
    'f(1).x is None',
    'f.g(1) is None',
    'Solution(1).f(1) is None',
    'Solution.f(1) is None',
    'f(1) + 1 > 0',
    '-f(1) < 0',
    'f(1)(2) > 0',
    'isinstance(f(1), int)',
    'not f(1) == 2',
    'not f(1) > 2',
    'not not f(1)',
    'f(1) and f(2)',
    'f(1) or True',
    'f(1) if True else 0',
    'f(1) is 1',
    'f(1) is not ()',
    'f(1) > "a"',
    'f(1) > [1]',
    'f(1) < f"x"',
    'f(1) in x',
    'f(1) in [1] + [2]',
    'f(1) in [x]',
    'f(1) in f(2)',
    '1 in f(1)',
    'f(1) != math.nan',
    'f(1) != float("nan")',
    'f(1) != float(x)',
    'f(1) != math',
    'abs(f(1) - 1.5 + 2) < 1e-6',
    'abs(f(1) + 1.5) < 1e-6',
    'abs(f(1) - g(2)) < 1e-6',
    'abs(f(1) - 1.5, 2) < 1e-6',
    'abs(2 - -f(1)) < 1e-6',
    'abs(f(1) - 1.5) > 1e-6',
    'abs(f(1) - 1.5) < eps',
    'abs(f(1) - 1.5) < 1e999',
    'abs(f(1) - 1.5) / 2 < 1e-6',
    'abs(f(1)) < 1e-6',
    'isclose(f(1), 1.5)',
    'math.isclose(f(1), 1.5, 2)',
    'math.isclose(f(1), 1.5, tol=2)',
    'math.isclose(f(1), 1.5, abs_tol=-1)',
    'math.isclose(f(1), "a")',
    'math.isclose(*f(1))',
    '(f(1), 2)',
    'f(1); f(2)',
    'f(1)\nf(2)',
    'f(1) # right',
    'f(1) > 0, "m"; x',
    'f(1',
    'f(")',
    '',
    ')',
  ]
  for (const text of statements) t.equal(readAssert(`assert ${text}`), null, text)
  for (const text of ['f(1)', 'x = f(1) == 1', 'asserts(f(1))', 'import math\nassert f(1)'])
    t.equal(readAssert(text), null, text)
})

t.test('an equality whose left side the program decides is weak', async (t) => {
  const table: readonly (readonly [string, boolean])[] = [
    ['f(1) == True', false],
    ['Solution().f([x], Node(1)) == False', false],
    ['f(1)[0] == 2', false],
    ['True == f(1)', false],
    ['math.isclose(f(1), 1.5) == True', true],
    ['isinstance(f(1), int) == True', true],
    ['f("a").isdigit() == False', true],
    ['(f(1) == 2) == True', true],
  ]
  for (const [text, isWeak] of table) t.match(readAssert(`assert ${text}`), { isWeak }, text)
})

t.test('a long text of anything is read in linear time', async (t) => {
  for (const piece of [
    '"',
    '(',
    '==',
    ',',
    "'''",
    'a',
    '\n',
    '# ',
    '1',
    '1.',
    '((',
    '[1],',
    'f(',
    'not ',
    '-',
    'abs(',
    'math.',
    '\\',
  ]) {
    const [small, large] = [2 ** 15, 2 ** 18].map((size) => {
      const text = piece.repeat(size / piece.length)
      const began = process.cpuUsage()
      for (const one of [
        text,
        `f(${text})`,
        `f(1) != [${text}]`,
        `abs(f(1) - ${text}) < 1`,
        `math.isclose(${text})`,
        `((${text}))`,
      ]) {
        readAssert(`assert ${one}`)
        equalityOf(`assert ${one}`)
        hasComparison(one)
      }
      return process.cpuUsage(began).user / 1000
    }) as [number, number]
    t.ok(large < 16 * Math.max(small, 50), `${JSON.stringify(piece)}: ${small} ms, ${large} ms`)
  }
})
