/** The shipped rules with example rows whose response is a right answer: the subject of the audit's table. */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Json } from '../../../src/core/sample/sample.ts'

/** A row as a file for the audit has it. */
export type ExampleRow = Readonly<Record<string, Json>>

/** A reward of one shipped function. */
export interface ShippedReward {
  readonly name: string
  readonly function: string
  readonly options?: { readonly [name: string]: Json }
  readonly rows: readonly ExampleRow[]
  /** Families and attacks that the function's contract allows, and why. */
  readonly accept?: Readonly<Record<string, string>>
}

const fixture = (name: string): readonly ExampleRow[] =>
  readFileSync(join('test/fixtures/audit', `${name}.jsonl`), 'utf8')
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line))

/** Questions with numbers of every kind. */
const numbers: readonly (readonly [prompt: string, work: string, truth: string])[] = [
  [
    'Ann has 6 bags of 7 apples. How many apples has Ann?',
    'Each of the 6 bags holds 7, and 6 * 7 is 42.',
    '42',
  ],
  [
    'A crate holds 6 jars. How many jars are in three crates?',
    'Three crates of six jars make 18 jars.',
    '18',
  ],
  [
    'A coat costs $5000 and is sold for 84 percent of it. How many dollars does it cost now?',
    '84 percent of 5000.',
    '4200',
  ],
  ['It was 8 degrees and fell by 50. What is the temperature now?', 'I take 50 from 8.', '-42'],
  [
    'A rope of 2 metres is cut into four equal parts. How long is a part, in metres?',
    '2 divided by 4.',
    '0.5',
  ],
  ['How many people are in a town of 1203000 after 2000 left?', '1203000 minus 2000.', '1201000'],
]

const answered = (form: (work: string, truth: string) => string): readonly ExampleRow[] =>
  numbers.map(([prompt, work, truth]) => ({
    prompt,
    response: form(work, truth),
    ground_truth: truth,
    data_source: 'gsm8k',
  }))

const thought = (work: string): string => `<think>\n${work}\n</think>\n\n`

const formulas: readonly (readonly [prompt: string, truth: string, near: string])[] = [
  ['What is one half plus a quarter?', '\\frac{3}{4}', '\\frac{3}{5}'],
  ['Simplify the square root of 12.', '2\\sqrt{3}', '3\\sqrt{2}'],
  ['Which interval is it?', '[1,2)', '[1,2]'],
  ['What is 6 times 7?', '42', '43'],
  ['What is 8 minus 50?', '-42', '42'],
  ['Expand (x+1)^2.', 'x^2+2x+1', 'x^2+x+1'],
]

const boxedFormulas = (prefix: string): readonly ExampleRow[] =>
  formulas.map(([prompt, truth, near]) => ({
    prompt,
    response: `${prefix}So it is $\\boxed{${truth}}$.`,
    ground_truth: truth,
    near_miss: [`${prefix}So it is $\\boxed{${near}}$.`],
  }))

const equations: readonly ExampleRow[] = [
  {
    prompt: 'Solve x + 2 = 5 for x.',
    response: 'I take 2 from both sides. \\boxed{x=3}',
    ground_truth: 'x=3',
  },
  { prompt: 'Solve 2x - 3 = 11.', response: 'Then 2x = 14. \\boxed{x=7}', ground_truth: 'x=7' },
  {
    prompt: 'For which x is x - 3 < 0?',
    response: 'I add 3. \\boxed{x<3}',
    ground_truth: 'x<3',
    near_miss: ['I add 3. \\boxed{x>3}'],
  },
  {
    prompt: 'List the divisors of 6.',
    response: 'They are \\boxed{\\{1,2,3,6\\}}',
    ground_truth: '\\{1,2,3,6\\}',
    near_miss: ['They are \\boxed{\\{1,2,3\\}}'],
  },
]

const choices: readonly ExampleRow[] = [
  ...fixture('choices'),
  {
    prompt: 'What is 2 + 3?\n(A) 4\n(B) 5\n(C) 6\n(D) 7',
    response: 'Two and three are five.\n\\boxed{B}',
    ground_truth: 'B',
  },
  {
    prompt: 'Which word is a verb?\nA) stone\nB) green\nC) under\nD) run',
    response: 'I go through them.\nAnswer: D',
    ground_truth: 'D',
  },
]

