import t from 'tap'
import { programIn } from '../../src/grading/program.ts'
import { growsLinearly } from '../support/hostile.ts'

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

t.test('a fence in a list item or a quote loses the indent of its mark', async (t) => {
  const code = 'if x:\n    y\n'
  const table: readonly (readonly [string, string | null])[] = [
    ['1. Here:\n\n   ```python\n   if x:\n       y\n   ```', code],
    ['- a\n  - b\n\n    ```python\n    if x:\n        y\n    ```\n', code],
    ['- ```python\n  if x:\n      y\n  ```', code],
    ['10. a\n    ```py\n    if x:\n        y\n    ```', code],
    ['-\t```python\n\tif x:\n\t    y\n\t```', code],
    ['> ```python\n> if x:\n>     y\n> ```', code],
    ['1. a\n   ```python\nif x:\n    y\n   ```', code],
    ['1. a\n```python\nif x:\n    y\n```', code],
    ['1. a\n   b\n c\n   ```python\n   if x:\n       y\n   ```', code],
    ['* a\n\ntext\n\n      ```python\n      x\n      ```', null],
    ['\t```python\n\tx\n\t```', null],
    ['> ```python\n> x\n```', null],
    ['```python\n- ```\n```', '- ```\n'],
  ]
  for (const [response, program] of table) t.equal(programIn(response, 'python'), program, response)
})

t.test('a megabyte of anything is read in linear time', async (t) => {
  growsLinearly(
    t,
    [
      '```\n',
      '`',
      '~~~python\n',
      '"',
      '(',
      '==',
      ',',
      "'''",
      'a',
      '\n',
      '# ',
      '- ',
      '> ',
      '1. ',
      '- a\n  ',
      '> - ',
      '\t',
    ],
    (text) => programIn(text, 'python'),
    { size: 2 ** 20, factor: 8, leastMs: 40 },
  )
})
