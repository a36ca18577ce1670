import { spawnSync } from 'node:child_process'
import t from 'tap'
import {
  aggregateSteps,
  BadSample,
  prompt,
  QuestionError,
  responseSteps,
  splitSteps,
  steps,
} from '../../src/contract/index.ts'
import { withoutPython } from '../support/python.ts'
import { seeded } from '../support/seeded.ts'

t.test('a text is cut into steps at blank lines, line ends or a marker', async (t) => {
  const cut = (text: string, by: string) => splitSteps(text, { by }).map((step) => [step.text, step.end])
  const cases: readonly (readonly [text: string, by: string, steps: readonly unknown[]])[] = [
    [
      '2 + 2 = 4.\n\nSo 5.',
      'paragraph',
      [
        ['2 + 2 = 4.', 10],
        ['So 5.', 17],
      ],
    ],
    [
      'a\r\nb\r\n\r\nc',
      'paragraph',
      [
        ['a\r\nb', 4],
        ['c', 9],
      ],
    ],
    [
      'a\rb\r\rc',
      'paragraph',
      [
        ['a\rb', 3],
        ['c', 6],
      ],
    ],
    [
      'a\n \t\n\n\nb',
      'paragraph',
      [
        ['a', 1],
        ['b', 8],
      ],
    ],
    ['\n\n\n\na\n\n', 'paragraph', [['a', 5]]],
    [
      'a\r\nb\rc\n\nd',
      'line',
      [
        ['a', 1],
        ['b', 4],
        ['c', 6],
        ['d', 9],
      ],
    ],
    [
      '😀a\n\ne\u0301',
      'paragraph',
      [
        ['😀a', 2],
        ['e\u0301', 6],
      ],
    ],
    [
      'one<s>two<s><s>',
      '<s>',
      [
        ['one', 3],
        ['two', 9],
      ],
    ],
    ['aaa', 'aa', [['a', 3]]],
    ['one', 'paragraph', [['one', 3]]],
    ['', 'line', []],
    [' \n\u200b\n', 'line', []],
  ]
  for (const [text, by, expected] of cases) t.strictSame(cut(text, by), expected, JSON.stringify([text, by]))
  t.strictSame(
    splitSteps('a\n\nb', { by: 'line', blank: true }).map(({ text, end }) => [text, end]),
    [
      ['a', 1],
      ['', 2],
      ['b', 4],
    ],
    'blank pieces are steps if they are asked for',
  )
  for (const by of ['', '\ud83d']) t.throws(() => splitSteps('a', { by }), TypeError)
})

t.test('the steps of a rollout name their turns', async (t) => {
  const turns = [
    { role: 'assistant', content: 'a\n\nb' },
    { role: 'tool', content: 'x\n\ny' },
    { role: 'assistant', content: 'c\n\nd' },
  ]
  const sample = { response: 'c\n\nd', turns }
  const places = (scope?: 'all') =>
    responseSteps(sample, { by: 'paragraph', ...(scope && { scope }) }).map(({ turn, end }) => [turn, end])
  t.strictSame(places(), [
    [2, 1],
    [2, 4],
  ])
  t.strictSame(places('all'), [
    [0, 1],
    [0, 4],
    [2, 1],
    [2, 4],
  ])
  t.match(responseSteps({ response: 'a' }, { by: 'line' }), [{ turn: 0, text: 'a', end: 1 }])
})

/** Prints the cases whose ends are not where Python's own indices are, as JSON. */
const inPython = `
import json, sys
wrong = []
for text, steps in json.load(sys.stdin):
    before = 0
    for step in steps:
        end = step["end"]
        if not before < end <= len(text) or text[max(before, end - len(step["text"])):end] != step["text"]:
            wrong.append([text, step])
        before = end
print(json.dumps(wrong))
`

t.test(
  "the ends of steps are Python's indices, whatever a text holds",
  { skip: withoutPython },
  async (t) => {
    const seed = Math.trunc(performance.timeOrigin) % 1_000_000
    t.comment(`seed ${seed}`)
    const random = seeded(seed)
    const pieces = [
      'a',
      ' ',
      '\n',
      '\n\n',
      '\r\n',
      '\r',
      '😀',
      '\ud83d',
      '\udc00',
      'e\u0301',
      '\u200d',
      '<m>',
      '\t',
      '\u2028',
    ]
    const any = (most: number) => Math.floor(random() * most)
    const cases = Array.from({ length: 1000 }, () => {
      const text = Array.from({ length: any(40) }, () => pieces[any(pieces.length)]).join('')
      const by = ['paragraph', 'line', '<m>'][any(3)] ?? 'line'
      return [text, splitSteps(text, { by, blank: random() < 0.2 })] as const
    })
    const rises = cases.map(([text, steps]) => [text, steps.filter(({ end }) => end > 0)])
    const run = spawnSync('python3', ['-I', '-c', inPython], {
      input: JSON.stringify(rises),
      encoding: 'utf8',
    })
    t.equal(run.stderr, '')
    t.strictSame(JSON.parse(run.stdout), [], `seed ${seed}`)
  },
)

t.test('a score of steps is their minimum, mean, product, sum or last', async (t) => {
  const values = [0.5, 1, 0.25]
  const all = (['min', 'mean', 'product', 'sum', 'last'] as const).map((how) => aggregateSteps(values, how))
  t.strictSame(all, [0.25, 1.75 / 3, 0.125, 1.75, 0.25])
  t.ok(Number.isNaN(aggregateSteps([], 'product')), 'of no steps there is none')
})

t.test('a question may hold a list of steps with the marks of its author', async (t) => {
  const list = steps(splitSteps('a<x>\n\nb', { by: 'paragraph' }), '<x>')
  const question = prompt`Task: ${'q'}\nSolution: ${list}\nReply.`
  t.strictSame(question, {
    kind: 'prompt',
    literals: ['Task: ', '\nSolution: ', '<x>', '<x>\nReply.'],
    values: ['q', 'a<x>', 'b'],
    mayBeEmpty: [1, 2],
    steps: 2,
  })
  t.throws(
    () => prompt`${prompt`nested ${'a'}` as never}`,
    QuestionError,
    'no other prompt fits into a prompt',
  )
})

t.test('more steps than a model reads make a bad sample, in linear time', async (t) => {
  const text = 'a😀\n\n'.repeat(100_000)
  const many = splitSteps(text, { by: 'paragraph' })
  t.equal(many.length, 100_000)
  t.equal(many.at(-1)?.end, 399_998)
  t.throws(() => steps(many, '<x>'), new BadSample('the response has 100000 steps, more than 10000'))
  t.equal(splitSteps('\n\n'.repeat(100_000), { by: 'paragraph' }).length, 0)
})
