import t from 'tap'
import citations from '../../reward-functions/citations.ts'
import qaF1 from '../../reward-functions/qa-f1.ts'
import searchEm from '../../reward-functions/search-em.ts'
import searchSubem from '../../reward-functions/search-subem.ts'
import type { Json } from '../../src/contract/index.ts'
import { row, ruleContract, scored } from '../../src/contract/testing.ts'
import { bestAssignment } from '../../src/grading/assignment.ts'
import { nearLinear } from '../support/hostile.ts'
import { seeded } from '../support/seeded.ts'

const prompt = 'What is the capital of France?'
type Row = readonly [answer: string, target: string | readonly string[]]

const paid = (rule: typeof searchEm, [answer, target]: Row, mode = 'strict'): boolean =>
  scored(rule, {
    prompt,
    response: `<think>Let me search.</think><answer>${answer}</answer>`,
    groundTruth: { target: target as Json },
    options: { mode },
  })?.value === 1
const both = { 'search-em': searchEm, 'search-subem': searchSubem }

const otherNumbers: readonly Row[] = [
  ['-5', '5'],
  ['- 5', '5'],
  ['\u22125', '5'],
  ['(-5)', '5'],
  ['-$5', '5'],
  ['3.5', '35'],
  ['.5', '5'],
  ['5.0', '50'],
  ['10.5', '105'],
  ['1/2', '12'],
  ['1,2', '12'],
  ['10-12', '1012'],
  ['5:3', '53'],
  ['5^2', '52'],
  ['5*2', '52'],
  ["5'2", '52'],
  ['5_2', '52'],
  ['5!', '5'],
  ['5%', '5'],
  ['> 5', '5'],
  ['<5', '5'],
  ['~5', '5'],
  ['1914-1918', '1914'],
  ['42-50', '42'],
  ['2024-06-18', '20240618'],
  ['42 million', '42'],
  ['less than 42', '42'],
  ['at least 42', '42'],
  ['twice 42', '42'],
]

const others: readonly Row[] = [
  ['Paris or London', 'Paris'],
  ['either Paris or London', 'Paris'],
  ['Paris and London', 'Paris'],
  ['Paris & London', 'Paris'],
  ['Paris/London', 'Paris'],
  ['Paris, London', 'Paris'],
  ['London, Paris', 'Paris'],
  ['Paris; London', 'Paris'],
  ['Paris | London', 'Paris'],
  ['Paris\nLondon', 'Paris'],
  ['Paris London', 'Paris'],
  ['London Paris', 'Paris'],
  ['Paris London Rome Berlin', 'Paris'],
  ['The capital of France is London or Paris.', 'Paris'],
  ['The capital is London and Paris', 'Paris'],
  ['The answer is London. Paris is nice', 'Paris'],
  ['The capital was London before it was Paris', 'Paris'],
  ['yes and no', 'yes'],
  ['yes or no', 'yes'],
  ['Yes? No.', 'yes'],
  ['no, yes', 'yes'],
  ['42 or 43', '42'],
  ['41, 42', '42'],
  ['巴黎或伦敦', '巴黎'],
  ['巴黎 伦敦', '巴黎'],
  ['comparison', 'Paris'],
  ['C', 'C++'],
  ['C#', 'C'],
]

const denials: readonly Row[] = [
  ['not Paris', 'Paris'],
  ['never Paris', 'Paris'],
  ['anything but Paris', 'Paris'],
  ['The answer is anything except Paris', 'Paris'],
  ['far from Paris', 'Paris'],
  ['The opposite of Paris', 'Paris'],
  ['It is not Paris', 'Paris'],
  ["It isn't Paris", 'Paris'],
  ['The capital of France is not Paris.', 'Paris'],
  ['The answer is: London, not Paris', 'Paris'],
  ['Paris is wrong', 'Paris'],
  ['maybe Paris', 'Paris'],
  ['Paris, maybe', 'Paris'],
  ['I guess Paris', 'Paris'],
  ['It could be Paris', 'Paris'],
  ['Paris?', 'Paris'],
  ['!Paris', 'Paris'],
  ['!= Paris', 'Paris'],
  ['~~Paris~~', 'Paris'],
  ['不是巴黎', '巴黎'],
  ['not no', 'no'],
]

