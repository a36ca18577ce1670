import t from 'tap'
import countdown from '../../reward-functions/countdown.ts'
import zebralogic from '../../reward-functions/zebralogic.ts'
import zebralogicOfN from '../../reward-functions/zebralogic-of-n.ts'
import type { Json, Score } from '../../src/contract/index.ts'
import { type RowParts, row, ruleContract, scored } from '../../src/contract/testing.ts'
import { eachNearLinear } from '../support/hostile.ts'
import { modes, valueBy } from '../support/rules.ts'

const publishedMode = { mode: 'published' }
const game = { target: 24, numbers: [3, 3, 8, 8] }
const answered = (answer: string): string => `<think>I try some sums.</think>\n<answer>${answer}</answer>`

t.test('countdown keeps its contract', async (t) => {
  ruleContract(t, countdown, {
    full: { response: answered('8 / (3 - 8 / 3)'), groundTruth: game },
    zero: { response: '24', groundTruth: game },
    malformed: { response: answered('8 / (3 - 8 / 3'), groundTruth: game },
    hacks: {
      'numbers in a comment': { response: answered('24 # 3 3 8 8'), groundTruth: game },
      'True is no free one': {
        response: answered('5 + True'),
        groundTruth: { target: 6, numbers: [5] },
      },
      'neighbouring texts': { response: answered("'1' '2'"), groundTruth: { target: 12, numbers: [1, 2] } },
      'a hexadecimal numeral': { response: answered('0x10'), groundTruth: { target: 16, numbers: [0, 10] } },
      'no thinking': { response: '<answer>8 / (3 - 8 / 3)</answer>', groundTruth: game },
      'an empty thought': {
        response: '<think>\n</think><answer>8 / (3 - 8 / 3)</answer>',
        groundTruth: game,
      },
      'two answers': { response: `${answered('8 / (3 - 8 / 3)')}<answer>1</answer>`, groundTruth: game },
      'two ends of thinking': { response: `so</think>${answered('8 / (3 - 8 / 3)')}`, groundTruth: game },
      'a near miss': {
        response: answered('1000000 / 3'),
        groundTruth: { target: 333333.333333, numbers: [3, 1000000] },
      },
      'the target as an equation': { response: answered('8 / (3 - 8 / 3) = 24'), groundTruth: game },
    },
  })
})

const value = (answer: string, truth: Json, options = {}) =>
  valueBy(countdown)(answered(answer), truth, options)

t.test('countdown: an expression earns by what it uses and by its exact value', async (t) => {
  const cases: [string, Json, number][] = [
    ['3 + 3 + 8 + 8', game, 0.5],
    ['3 + 8 + 8', game, 0.2],
    ['8 / (8 - 8) + 3 + 3', { target: 1, numbers: [8, 8, 8, 3, 3] }, 0.5], // a division by zero
    ['[2 × 5] × (8 ÷ 8) − −1', { target: '11.0', numbers: ['1', 2, 5, 8, 8] }, 1],
    ['1 / 49 * 49', { target: 1, numbers: [1, 49, 49] }, 1], // fractions are exact
    ['(2 + 8]', { target: 10, numbers: [2, 8] }, 0.2], // brackets pair by kind
    ['02 + 8', { target: 10, numbers: [2, 8] }, 0.2],
    ['1 / -2', { target: -0.5, numbers: [1, 2] }, 1],
    ['100000000 * 10', { target: '1e9', numbers: [10, 100000000] }, 1],
  ]
  for (const [expression, truth, wanted] of cases) t.equal(value(expression, truth), wanted, expression)
})

t.test('countdown: a score names its parts and why it is low', async (t) => {
  t.strictSame(scored(countdown, { response: answered('3+3+8+8'), groundTruth: game }), {
    value: 0.5,
    parts: { format: 0.2, numbers: 0.3, value: 0 },
    details: { reason: 'other_value' },
  })
  const reason = (response: string): unknown =>
    scored(countdown, { response, groundTruth: game })?.details?.reason
  t.equal(reason('x'), 'no_thinking')
  t.equal(reason('so</think>x'), 'no_answer')
  t.equal(reason(answered('x')), 'not_an_expression')
  t.equal(reason(answered('1')), 'other_numbers')
  t.equal(reason(answered('8 / (3 - 8 / 3)')), undefined)
})

t.test('countdown: published mode keeps the faults of the original', async (t) => {
  const cases: [string, Json, number][] = [
    ['24 # 3 3 8 8', { target: 24, numbers: [24, 3, 3, 8, 8] }, 1],
    ["'1' '2'", { target: 12, numbers: [1, 2] }, 1],
    ["'a'", { target: 12, numbers: [] }, 0.5],
    ['2 * 5', { target: ' 1e1 ', numbers: '25' }, 1],
    ['2 * 5', { target: true, numbers: { 2: 0, 5: 0 } }, 0.5],
    ['1e308 * 10', { target: 1, numbers: [1, 308, 10] }, 0.5],
    ['2', { target: 2, numbers: [true] }, 0.2],
    ['7'.repeat(4301), { target: 2, numbers: [2] }, 0.2],
  ]
  for (const [expression, truth, wanted] of cases)
    t.equal(value(expression, truth, publishedMode), wanted, expression.slice(0, 20))
})

