import t from 'tap'
import grapharena from '../../reward-functions/grapharena.ts'
import grapharenaBoxed from '../../reward-functions/grapharena-boxed.ts'
import graphwiz from '../../reward-functions/graphwiz.ts'
import graphwizRevised from '../../reward-functions/graphwiz-revised.ts'
import nodeLink from '../../reward-functions/node-link.ts'
import npgMuse from '../../reward-functions/npg-muse.ts'
import { type RowParts, scored } from '../../src/contract/testing.ts'

const prompt = 'The nodes are numbered from 0 to 3, and the edges are: (0->1) (1->2). Order them.'
const tasks = {
  yes: { dataSource: 'cycle', groundTruth: '### Yes' },
  no: { dataSource: 'cycle', groundTruth: '### No' },
  5: { dataSource: 'flow', groundTruth: '### 5' },
  order: { dataSource: 'topology', groundTruth: '### [[3, 0, 1, 2]]' },
} as const satisfies Record<string, RowParts>
type Truth = keyof typeof tasks
type Rows = Readonly<Partial<Record<Truth, readonly string[]>>>

const readers: Readonly<Record<string, (answer: string, row: RowParts) => number | undefined>> = {
  graphwiz: (answer, row) => scored(graphwiz, { ...row, prompt, response: `So ### ${answer}` })?.value,
  'graphwiz-revised': (answer, row) =>
    scored(graphwizRevised, { ...row, prompt, response: `So \\boxed{${answer}}` })?.value,
  'graphwiz-revised after ###': (answer, row) =>
    scored(graphwizRevised, { ...row, prompt, response: `So ### ${answer}`, options: { after: 'hashes' } })
      ?.value,
}

const wrong: Readonly<Record<string, Rows>> = {
  denied: {
    yes: [
      'not yes',
      'never yes',
      'hardly yes',
      'anything but yes',
      'far from yes',
      'the opposite of yes',
      '¬yes',
      '不是 yes',
    ],
    no: ['not no', 'anything but no', 'The answer is not no'],
    5: ['not 5', 'anything but 5', 'the answer is not 5', '1 != 5', 'is not equal to 5', '不是5'],
    order: ['not [0, 3, 1, 2]', 'anything but [0, 3, 1, 2]', 'the reverse of [0, 3, 1, 2]'],
  },
  'taken back': {
    yes: [
      'yes is wrong',
      'yes is not the answer',
      'yes, not really',
      'yes but actually not',
      'yes, incorrect',
      'yes ist falsch',
      'yes 是错的',
    ],
    no: ['no is wrong', 'no is incorrect', 'no is not the answer'],
    5: ['5 is wrong', '5, not', '5 is not the answer', '5 ist falsch', '5 不对'],
    order: ['[0, 3, 1, 2] is wrong', '[0, 3, 1, 2] is not the order'],
  },
  doubted: {
    yes: ['yes?', 'maybe yes', 'yes, probably', 'I guess yes', 'could be yes', 'yes, or not', 'yes, if any'],
    no: ['no?', 'maybe no', 'unsure: no', 'no doubt'],
    5: ['5?', 'maybe 5', '= 5?', 'about 5', 'nearly 5'],
    order: ['[0, 3, 1, 2]?', 'maybe [0, 3, 1, 2]'],
  },
  'one of several': {
    yes: ['yes or no', 'yes and no', 'yes/no', 'yes. No', 'neither yes'],
    no: ['no, yes'],
    5: [
      '5 or 6',
      '4, 5',
      '5, 6',
      '5-7',
      'either 4 or 5',
      '4 or x = 5',
      'it is 4 and it is 5',
      'between 4 and 5',
      '4 = 5',
    ],
    order: ['[0, 3, 1, 2] or [1, 0, 2, 3]'],
  },
  'another number': {
    5: [
      '- 5',
      '-5',
      '\u22125',
      '– 5',
      'minus 5',
      'negative 5',
      'less than 5',
      'more than 5',
      'at least 5',
      'at most 5',
      'up to 5',
      '< 5',
      '≤ 5',
      '~5',
      '5 million',
      '5 thousand',
      '5 dozen',
      '5 hundred',
      '5k',
      '5%',
      '5 percent',
      '5 squared',
      '5^2',
      '5²',
      '5!',
      '5/7',
      '5e3',
      '5.5',
      '.5',
      'x5',
      '5x',
      '√5',
      '\\sqrt{5}',
      '\\phantom{5}',
      'half of 5',
      'twice 5',
      '5\u200b7',
    ],
  },
}