const same: readonly Row[] = [
  ['Paris', 'Paris'],
  ['the PARIS.', 'Paris'],
  ['“Paris”', 'Paris'],
  ['**Paris**', 'Paris'],
  ['5', '5'],
  ['+5', '5'],
  ['$5', '5'],
  ['１２', '12'],
  ['\u22125', '-5'],
  ['1,000', '1000'],
  ['1000', '1,000'],
  ['3.50', '3.5'],
  ['42', '42.0'],
  ['0.5', '.5'],
  ['.50', '0.5'],
  ['5 percent', '5%'],
  ['5', '5%'],
  ['1914–1918', '1914-1918'],
  ['12/25/1999', '12-25-1999'],
  ['10:30', '10:30'],
  ['U.S.A.', 'USA'],
  ['well-known', 'wellknown'],
  ['it’s', "it's"],
  ['C++', 'C++'],
  ['Who Framed Roger Rabbit?', 'Who Framed Roger Rabbit'],
  ['São Paulo', 'são paulo'],
  ['巴黎。', '巴黎'],
]

const sentences: readonly Row[] = [
  ['It is Paris.', 'Paris'],
  ['The capital of France is Paris.', 'Paris'],
  ['Paris is the capital of France', 'Paris'],
  ['Paris, France', 'Paris'],
  ['in Paris', 'Paris'],
  ['the city of Paris', 'Paris'],
  ['Final answer: Paris', 'Paris'],
  ['答案是巴黎', '巴黎'],
  ['42 years', '42'],
  ['approximately 300 km', '300 km'],
  ['It was released in 1999', '1999'],
  ['The population is 1,000,000.', '1000000'],
  ['King Henry VIII', 'Henry VIII'],
  ['President Barack Obama', 'Barack Obama'],
  ['It was written by Jane Austen.', 'Jane Austen'],
  ['The largest planet in the solar system is Jupiter.', 'Jupiter'],
  ['The author of the book is J. K. Rowling.', 'J. K. Rowling'],
  ['New York City (NYC)', ['New York City', 'NYC']],
  ['Yes, it is.', 'yes'],
  ['No, it is not.', 'no'],
]

for (const [name, rule] of Object.entries(both)) {
  for (const [kind, rows] of Object.entries({ otherNumbers, others, denials }))
    t.test(`${name}: what is not the target is not paid (${kind})`, async (t) => {
      for (const one of rows) t.notOk(paid(rule, one), `${one[0]} for ${one[1]}`)
    })
  t.test(`${name}: the target counts in each of its usual forms`, async (t) => {
    for (const one of same) t.ok(paid(rule, one), `${one[0]} for ${one[1]}`)
  })
}

t.test('search-subem: a sentence that commits to the target counts', async (t) => {
  for (const one of sentences) t.ok(paid(searchSubem, one), `${one[0]} for ${one[1]}`)
})

t.test('search-subem: words of the question count only if it offers no choice', async (t) => {
  const value = (prompt: string): number | undefined =>
    scored(searchSubem, {
      prompt,
      response: '<answer>Paris London</answer>',
      groundTruth: { target: 'Paris' },
    })?.value
  t.equal(value('Which city is larger, Paris or London?'), 0)
})

t.test(
  'search-subem: a clause that tells more of the target costs nothing, and none swaps its role',
  async (t) => {
    const read = (answer: string) =>
      scored(searchSubem, {
        prompt: 'Who painted the Night Watch?',
        response: `<answer>${answer}</answer>`,
        groundTruth: { target: 'Rembrandt' },
      })?.value
    for (const right of [
      'The Night Watch was painted by Rembrandt, who lived in Amsterdam.',
      'The Night Watch was painted by the Dutch master Rembrandt in 1642.',
      'It was Rembrandt who painted it.',
      'Rembrandt, in the Netherlands',
    ])
      t.equal(read(right), 1, right)
    for (const wrong of [
      'The Night Watch painted Rembrandt',
      'Rembrandt was painted by the Night Watch',
      'It was painted by Hals, a rival of Rembrandt',
      'Rembrandt, Hals, Vermeer',
      'Rembrandt, which is nonsense',
      'It was Rembrandt who lost the contract',
    ])
      t.equal(read(wrong), 0, wrong)
  },
)