t.test('countdown: published mode pays nothing for a row that is not whole', async (t) => {
  const faulty: Json[] = [
    null,
    [1],
    {},
    { target: 1 },
    { target: null, numbers: [] },
    { target: 'x', numbers: [] },
    { target: 1, numbers: 5 },
    { target: 1, numbers: ['x'] },
    { target: 1, numbers: [null] },
  ]
  for (const truth of faulty) t.equal(value('1', truth, publishedMode), 0, JSON.stringify(truth))
})

t.test('countdown: published mode pays for a tag that stands alone', async (t) => {
  const bare = (response: string): unknown =>
    scored(countdown, { response, groundTruth: game, options: publishedMode })?.value
  t.equal(bare('</think>'), 0.1)
  t.equal(bare('<answer>1</answer>'), 0.1)
  t.equal(bare('<answer>1'), 0)
})

t.test('countdown: a row without target and numbers is rejected, not scored', async (t) => {
  for (const truth of [null, { target: 1 }, { target: 'x', numbers: [1] }, { target: 1, numbers: [1.5] }]) {
    t.throws(() => row(countdown, { groundTruth: truth }), JSON.stringify(truth))
  }
})

const grid = {
  header: ['House', 'Name', 'Drink'],
  rows: [
    ['1', 'Ann', 'tea'],
    ['2', 'Bob', 'milk'],
  ],
}
const solved = { 'House 1': { Name: 'Ann', Drink: 'Tea ' }, 'House 2': { Name: 'Bob', Drink: 'milk' } }
const half = { 'House 1': { Name: 'Ann', Drink: 'milk' }, 'House 2': { Name: 'Bob', Drink: 'tea' } }
const said = (solution: Json, reasoning = 'so'): string => JSON.stringify({ reasoning, solution })
const puzzle = (response: string, options: Json = {}): RowParts => ({ response, groundTruth: grid, options })
const score = (response: string, options: Json = {}): Score | null =>
  scored(zebralogic, puzzle(response, options))

t.test('zebralogic keeps its contract', async (t) => {
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
})

t.test('zebralogic: right cells are counted', async (t) => {
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

t.test('zebralogic: a ground truth may be text of JSON', async (t) => {
  const text = { ...puzzle(said(solved)), groundTruth: JSON.stringify(grid) }
  t.equal(scored(zebralogic, text)?.value, 1)
  t.throws(() => row(zebralogic, { groundTruth: '{}' }))
})

t.test('zebralogic: published mode keeps the faults of the original', async (t) => {
  const published = (response: string) => score(response, publishedMode)
  t.equal(published(said(solved))?.value, 1)
  t.equal(published(`<think>${said(solved)}</think> I pass`)?.value, 1)
  t.equal(published(`${said(solved)} {done}`)?.parts?.parsed, 0)
  t.equal(published(said(solved, 'an open {'))?.parts?.parsed, 0)
  const lists = { 'House 1': { Name: ['Ann', 'Bob'], Drink: [] }, 'House 2': { Name: null } }
  t.equal(published(said(lists))?.parts?.correct_cells, 1)
  for (const strange of ['nothing', { 'House 1': 'x', 'House 2': [] }])
    t.equal(published(said(strange))?.parts?.correct_cells, 0, JSON.stringify(strange))
})

t.test('zebralogic: published mode fails where the original throws', async (t) => {
  for (const strange of [
    'House 1',
    ['House 1'],
    7,
    { 'House 1': null },
    { 'House 1': 'Name' },
    { 'House 1': { Name: 3 } },
  ])
    t.throws(() => score(said(strange), publishedMode), TypeError, JSON.stringify(strange))
})

const group = (choice: string, responses: string[], mode = 'strict') => {
  const rows = responses.map((response) => row(zebralogicOfN, puzzle(response, { choice, mode })))
  return zebralogicOfN.score(rows) as readonly Score[]
}

t.test('zebralogic: one answer is chosen from a group, and pays for all', async (t) => {
  const bad = { 'House 1': { Name: 'Bob' }, 'House 2': { Name: 'Ann' } }
  const all = ['none', said(half, 'longest'), said(solved, 'long'), said(solved, 'in'), said(bad, '')]
  for (const mode of ['strict', 'published'])
    for (const [choice, cells] of Object.entries({
      best: 4,
      majority: 4,
      most_common: 4,
      middle_common: 4,
      least_common: 0,
      longest: 2,
      median: 4,
      shortest: 0,
    }))
      t.equal(group(choice, all, mode)[0]?.parts?.correct_cells, cells, `${choice}, ${mode}`)
  t.strictSame(
    group('best', all).map(({ value }) => value),
    [1, 1, 1, 1, 1],
  )
})

t.test('zebralogic: an answer that cannot be read is chosen only where there is no other', async (t) => {
  t.match(group('best', ['none', 'none']), [{ value: 0, parts: { parsed: 0 } }, { value: 0 }])
  t.equal(group('majority', [said(half), 'none'])[0]?.parts?.correct_cells, 2)
  t.strictSame(zebralogicOfN.score([]), [])
})

t.test('hostile text is scored in linear time', async (t) => {
  for (const mode of modes) {
    eachNearLinear(t, {
      [`countdown, ${mode}`]: (text) => value(text, { target: 7, numbers: [7] }, { mode }),
      [`zebralogic, ${mode}`]: (text) => score(text, { mode }),
      [`zebralogic in a solution, ${mode}`]: (text) =>
        score(`{"solution":${JSON.stringify(text)}}`, { mode }),
    })
  }
})