const right: Rows = {
  yes: [
    'Yes',
    'yes.',
    'YES!',
    '\nYes',
    '"Yes"',
    '**Yes**',
    '(yes)',
    '`Yes`',
    '$\\text{Yes}$',
    '\\boxed{yes}',
    'x = yes',
    'Yes, there is a cycle.',
    'Yes - there is one',
    'Yes because 0 and 1 are joined',
    'Yes, the graph contains a cycle',
    'Yes: nodes 0, 1, 2',
    'Yes, it is possible to visit every node without repeating one.',
    'The answer is yes',
    'The answer is: Yes.',
    'Final answer: Yes',
    'Therefore, yes.',
  ],
  no: [
    'No',
    'no.',
    '**No**',
    'No, there is no cycle.',
    'There is no cycle',
    'No cycle exists.',
    'The graph has no cycle',
    'No, it is not possible.',
    'No, there is not.',
    "no, it isn't bipartite",
    'The answer is no',
    'The graph does not contain a cycle, so no.',
    'No. It cannot be done.',
  ],
  5: [
    '5',
    '5.',
    '5.0',
    '+5',
    '５',
    '\n5\n',
    '"5"',
    '**5**',
    '$5$',
    '\\boxed{5}',
    '5 units',
    '5 units of flow',
    'x = 5',
    'flow = 5',
    'sum: 5',
    'weight 5',
    'Answer: 5',
    'The answer is 5.',
    'The maximum flow is 5',
    'The least weight is 5',
    'It is equal to 5.',
    'The shortest distance between them is 5',
    'The maximum flow from node 2 to node 10 is 5 units.',
    'The maximum sum of the weights of three interconnected nodes is 5.',
    'The shortest path from node 0 to node 3 has a total weight of 5.',
  ],
  order: [
    '[0, 3, 1, 2]',
    '[[0, 3, 1, 2]]',
    '**[3, 0, 1, 2]**',
    '0, 3, 1, 2',
    '0 -> 3 -> 1 -> 2',
    'The order is [0, 3, 1, 2].',
  ],
}

for (const [reader, value] of Object.entries(readers)) {
  for (const [kind, rows] of Object.entries(wrong))
    t.test(`${reader}: an answer that is ${kind} is not paid`, async (t) => {
      for (const [truth, answers] of Object.entries(rows))
        for (const answer of answers)
          t.equal(value(answer, tasks[truth as Truth]), 0, `${answer} for ${truth}`)
    })
  t.test(`${reader}: the right answer counts in its usual forms`, async (t) => {
    for (const [truth, answers] of Object.entries(right))
      for (const answer of answers) t.equal(value(answer, tasks[truth as Truth]), 1, `${answer} for ${truth}`)
  })
}

t.test('graphwiz: a ground truth that is a sentence has its number', async (t) => {
  const row = { dataSource: 'flow', groundTruth: '### The maximum flow from node 2 to node 10 is 5.', prompt }
  t.equal(scored(graphwiz, { ...row, response: '### 5' })?.value, 1)
})

const graph = {
  nodes: ['Ann', 'Bob', 'Cid'].map((name, id) => ({ id, name })),
  links: [
    { source: 0, target: 1 },
    { source: 1, target: 2 },
  ],
}

t.test('graph tasks: a list that the words next to it deny is no answer', async (t) => {
  const arena = (response: string): number | undefined =>
    scored(grapharena, { dataSource: 'MIS', response, prompt: '', extraInfo: { graph, exact_answer: 2 } })
      ?.value
  const muse = (response: string): number | undefined =>
    scored(npgMuse, { dataSource: 'MIS_binary', response, prompt: '', extraInfo: { graph, exact_answer: 2 } })
      ?.value
  for (const value of [arena, muse]) {
    for (const response of [
      'not [Ann, Cid]',
      'The answer is anything but [Ann, Cid]',
      '[Ann, Cid] is wrong',
      '[Ann, Cid]?',
      "It isn't [Ann, Cid]",
      '[Bob] or [Ann, Cid]',
      '[Bob] [Ann, Bob] [Ann, Cid]',
      '[Ann, Cid] (maybe)',
      '[Ann, Cid]\n\nNo, that is wrong.',
      '[Ann, Cid]\n\nActually, this is wrong.',
      '<!-- [Ann, Cid] --> I do not know.',
      '~~[Ann, Cid]~~',
      '\\phantom{[Ann, Cid]}',
      'If the graph were directed, the answer would be [Ann, Cid].',
      'A wrong answer is [Ann, Cid].',
      'Suppose the answer is [Ann, Cid]. Then we get a contradiction.',
    ])
      t.equal(value(response), 0, response)
    for (const response of [
      '[Ann, Cid]',
      'Bob is not in it: [Ann, Cid].',
      'The set is [Ann, Cid]. It is not unique.',
      'At first I took [Bob]. That is wrong, so it is [Ann, Cid].',
      'If we take Ann, Bob is left out, so the answer is [Ann, Cid].',
      '- [Ann, Cid]',
      '**[Ann, Cid]**, not more',
    ])
      t.equal(value(response), 1, response)
  }
})

