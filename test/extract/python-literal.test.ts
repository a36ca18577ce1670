import t from 'tap'
import { readPythonList } from '../../src/extract/index.ts'
import { nearLinear } from '../support/hostile.ts'

t.test('a list of literals is read as Python reads it', async (t) => {
  const lists: [string, unknown[]][] = [
    ['[]', []],
    [' [1, -2, +3,] ', [1, -2, 3]],
    ['[1.5, .5, 5., 1e3, 1_000]', [1.5, 0.5, 5, 1000, 1000]],
    ['[0x10, -0x10]', [16, -16n]],
    ['[9007199254740993, -9007199254740993]', [9007199254740993n, -9007199254740993n]],
    ['[None, True, False]', [null, true, false]],
    [`['a', "b'c", 'd"e']`, ['a', "b'c", 'd"e']],
    [`['\\n\\t\\'\\\\']`, ["\n\t'\\"]],
    ['[[1], [\n2]]', [[1], [2]]],
    ['[0, 00, -0]', [0, 0, 0]],
  ]
  for (const [text, wanted] of lists) t.strictSame(readPythonList(text), wanted, text)
})

t.test('anything else is no list', async (t) => {
  const others = [
    '',
    '1',
    '(1,)',
    '{1}',
    '[true]',
    '[1',
    '[1 2]',
    '[1]]',
    '[01]',
    '[e5]',
    '[.]',
    '[1,,2]',
    '[a]',
  ]
  others.push(
    "['a]",
    "['\\q']",
    "['a\nb']",
    '[-]',
    `[${'9'.repeat(4301)}]`,
    `${'['.repeat(100)}${']'.repeat(100)}`,
  )
  for (const text of others) t.equal(readPythonList(text), null, JSON.stringify(text.slice(0, 20)))
})

t.test('hostile text costs little', async (t) => {
  nearLinear(t, (text) => readPythonList(`[${text}]`))
})
