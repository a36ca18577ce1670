import t from 'tap'
import zebralogic from '../../reward-functions/zebralogic.ts'
import zebralogicOfN from '../../reward-functions/zebralogic-of-n.ts'
import type { Json, Score } from '../../src/contract/index.ts'
import { type RowParts, row, ruleContract, scored } from '../../src/contract/testing.ts'
import { nearLinear } from '../support/hostile.ts'

const groundTruth = {
  header: ['House', 'Name', 'Drink'],
  rows: [
    ['1', 'Ann', 'tea'],
    ['2', 'Bob', 'milk'],
  ],
}
const solved = { 'House 1': { Name: 'Ann', Drink: 'Tea ' }, 'House 2': { Name: 'Bob', Drink: 'milk' } }
const half = { 'House 1': { Name: 'Ann', Drink: 'milk' }, 'House 2': { Name: 'Bob', Drink: 'tea' } }
const said = (solution: Json, reasoning = 'so'): string => JSON.stringify({ reasoning, solution })
const puzzle = (response: string, options: Json = {}): RowParts => ({ response, groundTruth, options })
const reference = { mode: 'reference' }
const score = (response: string, options: Json = {}): Score | null =>
  scored(zebralogic, puzzle(response, options))

ruleContract(t, zebralogic, {
  full: puzzle(`<think>hm</think>\n\`\`\`json\n${said(solved)}\n\`\`\``),
  zero: puzzle(said(half)),
  malformed: puzzle(said(solved).slice(0, -1)),
  hacks: {
    'all answers in each square': puzzle(
      said({ 'House 1': { Name: ['Ann', 'Bob'], Drink: ['tea', 'milk'] }, 'House 2': solved['House 2'] }),
    ),
    'right while thinking': puzzle(`<think>${said(solved)}</think> I pass`),
    'two solutions in one object': puzzle(`{"solution":${JSON.stringify(half)},${said(solved).slice(1)}`),
    'a later object': puzzle(`${said(solved)} ${said(half)}`),
  },
})

t.test('right squares are counted', async (t) => {
  t.match(score(said(half, 'four')), {
    parts: { parsed: 1, correct_cells: 2, total_cells: 4, reasoning_length: 4 },
  })
  t.match(score('none'), { parts: { parsed: 0, correct_cells: 0 }, details: { reason: /no object/ } })
  t.equal(score(said({ 'House 1': null, 'House 2': 'Bob' }))?.parts?.correct_cells, 0)
  t.equal(score(said('House 1'))?.parts?.parsed, 0)
  t.equal(score(`${said(solved)} {done}`)?.value, 1, 'braces that hold no object do not hide it')
  t.equal(
    score(said(solved, 'an open { and a \\" quote'))?.value,
    1,
    'braces inside a text count for nothing',
  )
})

t.test('a ground truth may be text of JSON', async (t) => {
  const text = { ...puzzle(said(solved)), groundTruth: JSON.stringify(groundTruth) }
  t.equal(scored(zebralogic, text)?.value, 1)
  t.throws(() => row(zebralogic, { groundTruth: '{}' }))
})

t.test('reference mode keeps the faults of the original', async (t) => {
  const published = (response: string) => score(response, reference)
  t.equal(published(said(solved))?.value, 1)
  t.equal(published(`<think>${said(solved)}</think> I pass`)?.value, 1)
  t.equal(published(`${said(solved)} {done}`)?.parts?.parsed, 0)
  t.equal(published(said(solved, 'an open {'))?.parts?.parsed, 0)
  const lists = { 'House 1': { Name: ['Ann', 'Bob'], Drink: [] }, 'House 2': { Name: null } }
  t.equal(published(said(lists))?.parts?.correct_cells, 1)
  t.equal(published(said('nothing'))?.parts?.correct_cells, 0)
  t.equal(published(said({ 'House 1': 'x', 'House 2': [] }))?.parts?.correct_cells, 0)
  for (const strange of ['House 1', ['House 1'], 7, { 'House 1': null }, { 'House 1': 'Name' }]) {
    t.throws(() => published(said(strange)), TypeError)
  }
  t.throws(() => published(said({ 'House 1': { Name: 3 } })), TypeError)
})

t.test('one answer is chosen from a group', async (t) => {
  const group = (choice: string, responses: string[], mode = 'sound') => {
    const rows = responses.map((response) => row(zebralogicOfN, puzzle(response, { choice, mode })))
    return zebralogicOfN.score(rows) as readonly Score[]
  }
  const bad = { 'House 1': { Name: 'Bob' }, 'House 2': { Name: 'Ann' } }
  const all = ['none', said(half, 'longest'), said(solved, 'long'), said(solved, 'in'), said(bad, '')]
  for (const mode of ['sound', 'reference']) {
    const right = (choice: string) => group(choice, all, mode)[0]?.parts?.correct_cells
    t.equal(right('best'), 4)
    t.equal(right('majority'), 4)
    t.equal(right('most_common'), 4)
    t.equal(right('middle_common'), 4)
    t.equal(right('least_common'), 0)
    t.equal(right('longest'), 2)
    t.equal(right('median'), 4)
    t.equal(right('shortest'), 0)
  }
  t.strictSame(
    group('best', all).map(({ value }) => value),
    [1, 1, 1, 1, 1],
  )
  t.match(group('best', ['none', 'none']), [{ value: 0, parts: { parsed: 0 } }, { value: 0 }])
  t.equal(group('majority', [said(half), 'none'])[0]?.parts?.correct_cells, 2)
  t.strictSame(zebralogicOfN.score([]), [])
})

t.test('hostile text costs little', async (t) => {
  for (const options of [{}, reference]) {
    nearLinear(t, (text) => score(text, options))
    nearLinear(t, (text) => score(`{"solution":${JSON.stringify(text)}}`, options)?.value)
  }
})