t.test('search-em and search-subem keep their published readings', async (t) => {
  t.ok(paid(searchEm, ['10-12', '1012'], 'published'))
  t.ok(paid(searchSubem, ['not Paris', 'Paris'], 'published'))
})

t.test('a sentence in words of the question commits to a target that has a comma', async (t) => {
  const read = (response: string) =>
    scored(searchSubem, {
      prompt: 'When did the first humans land on the moon?',
      response: `<answer>${response}</answer>`,
      groundTruth: { target: ['July 20, 1969'] },
      options: {},
    })?.value
  t.equal(read('The first humans landed on the moon on July 20, 1969.'), 1)
  t.equal(read('The first humans landed on the moon on July 20, 1969, or in 1970.'), 0)
})

const f1 = (
  response: string,
  groundTruth: Json,
  options: { [name: string]: Json } = {},
): number | undefined => scored(qaF1, { prompt, response, groundTruth, options })?.value

t.test('qa-f1 keeps its contract', async (t) => {
  const groundTruth = ['the Eiffel Tower', 'Tour Eiffel']
  ruleContract(t, qaF1, {
    full: { response: 'Eiffel Tower', groundTruth },
    zero: { response: 'the Louvre', groundTruth },
    malformed: { response: '<think>Eiffel Tower', groundTruth },
    hacks: Object.fromEntries(
      [
        'not the Eiffel Tower',
        'maybe the Eiffel Tower',
        'the Eiffel Tower or the Louvre',
        'the Eiffel Tower / the Louvre',
        'the Eiffel Tower?',
        'the Eiffel Tower the Louvre Notre Dame',
        'Tower Eiffel',
        'Eiffel Eiffel Tower Tower',
        '<think>the Eiffel Tower</think>the Louvre',
      ].map((response) => [response, { response, groundTruth }]),
    ),
  })
})

t.test('qa-f1: what the rules for search answers pay or refuse is paid or refused in whole', async (t) => {
  for (const [answer, target] of [...same, ...sentences]) t.equal(f1(answer, target as Json), 1, answer)
  for (const [answer, target] of [...otherNumbers, ...denials])
    if (!paid(searchSubem, [answer, target]))
      t.equal(f1(answer, target as Json), 0, `${answer} for ${target}`)
})

t.test('qa-f1: naming several answers never earns more than naming one of them', async (t) => {
  const cities = ['Paris', 'London', 'Rome', 'Berlin', 'Madrid']
  for (let count = 2; count <= cities.length; count++)
    for (const mark of [' ', ', ', '; ', '\n', ' and ', ' or '])
      t.ok((f1(cities.slice(0, count).join(mark), 'Paris') ?? 1) <= 1 / count, `${count} by '${mark}'`)
  t.strictSame(
    ['yes no', 'no, yes', 'yes, no'].map((answer) => f1(answer, 'yes')),
    [0, 0, 0],
  )
})

t.test('qa-f1: a number in words is that number, and another size is another number', async (t) => {
  t.equal(f1('seventeen', '17'), 1)
  t.equal(f1('forty-two apples', '42 apples'), 1)
  for (const other of ['5 billion', '5 thousand', 'five billion', '5'])
    t.equal(f1(other, '5 million'), 0, other)
  t.equal(f1('two billion years', 'two million years'), 0)
})

t.test('qa-f1: a date counts in any order, and no other date does', async (t) => {
  t.equal(f1('July 4, 1776', '4 July 1776'), 1)
  t.equal(f1('4 July 1777', '4 July 1776'), 0)
  t.equal(f1('July 1776', '4 July 1776'), 0)
})

