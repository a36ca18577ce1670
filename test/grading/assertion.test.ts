import { execFileSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import t from 'tap'
import { type Assertion, isKnown, readAssert } from '../../src/grading/assertion.ts'
import { growsLinearly } from '../support/hostile.ts'
import { withoutPython } from '../support/python.ts'

const split = (text: string, ...helpers: readonly string[]): Assertion | null =>
  readAssert(`assert ${text}`, new Set(helpers))
const said = (text: string, ...helpers: readonly string[]): string | null => {
  const { value, holds, python, isWeak } = split(text, ...helpers) ?? {}
  if (value === undefined) return null
  return `${value} | ${holds}${python === undefined ? '' : ` | ${python}`}${isWeak ? ' | weak' : ''}`
}

/** An assert, what the program evaluates, what has to hold of it without the program, and what `expected` is there. */
const table: readonly (readonly [string, string])[] = [
  ['f(1) == 2', 'f(1) | _ == 2'],
  ['not f(1) == 2', 'f(1) | not _ == 2'],
  ['not f(1)', 'f(1) | not _'],
  ['((f(1)))', 'f(1) | _'],
  ['(f(1) == None)', 'f(1) | _ == None'],
  ['f(1) == 2  # a comment', 'f(1) | _ == 2'],
  ['f(1) == 2;', 'f(1) | _ == 2'],
  ['f(1) == 2, "a message"', 'f(1) | _ == 2'],
  ['f(1) == 2, f"{f(1)}"', 'f(1) | _ == 2'],
  ['[1] == f(1)', 'f(1) | [1] == _'],
  ['5 == len(f(x))', 'f(x) | 5 == len(_)'],
  ['True == isclose(f(1), 2.5)', 'f(1) | True == isclose(_, 2.5)'],
  ['math.isclose(a=f(1), b=5)', 'f(1) | math.isclose(a=_, b=5)'],
  ['abs(f(1) - 2) < 1e-6', 'f(1) | abs(_ - 2) < 1e-6'],
  ['abs(f(1) - 5) < 10 ** -6', 'f(1) | abs(_ - 5) < expected | 10 ** -6'],
  ['[2].count(f(1)) == 1', 'f(1) | [2].count(_) == 1'],
  ['0 < f(1) < 3', 'f(1) | 0 < _ < 3'],
  ['f(1) == Counter("aab")', 'f(1) | _ == expected | Counter("aab")'],
  ['f(1) in range(10)', 'f(1) | _ in expected | range(10)'],
  ["f(b'x') == b'y'", "f(b'x') | _ == b'y'"],
  ['f(1, key=[2, {3: (4,)}]) is None', 'f(1, key=[2, {3: (4,)}]) | _ is None'],
  ['f(*[1], **{"a": 2}) == 3', 'f(*[1], **{"a": 2}) | _ == 3'],
  ['f(lambda x: x == 1) == 2', 'f(lambda x: x == 1) | _ == 2'],
  ['f(1)[0].strip() == "x"', 'f(1) | _[0].strip() == "x"'],
  ['f(1)[0].x == 2', 'f(1)[0].x | _ == 2'],
  ['f(1).value == 2', 'f(1).value | _ == 2'],
  ['A(1).get() == 1', 'A(1).get() | _ == 1'],
  ['Solution().f([1]) == 2', 'Solution().f([1]) | _ == 2'],
  ['Sort([2, 1]) == [1, 2]', 'Sort([2, 1]) | _ == [1, 2]'],
  ['h(root) == 2', 'h(root) | _ == 2'],
  ['f(1) == 2 and f(2) == 3', '(f(1), f(2),) | _[0] == 2 and _[1] == 3'],
  ['f(1) == g(2)', '(f(1), g(2),) | _[0] == _[1]'],
  ['[f(i) for i in range(3)] == [0, 1, 2]', '([f(i) for i in range(3)]) | _ == [0, 1, 2]'],
  ['sum(f(i) for i in range(3)) == 3', '(f(i) for i in range(3)) | sum(_) == 3'],
  ['list(map(f, [1, 2])) == [2, 3]', 'map(f, [1, 2]) | list(_) == [2, 3]'],
  ['[x for x in f(1)] == [1]', 'f(1) | [x for x in _] == [1]'],
  ['sorted(f(1), key=lambda p: p[0]) == [1]', 'f(1) | sorted(_, key=lambda p: p[0]) == [1]'],
  ['isinstance(f(1), (int, float))', 'f(1) | isinstance(_, (int, float))'],
  ['f(1) == [1,\n 2]', 'f(1) | (_ == [1,\n 2]\n)'],
  // A function that is named like one that Python has.
  ['gcd(12, 18) == 6', 'gcd(12, 18) | _ == 6'],
  ['6 == gcd(12, 18) + 0', 'gcd(12, 18) | 6 == _ + 0'],
  ['1 == gcd(3, gcd(4, 5))', 'gcd(3, gcd(4, 5)) | 1 == _'],
  ['[1, 2] == [factorial(i) for i in (1, 2)]', '([factorial(i) for i in (1, 2)]) | [1, 2] == _'],
  ['math.isclose(mean([1, 2]), 1.5)', 'mean([1, 2]) | math.isclose(_, 1.5)'],
  ['sum(10, 15) == 25', 'sum(10, 15) | _ == 25'],
]

t.test('an assert is split into calls of the program and what has to hold without it', async (t) => {
  for (const [text, wanted] of table) t.equal(said(text), wanted, text)
  t.match(readAssert('\n  assert(f(1))\n\n'), { value: 'f(1)', holds: '_' })
})

t.test("functions that the test's own code defines are asked without the program", async (t) => {
  t.equal(said('same(f(1), [1]) == True', 'same'), 'f(1) | same(_, [1]) == True')
  t.equal(said('f(1) == K + 1', 'K'), 'f(1) | _ == expected | K + 1')
  t.equal(
    said('same(f(1), [1]) == True'),
    'same(f(1), [1]) | _ == True | weak',
    'a function of the program that judges another one is weak',
  )
})

t.test('what objects of the program decide, or what is not understood, stays a statement', async (t) => {
  const statements = [
    'all(f(x) == x for x in [1])',
    'all(f(x) > 0 for x in [1])',
    'isinstance(f(1), Node)',
    'f(1) == Point(1, 2)',
    'type(f(1)) == int',
    'callable(f)',
    'hasattr(f(1), "x")',
    'f(1) == f"{2}"',
    'f(1) if True else 0',
    '(lambda: f(1))() == 2',
    '(x := f(1)) == 2',
    'f(1) == 2; import os',
    'f(1) == 2\nos.remove("x")',
    'f(1) == 2, "m"\nimport os',
    'f(1',
    'f(")',
    'f(1) ==',
    'f(1) == == 2',
    '1 == 1',
    '',
    ')',
    `${'('.repeat(500)}f(1)${')'.repeat(500)}`,
    `f(1)${'.x'.repeat(500)}`,
  ]
  for (const text of statements) t.equal(split(text), null, text.slice(0, 60))
  for (const text of ['f(1)', 'x = f(1) == 1', 'asserts(f(1))', 'import math\nassert f(1)'])
    t.equal(readAssert(text), null, text)
})

t.test('the names that the prelude gives are known', { skip: withoutPython }, async (t) => {
  const code = `${readFileSync('src/scoring/sandboxes/case_value.py', 'utf8')}
import json
own, names = set(dir(builtins)), {}
exec(PRELUDE, names)
print(json.dumps(sorted(own | {name for name in names if not name.startswith("_")})))`
  const names = JSON.parse(execFileSync('python3', ['-I', '-c', code], { encoding: 'utf8' })) as string[]
  t.same(
    names.filter((name) => !isKnown(name) && !/^(?:_|True|False|None)/.test(name)),
    [],
  )
})

t.test('a long text of anything is read in linear time', async (t) => {
  growsLinearly(
    t,
    [
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
      'f(1)+',
      'not ',
      '-',
      '.a',
      'lambda:',
      'lambda x:',
      '[x for x in ',
      '*',
      'if 1 else ',
      '\\',
      '\\\n',
      'f"',
      ' and ',
      '{f(1):',
    ],
    (text) => {
      for (const one of [text, `f(${text})`, `f(1) != [${text}]`, `abs(f(1) - ${text}) < 1`, `((${text}))`])
        readAssert(`assert ${one}`)
    },
    { size: 2 ** 18, factor: 16, leastMs: 50 },
  )
})
