import t from 'tap'
import { completed, readSetup, referenceTests, withAhead } from '../../src/grading/python-program.ts'

t.test('code comes before a program, but for its imports of the future', async (t) => {
  const table: readonly (readonly [string, string])[] = [
    ['x = 1\n', 'A\nx = 1\n'],
    ['"""doc"""\nx = 1\n', 'A\n"""doc"""\nx = 1\n'],
    ['from __future__ import annotations\nx = 1\n', 'from __future__ import annotations\nA\n\nx = 1\n'],
    [
      '# c\n\n"""d\n\n"e"\n"""\nfrom __future__ import (annotations,\n  division)\nx = 1',
      '# c\n\n"""d\n\n"e"\n"""\nfrom __future__ import (annotations,\n  division)\nA\n\nx = 1',
    ],
    ['from __future__ import annotations; x = 1', 'from __future__ import annotations\nA\nx = 1'],
    [
      "r'd'\nfrom __future__ import annotations # c\nfrom __future__ import division\ny",
      "r'd'\nfrom __future__ import annotations # c\nfrom __future__ import division\nA\n\ny",
    ],
    ['x = 1\nfrom __future__ import annotations', 'A\nx = 1\nfrom __future__ import annotations'],
  ]
  for (const [program, wanted] of table) t.equal(withAhead('A\n', program), wanted, program)
  t.equal(withAhead('', 'from __future__ import annotations\nx'), 'from __future__ import annotations\nx')
})

t.test('code of a test that needs the program is told from what it defines itself', async (t) => {
  const names = (code: string) => [...readSetup(code).names]
  const needs = (code: string) => readSetup(code).needsProgram
  t.same(
    names(
      'import math as m, os\nfrom a import b, c as d\nK, L = 2, 3\ndef same(a, b=1):\n  x = 2\nclass C: pass\n',
    ),
    ['m', 'os', 'b', 'd', 'K', 'L', 'same', 'C'],
  )
  for (const code of [
    'import math',
    'K = math.sqrt(4) + len([1])',
    'def same(a, b): return sorted(a) == sorted(b)',
    'def check(candidate):\n    return candidate(1)',
    'class Node:\n    def __init__(self, v): self.v = v\nroot = Node(1)',
    'for i in range(3):\n    print(i)',
    '',
  ])
    t.equal(needs(code), false, code)
  for (const code of [
    'root = Node(1) \r\nroot.left = Node(2)\r\n',
    's = Solution()',
    'class List:\n    def __init__(self, v): self.head = Node(v)',
  ])
    t.equal(needs(code), true, code)
})

t.test('a completion is a body or a whole function, behind what its prompt defines', async (t) => {
  const prompt = 'import math\n\ndef poly(x): return x\n\ndef f(x):\n    """Doc."""\n'
  t.equal(completed(prompt, 'f', '    return poly(x)\n'), `${prompt}    return poly(x)\n`)
  t.equal(completed(prompt, 'f', '\n# c\n    return x'), `${prompt}\n# c\n    return x`)
  const whole = 'def f(x):\n    return poly(x)\n'
  t.equal(completed(prompt, 'f', whole), `${prompt}del f\n${whole}`)
  t.equal(completed('def f(x):\n', 'f', whole), `def f(x):\n    pass\ndel f\n${whole}`)
  t.equal(
    completed(prompt, 'f', `from __future__ import annotations\n${whole}`),
    `from __future__ import annotations\n${prompt}del f\n\n${whole}`,
  )
  for (const other of ['', 'Write a function f.', '"""\nassert f(1) == 2\n"""\n', 'def g(x):\n'])
    t.equal(completed(other, 'f', whole), whole, other)
})

t.test('tasks of EvalPlus whose answers are not those of the reference are known', async (t) => {
  const plain = {
    call: 'add',
    args: '[1]',
    expected: { python: 'add(*__import__(\'json\').loads("[1]"))', atol: 0 },
  }
  t.same(referenceTests('add', [[1]], 0), { cases: [plain], code: '' })
  t.match(referenceTests('constructor', [[1]], 0), { code: '' })
  for (const name of ['are_equivalent', 'sum_div']) t.equal(referenceTests(name, [[1]], 0), null)
  for (const name of ['find_zero', 'surface_Area', 'digit_distance_nums', 'Diff', 'check_str'])
    t.match(referenceTests(name, [[1]], 0), { cases: [{ expected: { holds: /_/, python: name } }] })
})