t.test('qa-f1: of several spans each counts once, in any order and in any list', async (t) => {
  const spans = { spans: [['Rome', 'Roma'], 'Paris, France'] }
  for (const answer of [
    'Rome\nParis, France',
    '- Paris, France\n- Roma',
    'Roma; Paris, France',
    '["Paris, France", "Rome"]',
    '1. Rome\n2. Paris, France',
  ])
    t.equal(f1(answer, spans), 1, answer)
  t.equal(f1('Rome and Paris', { spans: ['Paris', 'Rome'] }), 1)
  t.equal(f1('Simon and Garfunkel, Abba', { spans: ['Abba', 'Simon and Garfunkel'] }), 1)
  t.equal(f1('Rome', { spans: ['Paris', 'Rome'] }), 0.5)
  t.equal(f1('Rome, Rome', { spans: ['Paris', 'Rome'] }), 0.5)
  t.equal(f1('Rome, Paris, Berlin, Oslo', { spans: ['Paris', 'Rome'] }), 0.5)
  t.equal(
    f1(Array.from({ length: 200 }, (_, at) => `city ${at}`).join('\n'), { spans: ['Paris', 'Rome'] }),
    0,
  )
})

t.test('qa-f1: rows of SQuAD, of search and of plain texts are read, others are refused', async (t) => {
  for (const truth of [
    'Paris',
    ['Lutetia', 'Paris'],
    { target: 'Paris' },
    { text: ['Paris', 'Paris'], answer_start: [3, 3] },
    { answers: { text: ['Paris'], answer_start: [3] } },
    { answers: ['the', 'Paris'] },
  ])
    t.equal(f1('Paris', truth), 1, JSON.stringify(truth))
  t.equal(f1('1999', 1999), 1)
  t.equal(f1('unanswerable', { answers: { text: [] } }, { no_answer: 'unanswerable' }), 1)
  t.equal(f1('Paris', { answers: { text: [] } }, { no_answer: 'unanswerable' }), 0)
  for (const groundTruth of [
    null,
    '',
    'the',
    [],
    { answers: { text: [] } },
    { spans: [] },
    { spans: ['a', []] },
  ])
    t.throws(() => row(qaF1, { groundTruth }), JSON.stringify(groundTruth))
  t.throws(() => row(qaF1, { groundTruth: { span: 'Paris' } }), /is no text, no list of texts/)
  t.throws(() => row(qaF1, { groundTruth: 'x'.repeat(20_001) }), /longer than 20000 characters/)
})

t.test('qa-f1: published scores keep their holes', async (t) => {
  const published = (response: string, truth: Json, grader = 'squad') =>
    f1(response, truth, { mode: 'published', grader })
  t.equal(published('-5', '5'), 1)
  t.equal(published('Tower Eiffel', 'Eiffel Tower'), 1)
  t.equal(published('Paris London', 'Paris'), 2 / 3)
  t.equal(published('<finish>London</finish>', 'Paris', 're_search_f1'), 0.1)
  t.equal(published('yes sir', 'yes', 'slime'), 0)
  t.equal(f1('the Paris', ['Paris', 'Rome'], { score: 'exact' }), 1)
})

t.test('qa-f1 costs near-linear time', async (t) => {
  const long = Array.from({ length: 2000 }, (_, at) => `word${at}`).join(' ')
  for (const groundTruth of [long, { spans: Array.from({ length: 32 }, (_, at) => [`span ${at}`]) }])
    nearLinear(t, (response) => f1(response, groundTruth))
  nearLinear(t, (response) => f1(`<finish>${response}`, 'Paris', { mode: 'published', grader: 're_search' }))
})

t.test('an assignment has the largest sum', async (t) => {
  const draw = seeded(7)
  for (let round = 0; round < 200; round++) {
    const [rows, columns] = [1 + Math.floor(draw() * 5), 1 + Math.floor(draw() * 5)]
    const gains = Array.from({ length: rows }, () =>
      Array.from({ length: columns }, () => Math.round(draw() * 9)),
    )
    const most = (row: number, used: ReadonlySet<number>): number =>
      row === rows
        ? 0
        : Math.max(
            most(row + 1, used),
            ...(gains[row] ?? []).map((gain, at) =>
              used.has(at) ? 0 : gain + most(row + 1, new Set([...used, at])),
            ),
          )
    const pairs = bestAssignment(gains)
    const sum = pairs.reduce((total, [row, column]) => total + (gains[row]?.[column] ?? Number.NaN), 0)
    t.equal(sum, most(0, new Set()), JSON.stringify(gains))
    t.equal(new Set(pairs.map(([, column]) => column)).size, pairs.length)
  }
})

