import { join } from 'node:path'
import t from 'tap'
import type { BoundFunction } from '../../src/functions/function-host.ts'
import type { Json } from '../../src/sample/json.ts'
import { failureOf, numberOf, openWith, score } from '../support/function-calls.ts'
import { withoutPython } from '../support/python.ts'
import { seeded } from '../support/seeded.ts'

/** Published files as their authors write them -> our function of the same behaviour. */
const pairs: readonly [
  file: string,
  options: Json,
  name: string,
  ours: Json,
  right: string,
  pieces: readonly string[],
  truths: readonly Json[],
][] = [
  [
    'gsm8k_progressive',
    {},
    'gsm8k-progressive',
    { mode: 'reference' },
    'so #### 18',
    ['#### ', '####', '18', '1,8', '.0', '.', ',', '-', ' so ', '\n', '١٨', '$'],
    ['18', '-18', '1'],
  ],
  [
    'gsm8k_progressive',
    { function: 'compute_score_flexible' },
    'gsm8k-progressive',
    { mode: 'reference', variant: 'flexible' },
    '18',
    ['18', '1,8', '.0', '.', ',', '-', ' so ', '٣'],
    ['18', '-18', '3'],
  ],
  [
    'gsm8k_boxed',
    {},
    'gsm8k-boxed',
    { mode: 'reference' },
    'so \\boxed{18}',
    ['#### ', '\\boxed{', '}', '18', '.5', ' the Answer is ', '**', 'total:', ' ', '-'],
    ['18', '18.5', '-18'],
  ],
  [
    'countdown_study',
    {},
    'countdown',
    { mode: 'reference' },
    '<answer>3 * 5 - 5</answer>',
    [
      '<think>',
      '</think>',
      '<answer>',
      '</answer>',
      '3',
      '8',
      '5',
      '*',
      '/',
      '(',
      ')',
      '+',
      '-',
      ' ',
      '[',
      ']',
      '.',
    ],
    [
      { target: 10, numbers: [3, 8, 5] },
      { target: 11, numbers: [3, 8] },
      { target: 0, numbers: [] },
      { numbers: [3] },
    ],
  ],
  [
    'tool_call',
    { function: 'general' },
    'tool-call',
    { mode: 'reference', variant: 'general' },
    '</think>\n\n<tool_call>{"name": "a"}</tool_call>',
    [
      '<tool_call>',
      '</tool_call>',
      '{"name": "a"}',
      '{"name": "b", "arguments": {"x": [1, 2]}}',
      '[1, true]',
      'NaN',
      ' ',
      '</think>\n\n',
    ],
    ['<tool_call>{"name": "a"}</tool_call>', '<tool_call>[1]</tool_call>', '<tool_call>NaN</tool_call>'],
  ],
  [
    'tool_call',
    { function: 'grpo' },
    'tool-call',
    { mode: 'reference', variant: 'grpo' },
    '<tool_call>{"name": "a"}</tool_call>',
    ['<tool_call>', '</tool_call>', '{"name": "a"}', ' '],
    ['<tool_call>{"name": "a"}</tool_call>'],
  ],
  [
    'tool_call',
    { function: 'egpo' },
    'tool-call',
    { mode: 'reference', variant: 'egpo' },
    '</think>\n\n<tool_call>{"name": "a"}</tool_call>',
    [
      '</think>\n\n<tool_call>',
      '<tool_call>{"name": "a"}</tool_call>',
      '</think>',
      '\n\n',
      '{"name": "a"}',
      '</tool_call>',
      ' ',
    ],
    ['<tool_call>{"name": "a"}</tool_call>'],
  ],
]

t.test(
  'published reward files score as our functions do in reference mode',
  { skip: withoutPython },
  async (t) => {
    const seed = Number(process.env.SEED ?? Date.now() % 1e9)
    t.comment(`SEED=${seed}`)
    const random = seeded(seed)
    const pick = <T>(items: readonly T[]): T => items[Math.floor(random() * items.length)] as T
    const host = await openWith([join('test/fixtures/python')], {
      sampleTimeoutMs: 20_000,
    })
    t.teardown(() => host.close())
    for (const [file, options, name, ourOptions, right, pieces, truths] of pairs) {
      const theirs = await host.bind(file, options)
      const ours = await host.bind(name, ourOptions)
      const joined = Array.from({ length: 150 }, () => ({
        response: Array.from({ length: 1 + Math.floor(random() * 9) }, () => pick(pieces)).join(''),
        truth: pick(truths),
      }))
      // Pieces seldom join to a right answer, so that one is always among the rows, and a wrong one.
      const first = ['nothing', right].map((response) => ({ response, truth: truths[0]! }))
      const rows = [...first, ...joined]
      const all = (fn: BoundFunction) =>
        Promise.all(rows.map(({ response, truth }) => score(host, fn, response, truth)))
      const [published, own] = [await all(theirs), await all(ours)]
      const differing = rows.flatMap((row, i) => {
        const [a, b] = [numberOf(published[i]!), numberOf(own[i]!)]
        return Math.abs(a - b) < 1e-9
          ? []
          : [{ ...row, published: failureOf(published[i]!), a, own: failureOf(own[i]!), b }]
      })
      t.strictSame(differing, [], `${file} ${JSON.stringify(options)}`)
      t.not(numberOf(published[0]!), numberOf(published[1]!), 'a right answer scores unlike a wrong one')
    }
  },
)