const graph = {
  nodes: ['Ann', 'Bob', 'Cid', 'Dee'].map((name, id) => ({ id, name })),
  links: [
    [0, 1],
    [1, 2],
    [2, 3],
    [3, 0],
    [0, 2],
  ].map(([source = 0, target = 0]) => ({ source, target, weight: 10 })),
}

const arena = (write: (list: string) => string): readonly ExampleRow[] =>
  (
    [
      ['Distance', '[Bob, Ann, Dee]', '[Bob, Dee]', 2],
      ['MCP', '[Ann, Bob, Cid]', '[Ann, Bob, Dee]', 3],
      ['MIS', '[Bob, Dee]', '[Ann, Bob]', 2],
    ] as const
  ).map(([task, list, near, exact]) => ({
    prompt: `Solve ${task} and answer as [A, B].`,
    data_source: task,
    response: write(list),
    near_miss: [write(near)],
    extra_info: { graph, ends: [1, 3], exact_answer: exact },
  }))

const wiz = (write: (answer: string) => string): readonly ExampleRow[] => [
  {
    prompt: 'Is there a cycle?',
    data_source: 'cycle',
    response: write('Yes'),
    ground_truth: '### Yes',
    near_miss: [write('No')],
  },
  {
    prompt: 'What is the maximum flow?',
    data_source: 'flow',
    response: write('5'),
    ground_truth: '### 5',
    near_miss: [write('6')],
  },
]

const grid = {
  header: ['House', 'Name', 'Drink'],
  rows: [
    ['1', 'Ann', 'tea'],
    ['2', 'Bob', 'milk'],
  ],
}
const cells = (first: string, second: string): string =>
  JSON.stringify({
    reasoning: 'in the order of the clues',
    solution: { 'House 1': { Name: first, Drink: 'tea' }, 'House 2': { Name: second, Drink: 'milk' } },
  })
const zebra: readonly ExampleRow[] = [
  {
    prompt: 'Who lives where?',
    response: cells('Ann', 'Bob'),
    ground_truth: grid,
    near_miss: [cells('Bob', 'Ann')],
  },
]

const english =
  'First I look at what is given. Each bag holds seven apples, and there are six bags, so I multiply the two numbers and get forty-two apples in all.'
const sentence = 'Six crates of seven jars make forty-two jars in all.'
const schema = {
  type: 'object',
  properties: { price: { type: 'number', multipleOf: 0.01 }, name: { type: 'string', minLength: 3 } },
  required: ['price', 'name'],
  additionalProperties: false,
}

const box = (work: string, truth: string): string => `${work}\nSo it is \\boxed{${truth}}.`
const mark = (work: string, truth: string): string => `${work}\n#### ${truth}`
const label = (work: string, truth: string): string => `${work}\nAnswer: ${truth}`

/** Why a contract that compares whole texts refuses other notations. */
const exactText = {
  'bold and other marks': 'the contract compares texts',
  'blanks and stops': 'the contract compares texts',
  'notation of numbers': 'the contract compares texts',
  'stated twice': 'the contract takes the last text',
  'reasoning before the answer': 'the contract compares the whole response',
  'a long chain before the answer': 'the contract compares the whole response',
}

/** What changes no word that a similarity of words compares. */
const similarFamilies = [
  'denial',
  'doubt',
  'decoration',
  'other script',
  'denial in another spelling',
  'what precedes the value',
  'remark in the place',
  'restated question',
  'several answers',
  'what follows the value',
  'words around a text',
  'two at a time',
  'reasoning before the answer',
  'a long chain before the answer',
  'stated twice',
]

/** Why a reward of one property pays answers that ignore the task. */
const oneProperty = {
  vacuous: 'the contract is about one property of the text only',
  echo: 'the contract is about one property of the text only',
}

/** Ground truths of numbers carry no unit, so an answer's unit is not compared. */
const unitless = {
  'another unit': 'a number is compared without its unit',
  'what follows the value/{T}h': 'a number is compared without its unit',
  'remark in the place/{T} less': 'it may be the difference that was asked for',
}

