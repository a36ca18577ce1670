import t from 'tap'
import { equalityOf, hasComparison, programIn } from '../../src/grading/program.ts'

const fenced = (language: string, text: string, mark = '```'): string =>
  `${mark}${language}\n${text}\n${mark}\n`

t.test('the program of a response is a closed fence after its thinking', async (t) => {
  const one = fenced('python', 'one')
  const two = fenced('', 'two')
  const table: readonly (readonly [string, string | null])[] = [
    [one, 'one\n'],
    [`${one}text\n${two}`, 'two\n'],
    [`<think>${one}</think>${two}`, 'two\n'],
    [`<think>${one}`, null],
    [`${one}${fenced('cpp', 'int main')}`, 'one\n'],
    [fenced('Python3 {.numberLines}', 'one'), 'one\n'],
    [fenced('py', 'one', '~~~~'), 'one\n'],
    ['````python\n```\none\n````\n', '```\none\n'],
    ['```python\none', null],
    ['```python one```', null],
    ['print(1)', null],
    ['', null],
    ['  ```python\none\n  ```\r\n', 'one\n'],
    ['    ```python\none\n    ```', null],
  ]
  for (const [response, program] of table) t.equal(programIn(response, 'python'), program, response)
  t.equal(programIn(`${one}${two}`, 'python', { fence: 'first' }), 'one\n')
  t.equal(programIn(`${one}${two}`, 'python', { fence: 'only' }), null)
  t.equal(programIn('print(1)', 'python', { bare: true }), 'print(1)')
  t.equal(programIn('```python\nprint(1)', 'python', { bare: true }), null)
})

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

t.test('a megabyte of anything is read in linear time', async (t) => {
  for (const piece of ['```\n', '`', '~~~python\n', '"', '(', '==', ',', "'''", 'a', '\n', '# ']) {
    const [small, large] = [2 ** 17, 2 ** 20].map((size) => {
      const text = piece.repeat(size / piece.length)
      const began = process.cpuUsage()
      programIn(text, 'python')
      equalityOf(`assert ${text}`)
      hasComparison(text)
      return process.cpuUsage(began).user / 1000
    }) as [number, number]
    t.ok(large < 8 * Math.max(small, 40), `${JSON.stringify(piece)}: ${small} ms, ${large} ms`)
  }
})