const documents = { wanted: [1, 3], allowed: [1, 2, 3] }
const citing = (response: string, groundTruth: Json = documents, options: { [name: string]: Json } = {}) =>
  scored(citations, { response, groundTruth, options })?.value

t.test('citations keeps its contract', async (t) => {
  ruleContract(t, citations, {
    full: { response: 'The sky is blue [1]. The sea is wide [3].', groundTruth: documents },
    zero: { response: 'The sky is blue.', groundTruth: documents },
    malformed: { response: '<think>The sky is blue [1][3].', groundTruth: documents },
    hacks: Object.fromEntries(
      [
        '[1] [3]',
        '[1][2][3]',
        Array.from({ length: 40 }, (_, at) => `[${at}]`).join(' '),
        `The sky is blue ${Array.from({ length: 40 }, (_, at) => `[${at}](http://a.b/c/${at})`).join('')}.`,
        'The sky is blue [1-40].',
        'a [1] b [2] c [3] d [4]',
        'See this source [1]. See this source [2]. See this source [3]. See this source [4].',
        'References:\n[1] A book of skies\n[3] A book of seas',
        'The sky is blue [1][3][4]. The sea is wide [5][6].',
        '<think>The sky is blue [1][3].</think>The sky is blue.',
        '```\nthe sky is blue [1][3]\n```',
        'The sky is blue `[1][3]`.',
      ].map((response) => [response, { response, groundTruth: documents }]),
    ),
  })
})

t.test('citations: spam of marks pays nothing, however many of them are right', async (t) => {
  const all = { wanted: Array.from({ length: 40 }, (_, at) => at + 1) }
  t.equal(citing(`All of it is so ${all.wanted.map((id) => `[${id}]`).join('')}.`, all), 0)
  t.equal(citing(`All of it is so [1-40].`, all), 0)
  t.equal(citing(`All of it is so ${all.wanted.map((id) => `[${id}]`).join(' and ')}.`, all), 0)
  t.equal(citing(`All of it is so [1][2][3][4].`, { wanted: [1, 2, 3, 4] }, { most_together: 4 }), 1)
})

t.test('citations: marks are read in their usual forms', async (t) => {
  for (const response of [
    'The sky is blue [1][3].',
    'The sky is blue [1, 3].',
    'The sky is blue [1] and [3].',
    'The sky is blue [1-3].',
    'The sky is blue 【1】【3】。',
    'The sky is blue [^1][^3].',
    '天空是蓝色的[1]，大海很宽[３]。',
    'The sky is [sic] blue [1](http://a.b/c) and the sea is wide [03].\n\n[1] A book',
  ])
    t.equal(citing(response), 1, response)
  t.equal(citing('A fact of note [doc-a].', ['doc-a', 'doc-b']), 2 / 3)
  t.equal(citing('The sky is blue [9] and wide as ever [1].', documents, { score: 'precision' }), 0.5)
  t.equal(citing('The sky is blue [9] and wide as ever [1].', documents, { score: 'recall' }), 0.5)
  t.equal(citing('The sky is blue.', []), 1)
  t.equal(citing('The sky is blue [1].', []), 0)
  for (const groundTruth of [null, 'doc', { allowed: [1] }, { wanted: [4], allowed: [1] }, [1.5], ['']])
    t.throws(() => row(citations, { groundTruth }), JSON.stringify(groundTruth))
})

t.test('citations cost linear time', async (t) => {
  nearLinear(t, (response) => citing(response))
  nearLinear(t, (response) => citing(`${response.slice(0, 200_000).replaceAll('1', '[1]')}[1]`))
  const marks = 'a b c [1-90]'.repeat(30_000)
  const started = process.cpuUsage()
  citing(marks)
  t.ok(process.cpuUsage(started).user < 3_000_000)
})