const one = (
  name: string,
  rows: readonly ExampleRow[],
  more: Partial<ShippedReward> = {},
): ShippedReward => ({
  name,
  function: name,
  rows,
  ...more,
})

/** Every shipped rule in its strict mode, some with more than one form. */
export const shippedRewards: readonly ShippedReward[] = [
  one('gsm8k', answered(mark), { accept: unitless }),
  one('gsm8k-progressive', answered(mark), { accept: unitless }),
  one(
    'gsm8k-progressive (flexible)',
    answered((work, truth) => `${work}\nThe answer is ${truth}.`),
    {
      function: 'gsm8k-progressive',
      options: { variant: 'flexible' },
      accept: unitless,
    },
  ),
  one('gsm8k-stock', answered(mark), { accept: unitless }),
  one(
    'gsm8k-stock (flexible)',
    answered((work, truth) => `${work}\nThe answer is ${truth}.`),
    {
      function: 'gsm8k-stock',
      options: { method: 'flexible' },
      accept: unitless,
    },
  ),
  one('gsm8k-boxed', answered(box), { accept: unitless }),
  one('numeric-match', answered(box), { accept: unitless }),
  one(
    'numeric-match (answer tag)',
    answered((work, truth) => `${thought(work)}<answer>${truth}</answer>`),
    {
      function: 'numeric-match',
      accept: unitless,
    },
  ),
  one('choice-match', choices),
  one(
    'exact-match',
    fixture('search')
      .slice(0, 1)
      .map((row) => ({ ...row, ground_truth: 'Paris' })),
    {
      options: { place: 'tag', ignore: ['case', 'punctuation', 'space'] },
    },
  ),
  one('regex-match', [{ prompt: 'Which code is it?', response: 'AB-1234', near_miss: ['ab-1234'] }], {
    options: { pattern: '[A-Z]{2}-[0-9]{4}' },
  }),
  one('math-verify', [...answered(box), ...boxedFormulas(''), ...equations]),
  one(
    'math-benchmark',
    [...answered(box), ...boxedFormulas('')].map(({ data_source: _, ...row }) => row),
    {
      options: { benchmark: 'math500' },
    },
  ),
  one('math-boxed', [...answered(box), ...boxedFormulas('')]),
  one('math-dapo', [
    ...answered(label),
    ...formulas.map(([prompt, truth, near]) => ({
      prompt,
      response: `I work it out.\nAnswer: $${truth}$`,
      ground_truth: truth,
      near_miss: [`I work it out.\nAnswer: $${near}$`],
    })),
  ]),
  one('prime-math', [...answered(box), ...boxedFormulas('')]),
  one('geo3k', [
    ...answered((work, truth) => thought(work) + box('', truth)),
    ...boxedFormulas(thought('I look at the figure.')),
  ]),
  one('npg-muse-math', [
    ...answered((work, truth) => thought(work) + box('', truth)),
    ...boxedFormulas(thought('I see.')),
  ]),
  one('search-em', fixture('search')),
  one('search-subem', fixture('search')),
  one(
    'qa-f1',
    fixture('search').map(({ near_miss: _, ...row }) => row),
    { options: { place: 'tag' } },
  ),
  one(
    'label-f1',
    [
      {
        prompt: 'Which labels fit the message?',
        response: 'fraud, spam',
        ground_truth: ['fraud', 'spam'],
        near_miss: ['abuse'],
      },
    ],
    { options: { classes: { fraud: 3, spam: 1, abuse: 2 } } },
  ),
  one('history-repeat', [
    {
      prompt: [
        { role: 'user', content: 'Where is my parcel?' },
        { role: 'assistant', content: 'Please wait a moment.' },
        { role: 'user', content: 'And?' },
      ],
      response: 'It comes tomorrow at nine.',
    },
  ]),
  one('citations', [
    {
      prompt: 'What colour is the sky? Cite the documents.',
      response: 'The sky is blue by day [1] and black by night [3].',
      ground_truth: { wanted: [1, 3], allowed: [1, 2, 3] },
      near_miss: ['The sky is blue by day [4] and black by night [5].', 'The sky is blue.'],
    },
  ]),
  one('instruction-following', [
    {
      prompt: 'Name the river in two bullet points, without commas.',
      response: '* The Rhine is long.\n* It is wide.',
      ground_truth: {
        instruction_id_list: [
          'keywords:existence',
          'detectable_format:number_bullet_lists',
          'punctuation:no_comma',
        ],
        kwargs: [{ keywords: ['Rhine'] }, { num_bullets: 2 }, {}],
      },
      near_miss: ['* The Rhine is long.\n* It is wide, too.'],
    },
  ]),
  one(
    'graphwiz',
    wiz((answer) => `I look at the links.\n### ${answer}`),
  ),
  one(
    'graphwiz-revised',
    wiz((answer) => `I look at the links. So \\boxed{${answer}}`),
  ),
  one(
    'grapharena',
    arena((list) => `${thought('I go through them.')}${list}`),
  ),
  one(
    'grapharena-boxed',
    arena((list) => `${thought('I go through them.')}\\boxed{${list}}`),
  ),
  one('node-link', [
    {
      prompt: 'Which class?',
      response: 'By its neighbours it is \\boxed{theory}',
      ground_truth: 'theory',
      near_miss: ['By its neighbours it is \\boxed{systems}'],
    },
  ]),
  one(
    'clrs',
    [
      {
        prompt: 'Sort.',
        response: 'trace: 3 1 2 | 1 3 2 | 1 2 3',
        ground_truth: '1 2 3',
        near_miss: ['trace: 3 1 2 | 1 3 2'],
      },
    ],
    { accept: exactText },
  ),
  one('npg-muse', fixture('graphs')),
  one('countdown', fixture('countdown')),
  one('zebralogic', zebra, {
    accept: {
      'JSON value/a list in place of a text': 'the contract reads `solution` only',
      'JSON value/a list of one value in place of it': 'the object is found within other text',
      'JSON surroundings/text before a turn mark of its own': 'the object is found within other text',
      'JSON surroundings/two objects, the wrong one last': 'an object without a solution is none',
    },
  }),
  one('tool-call', fixture('tool-calls')),
  one('rider-rule', fixture('rider')),
  one(
    'json-schema',
    [
      {
        prompt: 'Offer one.',
        response: '{"price": 19.99, "name": "lamp"}',
        near_miss: ['{"price": 19.999, "name": "lamp"}'],
      },
    ],
    {
      options: { schema },
    },
  ),
  one('format-tags', [
    {
      prompt: 'q',
      response: '<think>I add them.</think><answer>It is 42.</answer>',
      near_miss: ['<think>I add them.</think>'],
    },
  ]),
  one(
    'language-consistency',
    [
      { prompt: 'How many apples does Ann have in her six bags?', response: english },
      {
        prompt: '安有六袋苹果，每袋七个，一共有多少个苹果？',
        response: '首先看题目给出的条件，每袋有七个苹果，一共有六袋，所以把两个数相乘，得到四十二个苹果。',
      },
    ],
    {
      accept: oneProperty,
    },
  ),
  one('repetition-penalty', [{ prompt: 'q', response: english }], { accept: oneProperty }),
  one('overlong-penalty', [{ prompt: 'q', response: english }], {
    options: { max_length: 4000, buffer: 1000, unit: 'characters' },
  }),
  one(
    'text-similarity',
    [{ prompt: 'q', response: sentence, ground_truth: sentence, near_miss: ['No idea.'] }],
    {
      accept: Object.fromEntries(
        [...similarFamilies].map((family) => [family, 'the contract is similarity of words, not meaning']),
      ),
    },
  ),
  one('openai-string-check', [{ prompt: 'q', response: '42', ground_truth: '42', near_miss: ['43'] }], {
    accept: exactText,
  }),
  one(
    'openai-text-similarity',
    [{ prompt: 'q', response: sentence, extra_info: { reference: sentence }, near_miss: ['No idea.'] }],
    { options: { reference: '{{item.reference}}', metric: 'rouge_l' } },
  ),
]