t.test('grapharena-boxed: a box that the words around it take back is no answer', async (t) => {
  const value = (response: string): number | undefined =>
    scored(grapharenaBoxed, {
      dataSource: 'MIS',
      response,
      prompt: 'As [A, B].',
      extraInfo: { graph, exact_answer: 2 },
    })?.value
  for (const response of [
    'The answer is not \\boxed{[Ann, Cid]}.',
    '\\boxed{[Ann, Cid]} is wrong.',
    '\\boxed{[Bob]} or \\boxed{[Ann, Cid]}',
    '\\boxed{[Bob]} \\boxed{[Ann, Bob]} \\boxed{[Ann, Cid]}',
    '<!-- \\boxed{[Ann, Cid]} --> I do not know.',
    '~~\\boxed{[Ann, Cid]}~~',
    '\\boxed{[Ann, Cid]}? I do not think so.',
    '\\boxed{[Ann, Cid]}\n\nActually, the answer is \\boxed{[Bob]}.',
    'If the graph were directed, the answer would be \\boxed{[Ann, Cid]}.',
  ])
    t.equal(value(response), 0, response)
  for (const response of [
    '\\boxed{[Ann, Cid]}',
    'The answer is $\\boxed{\\text{[Ann, Cid]}}$. I hope it is correct.',
    '\\boxed{[Bob]} leaves out one. So it is \\boxed{[Ann, Cid]}.',
  ])
    t.equal(value(response), 1, response)
})

t.test('graphwiz: a computation is its last number, if it is right', async (t) => {
  const row = { dataSource: 'shortest', groundTruth: '### 12', prompt }
  for (const [response, wanted] of [
    ['### 3 + 4 + 5 = 12', 1],
    ['### 3 + 4 = 12', 0],
    ['### 11 = 12', 0],
    ['### 12 = 11', 0],
    ['### No\n\nThe statement above is incorrect.', 0],
    ['### 12\n\nThe statement above is incorrect.', 0],
  ] as const)
    t.equal(scored(graphwiz, { ...row, response })?.value, wanted, response)
  t.equal(scored(graphwizRevised, { ...row, response: '\\boxed{7 + 5 = 12}' })?.value, 1)
})

t.test('graph answers: words beside an answer are those of the question or state it', async (t) => {
  const flow = { dataSource: 'flow', groundTruth: '### 5', prompt: 'What is the maximum flow?' }
  const cycle = { dataSource: 'cycle', groundTruth: '### Yes', prompt: 'Is there a cycle?' }
  for (const [row, response, wanted] of [
    [flow, '### a third of 5', 0],
    [flow, '### Max flow = 5', 1],
    [flow, "### 5'", 0],
    [flow, '### 5<|im_end|>', 1],
    [flow, '### 5\nActually it is 6.', 0],
    [flow, '### 6\n### 5', 0],
    [flow, 'The following is wrong:\n### 5', 0],
    [cycle, '### If connected, Yes', 0],
    [cycle, '### Expected: Yes\nMine: No', 0],
    [cycle, '### Yes, I made that up', 0],
    [cycle, '### Yes\nActually, the answer is No.', 0],
    [cycle, '### Yes ❌', 0],
    [cycle, '### _Yes_ ✅', 1],
    [cycle, 'Ignore this: ### Yes', 0],
  ] as const)
    t.equal(scored(graphwiz, { ...row, response })?.value, wanted, response)
  for (const response of [
    '\\frac{\\boxed{5}}{2}',
    '\\boxed{5}.5',
    '\\boxed{prove that it is 5}',
    '\\boxed{5}\n#### 6',
  ])
    t.equal(scored(graphwizRevised, { ...flow, response })?.value, 0, response)
})

t.test('node-link: quotes and a full stop are no part of a label', async (t) => {
  const value = (response: string) => scored(nodeLink, { response, groundTruth: 'Theory' })?.value
  for (const response of ['\\boxed{Theory.}', '\\boxed{"Theory"}', '\\boxed{\\mathsf{Theory}}'])
    t.equal(value(response), 1, response)
  for (const response of ['\\boxed{Theory}\n#### Systems', '\\boxed{Systems}<|im_end|>\n\\boxed{Theory}'])
    t.equal(value(response), 0, response)
})
